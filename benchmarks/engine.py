"""How fast crash states are judged, what recording costs, and where the time goes, in one run.

    python benchmarks/engine.py [--torch-python PYTHON] [--rounds N]

Crash states judged per second of the whole command, control runs included, of a tiny Python job and
of one that imports torch: by this kit, by this kit with a fresh process per state, and by
ckpt-chaos (0.1.8 was measured), which runs the job anew for each point. The ways take turns within
each round; figures are medians. Recording is measured against the same job bare.

Targets: ≥ 5 × ckpt-chaos on the tiny job, ≥ 20 × with torch; recording ≤ 8 × bare on a job that
only makes system calls, ≤ 1.3 × on one that computes for a second.

Exit code: 0 if all targets that were judged are met, 1 if not. What is not installed is named
(``pip install ckpt-chaos torch``).
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.engines import recording
from benchmarks.engines.time_spent import profile
from benchmarks.engines.ways import WAYS, Job, Way, WayError

TARGETS = {"json": 5.0, "torch": 20.0}
CALLS_TARGET, COMPUTES_TARGET = 8.0, 1.3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--torch-python",
        default=sys.executable if importlib.util.find_spec("torch") else None,
        help="an interpreter that has torch",
    )
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    jobs = [
        Job(name="a tiny Python job", kind="json", python=sys.executable, steps=20, peer_points=60)
    ]
    if given.torch_python:
        jobs.append(
            Job(
                name="one that imports torch",
                kind="torch",
                python=given.torch_python,
                steps=6,
                peer_points=8,
            )
        )
    else:
        print("torch is not installed, its job is left out (--torch-python PYTHON)")
    with tempfile.TemporaryDirectory(prefix="engine-benchmark-") as name:
        folder = Path(name)
        missed = [miss for job in jobs for miss in compare(job, folder, given.rounds)]
        missed += record(folder, given.rounds)
        for job in jobs:
            show_profile(job, folder)
    for miss in missed:
        print(f"missed: {miss}")
    return 1 if missed else 0


def compare(job: Job, folder: Path, rounds: int) -> list[str]:
    """Print states per second by each way; the targets that were missed."""
    print(f"\n{job.name}")
    ways = []
    for way in WAYS:
        package = way.missing()
        if package:
            print(f"  {package} is not installed: left out")
        else:
            ways.append(way)
    rates: dict[str, list[float]] = {way.name: [] for way in ways}
    states: dict[str, int] = {}
    for _ in range(rounds):
        for way in ways:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                try:
                    judged = way.judge(job, Path(own))
                except WayError as error:
                    return [f"{job.name}: {way.name}: {error}"]
            rates[way.name].append(judged.per_second)
            states[way.name] = judged.states
    ours = statistics.median(rates[WAYS[0].name])
    missed = []
    for way in ways:
        rate = statistics.median(rates[way.name])
        ratio = ours / rate
        print(
            f"  {way.name:36} {states[way.name]:5} states {rate:9.2f}/s   {_compared(way, ratio)}"
        )
        if way is WAYS[-1] and ratio < TARGETS[job.kind]:
            missed.append(
                f"{job.name}: {ratio:.1f} × {way.name} (target {TARGETS[job.kind]:.0f} ×)"
            )
    return missed


def _compared(way: Way, ratio: float) -> str:
    return "" if way is WAYS[0] else f"{ratio:.1f} × slower"


def record(folder: Path, rounds: int) -> list[str]:
    """Print what recording costs; the targets that were missed."""
    print("\nrecording, against the same job bare")
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else folder
    missed = []
    for name, program, target in (
        ("2,000 × open, write 4 KiB, fsync, replace", recording.CALLS, CALLS_TARGET),
        ("computes for a second, 20 checkpoints", recording.COMPUTES, COMPUTES_TARGET),
    ):
        with tempfile.TemporaryDirectory(dir=base) as own:
            bare_s, recorded_s, ratio = recording.ratio(program, 2 * rounds + 1, Path(own))
        print(f"  {name:42} {bare_s:7.3f} s  {recorded_s:7.3f} s  {ratio:5.2f} ×")
        if program is recording.CALLS:
            with tempfile.TemporaryDirectory(dir=base) as own:
                ratio_of_least = recording.least(program, 2 * rounds + 1, Path(own))
            print(f"  {'  calls stopped, let through, no more':62} {ratio_of_least:5.2f} ×")
        if ratio > target:
            missed.append(f"recording, {name}: {ratio:.2f} × (target {target} ×)")
    return missed


def show_profile(job: Job, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as own:
        parts, states, took_s = profile(job, Path(own))
    print(f"\nwhere the time goes, {job.name}: {states} states in {took_s:.1f} s")
    for part, seconds in sorted(parts.items(), key=lambda item: -item[1]):
        print(f"  {part:46} {seconds:7.2f} s  {100 * seconds / took_s:5.1f} %")


if __name__ == "__main__":
    sys.exit(main())
