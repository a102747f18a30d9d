"""Whether a process is in a frozen group (``docker pause``, ``systemctl freeze``)."""

from __future__ import annotations

from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def is_frozen(pid: int) -> bool:
    """Only groups of the second version can tell; False too where it is not to be learnt."""
    try:
        return "frozen 1" in _events_of(pid).read_text().splitlines()
    except (OSError, StopIteration):
        return False


def _events_of(pid: int) -> Path:
    lines = Path(f"/proc/{pid}/cgroup").read_text(errors="replace").splitlines()
    group = next(line[3:] for line in lines if line.startswith("0::/"))
    return _GROUPS / group.lstrip("/") / "cgroup.events"
