"""What the plugin costs a session of pytest that does not ask for it.

    python benchmarks/idle.py [--rounds N]

pytest is started with the plugin and without it (``-p no:checkpoint_contracts``), in turns, each
first in every other round, on a folder with one test; other installed plugins are left out of both.
Three clocks: wall-clock and CPU time (user and system) of whole processes; and the CPU time of
sessions forked from an interpreter that has pytest imported, which leaves out what is the same in
both. What else runs on a machine can only make a session longer, so that the quickest tenth
of them tells what it takes: its bounds, with the plugin and without, are held against each other.

Targets: at most 5 ms more, and nothing heavy imported. The wall clock decides; where it is too
restless to tell (the middle half of the rounds' differences spans more than the target), the CPU
time of forked sessions does, and that is said.

Exit code: 0 if both are met, 1 if not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import pytest

PLUGIN = "checkpoint_contracts"
MODULE = "pytest_checkpoint.hooks"
TARGET_S = 0.005
FEWEST_ROUNDS = 20
HEAVY = ("rich", "numpy", "psutil", "ctypes", "checkpoint_contracts", "moto", "boto3", "torch")
MODULES = "import json, pytest, sys; pytest.main(sys.argv[1:]); print(json.dumps([*sys.modules]))"


class Took(NamedTuple):
    """One session as a process, and one that was forked."""

    wall_s: float
    cpu_s: float
    forked_cpu_s: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help=f"{FEWEST_ROUNDS} or more")
    rounds: int = parser.parse_args().rounds
    if rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds {rounds}: fewer than {FEWEST_ROUNDS} tell nothing")
    points = entry_points(group="pytest11")
    installed = any(point.value == MODULE for point in points)
    others = [word for one in points if one.value != MODULE for word in ("-p", f"no:{one.name}")]
    base = ["--collect-only", "-q", "-p", "no:cacheprovider", *others]
    plain = [*base, "-p", f"no:{PLUGIN}"]
    loaded = base if installed else [*base, "-p", MODULE]
    with tempfile.TemporaryDirectory(prefix="idle-benchmark-") as name:
        folder = Path(name)
        os.environ.pop("PYTEST_ADDOPTS", None)
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(folder / "compiled")
        (folder / "test_one.py").write_text("def test_one(): pass\n")
        added = sorted(modules(folder, loaded) - modules(folder, plain))
        pairs = measured(folder, plain, loaded, rounds)
    print(f"{rounds} rounds; the plugin by {'its entry point' if installed else '-p'}")
    return told(pairs, added)


def measured(
    folder: Path, plain: Sequence[str], loaded: Sequence[str], rounds: int
) -> list[tuple[Took, Took]]:
    """(without, with) of each round."""
    pairs = []
    for number in range(rounds):
        if number % 2:
            after = session(folder, loaded)
            pairs.append((session(folder, plain), after))
        else:
            before = session(folder, plain)
            pairs.append((before, session(folder, loaded)))
    return pairs


def session(folder: Path, arguments: Sequence[str]) -> Took:
    begun_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    took_s = time.monotonic() - begun_s
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pytest {' '.join(arguments)} exits {process.returncode}")
    return Took(took_s, usage.ru_utime + usage.ru_stime, forked_cpu_s(folder, arguments))


def forked_cpu_s(folder: Path, arguments: Sequence[str]) -> float:
    process = os.fork()
    if not process:
        os.chdir(folder)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os._exit(pytest.main([*arguments]))
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"pytest {' '.join(arguments)}, forked, ends with status {status}")
    return usage.ru_utime + usage.ru_stime


def modules(folder: Path, arguments: Sequence[str]) -> set[str]:
    """What is imported by the end of a session. The first one writes what Python keeps compiled."""
    made = subprocess.run(
        [sys.executable, "-c", MODULES, *arguments],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(made.stdout.splitlines()[-1])
    return set(found)


def environment(folder: Path) -> dict[str, str]:
    """What is compiled is kept, as is usual, and in nobody's way."""
    without = {"PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE"}
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def told(pairs: Sequence[tuple[Took, Took]], added: Sequence[str]) -> int:
    """Print it all; returns the exit code."""
    print(
        f"{'':14}{'without':>10}{'with':>10}{'more':>10}{'ratio':>8}"
        f"{'median of rounds':>18}{'their middle half':>24}"
    )
    more: dict[str, float] = {}
    spread: dict[str, float] = {}
    for name in Took._fields:
        before = [getattr(plain, name) for plain, _ in pairs]
        after = [getattr(loaded, name) for _, loaded in pairs]
        differences = [second - first for first, second in zip(before, after, strict=True)]
        low, middle, high = statistics.quantiles(differences, n=4)
        least, most = quick(before), quick(after)
        more[name], spread[name] = most - least, high - low
        print(
            f"{name:14}{shown(least)}{shown(most)}{shown(most - least)}{most / least:8.3f}"
            f"{'':8}{shown(middle)}  {shown(low)} …{shown(high)}"
        )
    print(f"modules that it adds ({len(added)}): {', '.join(added)}")
    heavy = [one for one in added if one.partition(".")[0] in HEAVY]
    if heavy:
        print(f"heavy, and not to be imported: {', '.join(heavy)}")
    decides = "wall_s" if spread["wall_s"] <= TARGET_S else "forked_cpu_s"
    if decides != "wall_s":
        print("the wall clock is too restless here to tell 5 ms: CPU time decides")
    met = more[decides] <= TARGET_S and not heavy
    print(f"{decides}: {more[decides] * 1000:.1f} ms more, {'met' if met else 'NOT met'}")
    return 0 if met else 1


def quick(took_s: Sequence[float]) -> float:
    """The bound of the quickest tenth."""
    return statistics.quantiles(took_s, n=10)[0]


def shown(value_s: float) -> str:
    return f"{value_s * 1000:7.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
