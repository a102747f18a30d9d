"""All of it as an ordinary user: no root, no capabilities."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import checkpoint_contracts
import pytest_checkpoint

_NOBODY = 65534
_TRY = """
import os, sys
sys.path[:0] = [sys.argv[1]]
from pathlib import Path
from pytest_checkpoint.record import abilities
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.journal import load
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences
from pytest_checkpoint.tree.restore import restore
assert os.geteuid() != 0
assert abilities.missing() is None, abilities.missing()
events = BESIDE
base = Path(sys.argv[2], "root", "base")
with SlotClient(base) as client:
    empty = capture(client.path, exclude=events).image
    def run(script, kill_at=None):
        restore(empty, client.path, exclude=events)
        client.events.write_bytes(b"")
        result = client.run(Request(
            command=("/bin/sh", "-c", "cd $CHECKPOINT_WORKSPACE; " + script),
            working_directory="/", environment=environment(client, keep_tmpdir=False),
            deadline_s=60, recording=str(client.scratch / "r"), kill_at=kill_at))
        assert result.problem is None and result.refusal is None, result
        recording = load(client.scratch / "r")
        timeline = Timeline(recording.start, recording.start_events, recording.operations)
        found = capture(client.path, exclude=events).image
        unlike = differences(timeline.after(timeline.steps).image, found)
        assert not unlike, unlike
        return result
    script = '''
        echo a > a; chmod 4755 a; echo b >> a; chmod 600 a; mkdir d; mv a d; ln d/a hard
        ln -s d/a soft; cat d/a > soft; umask 077; mkfifo pipe; echo x > e; rm hard
        echo no > /etc/checkpoint-no 2> /dev/null || echo refused
        echo start >> $CHECKPOINT_EVENTS
    '''
    whole = run(script)
    assert (whole.exit_code, whole.output) == (0, "refused\\n"), whole
    for step in range(1, whole.steps + 1):
        assert run(script, step).killed_at == step
    closed = run("mkdir -p c/d; echo x > c/d/e; chmod 500 c; echo y 2> /dev/null > c/z")
    assert closed.exit_code != 0
    restore(empty, client.path, exclude=events)
    client.run(Request(
        command=("/bin/sh", "-c", "cd $CHECKPOINT_WORKSPACE; mkdir -p c/d/e; chmod 0 c/d c"),
        working_directory="/", environment=environment(client, keep_tmpdir=False), deadline_s=60))
    restore(empty, client.path, exclude=events)
    full = client.run(Request(
        command=("/bin/sh", "-c", "head -c 20000 /dev/zero > $CHECKPOINT_WORKSPACE/a || echo full"),
        working_directory="/", environment=environment(client, keep_tmpdir=False), deadline_s=60,
        room=Room(blocks=2, real=True)))
    assert full.output == "full\\n", full
    assert (client.workspace / "a").stat().st_size == 8192
    which = full.real_room or full.no_real_room
    assert which.startswith(("a tmpfs of 2 blocks", "no file system may be mounted here")), which
assert not base.parent.exists()
print("as nobody:", whole.steps, which)
"""


def _as_nobody(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        user=_NOBODY,
        group=_NOBODY,
        extra_groups=[],
        cwd=folder,
        env={"PATH": os.defpath, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _readable_sources(folder: Path) -> Path:
    """A copy: an ordinary user may not be let into the folder that ours are installed in."""
    root = folder / "sources"
    for package in (pytest_checkpoint, checkpoint_contracts):
        installed = Path(package.__file__ or "").parent
        shutil.copytree(installed, root / installed.name)
    return root


def _interpreter(folder: Path, root: Path) -> str:
    """One that nobody may execute."""
    probe = "import sys; sys.path.insert(0, sys.argv[1]); import pytest_checkpoint.record.client"
    probe += "; sys.exit(sys.version_info < (3, 11))"
    for candidate in (sys.executable, shutil.which("python3", path=os.defpath)):
        try:
            if candidate and not _as_nobody(folder, candidate, "-c", probe, str(root)).returncode:
                return candidate
        except PermissionError:
            continue
    pytest.skip("no Python that an ordinary user may execute")


def test_everything_works_as_an_ordinary_user() -> None:
    if os.geteuid() != 0:
        pytest.skip("not root: every other test here is this test")
    folder = Path(tempfile.mkdtemp(prefix="checkpoint-nobody-"))
    try:
        root = _readable_sources(folder)
        os.chown(folder, _NOBODY, _NOBODY)
        done = _as_nobody(folder, _interpreter(folder, root), "-c", _TRY, str(root), str(folder))
    finally:
        shutil.rmtree(folder)
    assert done.stderr == ""
    assert done.stdout.startswith("as nobody: ")
    assert done.returncode == 0
