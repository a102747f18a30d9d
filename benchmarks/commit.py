"""What a commit of the runtime costs, beside the plain way and other packages, in one run.

    python benchmarks/commit.py [--folder DIR] [--rounds N]

Every way commits the same payloads in batches; the ways take turns within each round, in another
order each time and after a ``sync``, and a ratio is that of medians over the rounds. The yardstick
is what a careful program does by hand: write a temporary file, fsync it, replace, fsync the
directory.

Targets (on a disk; on a tmpfs a sync costs nothing, and they are not judged):

* a small commit ≤ 0.5 ×, one of 1 MB ≤ 1.2 × the yardstick
* the cost per stage does not grow: 100, 1,000 and 10,000 stages within 1.3 × of each other, on a
  tmpfs
* the state of 10,000 done stages is loaded within 60 ms

Exit code: 0 if all targets that were judged are met, 1 if not. Packages that are not installed are
named (``pip install joblib luigi dbos duravoke``).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.commits.ways import COMMIT, WAYS, YARDSTICK, Way, WholeStage, missing
from checkpoint_runtime.state.log import read_history

SMALL_TARGET, LARGE_TARGET = 0.5, 1.2
GROWTH_TARGET = 1.3
SCALE_ROUNDS = 2
MEMORY = Path("/dev/shm")
LOAD_TARGET_S = 0.060
BATCH = {"small": 20, "1 MB": 8}
SCALES = (100, 1_000, 10_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="on the disk to measure")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    kind = filesystem_of(given.folder)
    judged = kind != "tmpfs"
    print(f"{given.folder}: {kind}" + ("" if judged else "; the targets are not judged here"))
    absent = [way.package for way in WAYS if missing(way)]
    if absent:
        print(f"not installed, left out: {', '.join(map(str, absent))}")
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="commit-benchmark-") as name:
        folder = Path(name)
        missed = [
            *compare("small", small, SMALL_TARGET, folder, given.rounds),
            *compare("1 MB", large, LARGE_TARGET, folder, given.rounds),
            *scale(folder, kind),
        ]
        if judged and MEMORY.is_dir():
            # What a disk takes for its own sake varies by more than what is looked for.
            with tempfile.TemporaryDirectory(dir=MEMORY, prefix="commit-benchmark-") as memory:
                missed += scale(Path(memory), "tmpfs")
    if judged and missed:
        print("missed: " + "; ".join(missed))
        return 1
    print("all targets are met" if judged else "nothing was judged")
    return 0


def small(number: int) -> dict[str, int]:
    return {"frames": number}


def large(number: int) -> bytes:
    """Each another one: of equal values one side file is kept."""
    return random.Random(number).randbytes(1 << 20)


def compare(
    label: str, payload: Callable[[int], Any], target: float, folder: Path, rounds: int
) -> list[str]:
    """Print the table of one payload; what was missed."""
    ways = [way for way in WAYS if not missing(way)]
    payloads = [payload(number) for number in range(BATCH[label])]
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    order = random.Random(0)
    for round_number in range(rounds + 1):
        # In another order each time: what one way leaves to the disk, the next one waits for.
        for way in order.sample(ways, len(ways)):
            took_s = measured(way, folder, payloads)
            if round_number:  # the first round warms up
                seconds[way.name].append(took_s)
    yardstick = statistics.median(seconds[YARDSTICK.name])
    print(f"\n{label}: {rounds} rounds of {len(payloads)} commits, in turn")
    for way in ways:
        median = statistics.median(seconds[way.name])
        each_ms = median / len(payloads) * 1e3
        print(f"  {way.name:48} {each_ms:9.3f} ms  {median / yardstick:7.2f} ×")
    ratio = statistics.median(seconds[COMMIT.name]) / yardstick
    return [] if ratio <= target else [f"{label} commit {ratio:.2f} × (target {target} ×)"]


def measured(way: Way, folder: Path, payloads: Sequence[Any]) -> float:
    own = folder / "way"
    own.mkdir()
    os.sync()
    try:
        return way.batch(own, payloads)
    finally:
        shutil.rmtree(own)


def scale(folder: Path, kind: str) -> list[str]:
    """Print what a stage costs in short and long pipelines, and what loading the longest takes.

    Growth is judged on a tmpfs.
    """
    print(
        f"\nstages of one pipeline on {kind}, each returning a small dict: "
        f"{SCALES[-1]:,} stages in all of each length, the best of {SCALE_ROUNDS} turns"
    )
    seconds: dict[int, list[float]] = {stages: [] for stages in SCALES}
    loads: list[float] = []
    for _ in range(SCALE_ROUNDS):
        for stages in SCALES:
            payloads = [small(number) for number in range(stages)]
            took_s = 0.0
            # As many stages of each length: a disk takes few of them in a moment, not many.
            pipelines = SCALES[-1] // stages
            for _ in range(pipelines):
                own = folder / "scale"
                own.mkdir()
                took_s += WholeStage().batch(own, payloads)
                if stages == SCALES[-1]:
                    loads += [loaded(own) for _ in range(5)]
                shutil.rmtree(own)
            seconds[stages].append(took_s / pipelines)
    for stages, took in seconds.items():
        best = min(took)
        print(f"  {stages:6,} stages  {best:8.3f} s  {best / stages * 1e3:7.3f} ms each")
    load_s = min(loads)
    print(f"  the state of {SCALES[-1]:,} done stages is loaded in {load_s * 1e3:.1f} ms")
    each = [min(took) / stages for stages, took in seconds.items()]
    missed = []
    if kind == "tmpfs" and max(each) > GROWTH_TARGET * min(each):
        missed.append(f"a stage costs {max(each) / min(each):.2f} × (target {GROWTH_TARGET} ×)")
    if load_s > LOAD_TARGET_S:
        missed.append(f"loading {load_s * 1e3:.1f} ms (target {LOAD_TARGET_S * 1e3:.0f} ms)")
    return missed


def loaded(folder: Path) -> float:
    begun = time.perf_counter()
    read_history(folder, "benchmark")
    return time.perf_counter() - begun


def filesystem_of(folder: Path) -> str:
    """The type of the file system on which a folder lies, by the longest mount point."""
    resolved = folder.resolve()
    found = (Path("/"), "unknown")
    with Path("/proc/self/mounts").open() as mounts:
        for line in mounts:
            _, point, kind, *_ = line.split()
            mount = Path(point)
            if resolved.is_relative_to(mount) and len(mount.parts) >= len(found[0].parts):
                found = mount, kind
    return found[1]


if __name__ == "__main__":
    sys.exit(main())
