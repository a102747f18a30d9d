"""A staging too small for a store too slow: nothing fails, and the store never waits.

    python benchmarks/extract_backpressure.py [--seconds N] [--slowness N]

How fast ``checkpoint-runtime extract`` makes bytes is measured first, with a loopback sink that
takes them as fast as they come. Then a sink takes a tenth of that, and the staging is a tmpfs of
8 MB, mounted for it in a namespace of its own. How full that is is asked a thousand times a second
(``statvfs``), from beside the worker.

Targets: the staging is never fuller than the high mark (80 %) of what it has; no write is refused
for want of room; it was paused, else nothing was tried; the sink gets ≥ 0.95 × what it takes, from
the first byte to the last.

Exit code: 0 if all of that held, 1 if not, 2 if it cannot be tried here.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

STAGING_BYTES, HIGH = 8 << 20, 0.8
RATE_TARGET = 0.95
NEEDED = ("torch", "transformers", "safetensors", "boto3", "awscrt")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="of the slow part, about")
    parser.add_argument("--slowness", type=float, default=10.0, help="of the sink")
    parser.add_argument("--seed", type=int, default=1, help="of the sentences")
    given = parser.parse_args()
    if given.seconds <= 0 or given.slowness < 1:
        parser.error("--seconds is above 0, --slowness 1 or more")
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        print(
            f"extract_backpressure does not run here: {', '.join(absent)} not installed "
            "(pip install 'checkpoint-contracts[extractor]')",
            file=sys.stderr,
        )
        return 2
    from benchmarks.extracting.slow_store import NoTmpfsError

    try:
        missed = measure(given)
    except NoTmpfsError as missing:
        print(f"extract_backpressure does not run here: {missing}", file=sys.stderr)
        return 2
    for miss in missed:
        print(f"missed: {miss}")
    if not missed:
        print("all targets are met")
    return 1 if missed else 0


def measure(given: argparse.Namespace) -> list[str]:
    from benchmarks.extracting.corpus import quiet
    from benchmarks.extracting.sinks import credentials
    from benchmarks.extracting.slow_store import Job, Slow, extracted, extracted_slowly

    quiet()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="backpressure-") as disk_name,
        tempfile.TemporaryDirectory(prefix="backpressure-", dir=memory) as memory_name,
        credentials(),
    ):
        job = Job.made(Path(disk_name), given.seed)
        fast = extracted(job, Path(memory_name))
        rate = fast.uploaded_bytes / fast.elapsed_s
        print(
            f"{os.cpu_count()} cores; extraction: {rate / 1e6:.1f} MB/s "
            f"({fast.uploaded_bytes / 1e6:.0f} MB in {fast.elapsed_s:.1f} s, "
            f"{fast.uploaded_bytes / fast.batches / 1e6:.2f} MB an object)"
        )
        slow = Slow(
            bytes_per_s=rate / given.slowness,
            staging_bytes=STAGING_BYTES,
            seconds=given.seconds,
        )
        found = extracted_slowly(job.of(slow.wanted_bytes, fast), slow)
    bound = int(HIGH * STAGING_BYTES)
    share = found.rate_bytes_per_s / slow.bytes_per_s
    print(
        f"a sink of {slow.bytes_per_s / 1e6:.2f} MB/s and a tmpfs of {STAGING_BYTES:,} bytes: "
        f"{found.stored_bytes / 1e6:.0f} MB in {found.span_s:.1f} s\n"
        f"  the staging at its fullest    {found.peak_bytes:,} bytes, bound {bound:,} "
        f"({found.looks:,} looks)\n"
        f"  refused for want of room      {found.refused}\n"
        f"  pauses                        {found.pauses}, {found.paused_s:.1f} s of "
        f"{found.elapsed_s:.1f} s\n"
        f"  what the sink got             {share:.3f} × what it takes"
    )
    missed = []
    if found.exit_code:
        missed.append(f"the worker ended with {found.exit_code}: {found.said}")
    if found.peak_bytes > bound:
        missed.append(f"the staging held {found.peak_bytes:,} bytes (bound {bound:,})")
    if found.refused:
        missed.append(f"{found.refused} writes were refused for want of room")
    if not found.pauses:
        missed.append("it was never paused: nothing was tried")
    if share < RATE_TARGET:
        missed.append(f"the sink got {share:.3f} × what it takes (target {RATE_TARGET} ×)")
    return missed


if __name__ == "__main__":
    sys.exit(main())
