"""The extraction of a large model on a GPU: its copies, what they cost, and the loops beside it.

    python benchmarks/extract_gpu.py [--size 1b|3b] [--dry-run]

One prepared script, under four minutes on an H200, with nothing to download: a model like Llama,
with random weights in bf16, is made on the device, written, and loaded as any other; the sentences
are made by a seed. The parts are the runtime's own.

Targets:

* one copy from the device to the host per batch, as torch's profiler counts them
* a batch's file in host memory, with its checksum, ≥ 0.95 × the samples/s of the forward pass
  alone
* from the dataset to a verified object and its marker, ≥ 17 × the samples/s of a loop with
  ``.cpu()`` for each sample and layer, ``save_file`` and ``upload_file`` for each sample, into the
  same sink

Beside them: the bandwidth of the copies against a pinned memcpy of the same size, the share of
their time that is hidden behind kernels, and the copies of that loop without files and uploads.

``--dry-run`` goes through all of it on the CPU, at a tiny size: its figures mean nothing, and no
target is judged.

Exit code: 0 if all targets are met, 1 if not, 2 if there is no GPU (or something is not installed).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if TYPE_CHECKING:
    from benchmarks.extracting.end_to_end import Work
    from benchmarks.extracting.sinks import Sink

FORWARD_TARGET, LOOP_TARGET = 0.95, 17.0
NEEDED = ("torch", "transformers", "safetensors", "boto3", "awscrt")
PROFILED, LOOPED = 4, 3
"""Batches that are profiled; batches of a loop, which is slow."""
ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=("1b", "3b"), default="1b")
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, tiny, nothing judged")
    given = parser.parse_args()
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        print(
            f"extract_gpu does not run here: {', '.join(absent)} not installed "
            "(pip install 'checkpoint-contracts[extractor]')",
            file=sys.stderr,
        )
        return 2
    from checkpoint_runtime.extract.libraries import required

    torch = required("torch", "a benchmark")
    if not given.dry_run and not torch.cuda.is_available():
        print(
            f"extract_gpu does not run here: torch {torch.__version__} sees no CUDA device. "
            "--dry-run goes through all of it on the CPU, and measures nothing.",
            file=sys.stderr,
        )
        return 2
    missed = measure("dry" if given.dry_run else given.size, "cpu" if given.dry_run else "cuda")
    if given.dry_run:
        print("a dry run: these figures mean nothing, and nothing was judged")
        return 0
    for miss in missed:
        print(f"missed: {miss}")
    if not missed:
        print("all targets are met")
    return 1 if missed else 0


def measure(name: str, device: str) -> list[str]:
    """Print the table; the targets that were missed."""
    from benchmarks.extracting import gpu
    from benchmarks.extracting.corpus import quiet
    from benchmarks.extracting.end_to_end import work_of
    from benchmarks.extracting.sinks import credentials, sink
    from checkpoint_runtime.extract.libraries import required

    torch = required("torch", "a benchmark")
    begun_s = time.monotonic()
    quiet()
    size = gpu.SIZES[name]
    memory = gpu.roomy(32 << 30)
    with (
        tempfile.TemporaryDirectory(prefix="extract-gpu-", dir=memory) as memory_name,
        tempfile.TemporaryDirectory(prefix="extract-gpu-") as disk_name,
        credentials(),
        sink() as store,
    ):
        subject, dataset, weights = gpu.subject(Path(memory_name), name, device)
        work = work_of(subject, dataset, device=device, batch_tokens=size.batch_tokens)
        where = torch.cuda.get_device_name() if device == "cuda" else "CPU"
        print(
            f"{where}, torch {torch.__version__}: {weights / 1e9:.2f} G weights in bf16, layers "
            f"{','.join(map(str, subject.layers))}; {work.samples} samples, "
            f"{work.tokens:,} tokens, {len(work.batches)} batches of {size.batch_tokens} tokens, "
            f"{sum(work.sizes) / 1e9:.2f} GB (ready after {time.monotonic() - begun_s:.0f} s)"
        )
        missed = copies(work)
        missed += rates(work, store, Path(memory_name), Path(disk_name))
        print(f"{time.monotonic() - begun_s:.0f} s in all")
    return missed


def copies(work: Work) -> list[str]:
    """Print what is copied from the device, and how; the targets that were missed."""
    from benchmarks.extracting import gpu
    from benchmarks.extracting.loops import per_sample

    some = work.batches[:PROFILED]
    warm = gpu.extracted_to_memory(work.model, some, work.batch_tokens)
    ours = gpu.profiled(lambda: gpu.extracted_to_memory(work.model, some, work.batch_tokens))
    loop = gpu.profiled(lambda: per_sample(work.model, some[:1], Path(), None))
    plain = gpu.memcpy_gb_per_s(work.model, max(work.sizes))
    per_batch = len(ours.spans) / len(some)
    print(
        f"  copies to the host per batch        {per_batch:8.2f}   (the extractor counts "
        f"{warm.copies / warm.batches:.2f}; the loop per sample: {len(loop.spans)})\n"
        f"  bandwidth of a copy                 {ours.gb_per_s:8.2f} GB/s   "
        f"{ours.gb_per_s / plain:.2f} × a pinned memcpy ({plain:.2f} GB/s)\n"
        f"  hidden behind kernels               {ours.hidden:8.2f} of the copies' time"
    )
    return [] if per_batch == 1 else [f"{per_batch:.2f} copies per batch (target 1)"]


def rates(work: Work, store: Sink, memory: Path, disk: Path) -> list[str]:
    """Print samples per second; the targets that were missed."""
    from benchmarks.extracting import gpu
    from benchmarks.extracting.bytes_moved import plain_client
    from benchmarks.extracting.end_to_end import extracted
    from benchmarks.extracting.loops import forward_alone, per_sample, uploads
    from benchmarks.extracting.sinks import BUCKET
    from benchmarks.extracting.turns import in_turn, measured, wall_s

    forward, held = "forward alone", "file in host memory, with its checksum"
    took = in_turn(
        {
            forward: lambda: measured(
                lambda: forward_alone(work.model, work.batches, work.batch_tokens)
            ),
            held: lambda: measured(
                lambda: gpu.extracted_to_memory(work.model, work.batches, work.batch_tokens)
            ),
        },
        ROUNDS,
    )
    found = {name: work.samples / wall_s(turns) for name, turns in took.items()}
    some = work.batches[-LOOPED:]
    samples = sum(len(batch.ids) for batch in some)
    client = plain_client(store)
    copied = "loop: .cpu() per sample and layer, kept nowhere"
    copied_s = measured(lambda: per_sample(work.model, some, memory, None)).wall_s
    found[copied] = samples / copied_s
    whole = "extract, staged, uploaded, marked"
    found[whole] = work.samples / extracted(work, store, memory, disk, []).wall_s
    loop = "loop: .cpu() per sample, save_file, upload_file"
    stored = uploads(client, BUCKET)
    found[loop] = samples / measured(lambda: per_sample(work.model, some, memory, stored)).wall_s
    for name, rate in found.items():
        print(f"  {name:48} {rate:10.1f} samples/s  {rate / found[forward]:7.3f} × forward alone")
    print(
        f"  {'extract ÷ the loop with files and uploads':48} {found[whole] / found[loop]:10.1f} ×"
    )
    missed = []
    if found[held] < FORWARD_TARGET * found[forward]:
        ratio = found[held] / found[forward]
        missed.append(f"in memory {ratio:.3f} × forward alone (target {FORWARD_TARGET} ×)")
    if found[whole] < LOOP_TARGET * found[loop]:
        ratio = found[whole] / found[loop]
        missed.append(f"{ratio:.1f} × the loop per sample (target {LOOP_TARGET:.0f} ×)")
    return missed


if __name__ == "__main__":
    sys.exit(main())
