"""An extraction whose workers are killed over and over: every sample once, and equal, all the same.

    python benchmarks/extract_soak.py [--kills N] [--seed N] [--store moto|seaweedfs]
                                      [--shards N] [--reshard N] [--uploads N] [--ahead N]

Workers are processes of ``checkpoint-runtime extract`` on a tiny model with random weights, a shard
each, staging in /dev/shm and storing through S3's protocol. One of them, drawn by the seed, gets
SIGKILL at a moment drawn by the seed (so much after an event of its, or after its start), and is
started again; the others work on meanwhile. When all is done, the next round begins with an empty
prefix, until the kills are used up. With ``--reshard`` all workers of a round are killed once half
of it is marked, and so many others take over.

After each round: every sample is in exactly one object and equals, within what the type allows,
what transformers gives for it alone, unpadded; markers and objects are the same, to the checksum;
nothing is left in the staging; no process is left. The work that was repeated is printed, as the
workers' events tell it: batches that the killed worker had begun, and another one began again. At
most one for each kill, or the soak fails: the one that was in its forward pass, or being staged.
What lay whole in the staging, however much that was, has to be taken up by the next worker. With
``--ahead N`` (0 by default) N batches more.

Ctrl-C ends it and says what was done. Moments of a kill are times, so that a seed makes alike runs,
not the same one.

Exit code: 0 if all of that held, 1 and what did not, 2 if it cannot be run here, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# Before torch: a process that forks may have no threads, and so small a model needs none.
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")

NEEDED = ("torch", "transformers", "safetensors", "boto3", "awscrt")
SAMPLES, LONGEST, BATCH_TOKENS = 800, 120, 160
LAYERS = (0, 2, 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("moto", "seaweedfs"), default="moto")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--reshard", type=int, metavar="N", help="as many take over half-way")
    parser.add_argument("--uploads", type=int, default=4, help="threads of each worker")
    parser.add_argument("--ahead", type=int, default=0, help="batches that are not staged yet")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each round")
    parser.add_argument("--dtype", choices=("bf16", "fp16", "fp32"), default="bf16")
    given = parser.parse_args()
    if min(given.kills, given.shards, given.samples) < 1 or min(given.uploads, given.ahead) < 0:
        parser.error(
            "--kills, --shards and --samples are 1 or more, --uploads and --ahead 0 or more"
        )
    if given.reshard is not None and given.reshard < 1:
        parser.error("--reshard is 1 or more")
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        print(
            f"extract_soak does not run here: {', '.join(absent)} not installed "
            "(pip install 'checkpoint-contracts[extractor]')",
            file=sys.stderr,
        )
        return 2
    from benchmarks.extracting.stores import StoreMissingError

    try:
        return soak(given)
    except StoreMissingError as missing:
        print(f"extract_soak does not run here: {missing}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted before the first kill")
        return 130


def soak(given: argparse.Namespace) -> int:
    from benchmarks.extracting.corpus import quiet, tiny_model, write_sentences
    from benchmarks.extracting.ground import Ground
    from benchmarks.extracting.rounds import Soak
    from benchmarks.extracting.sinks import credentials
    from benchmarks.extracting.stores import store
    from benchmarks.extracting.workers import SoakError, adopt_orphans

    begun_s = time.monotonic()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    quiet()
    adopt_orphans()
    with (
        tempfile.TemporaryDirectory(prefix="extract-soak-") as disk_name,
        tempfile.TemporaryDirectory(prefix="extract-soak-", dir=memory) as memory_name,
        credentials(),
        store(given.store) as found,
    ):
        disk = Path(disk_name)
        ground = Ground(
            store=found,
            disk=disk,
            memory=Path(memory_name),
            model=tiny_model(disk / "model"),
            dataset=write_sentences(
                disk / "sentences.jsonl", given.samples, given.seed, words=6, longest=LONGEST
            ),
            layers=LAYERS,
            dtype=given.dtype,
            batch_tokens=BATCH_TOKENS,
            uploads=given.uploads,
            ahead=given.ahead,
        )
        run = Soak(
            ground,
            kills=given.kills,
            seed=given.seed,
            shards=given.shards,
            reshard=given.reshard,
        )
        code = 0
        try:
            run.all()
        except SoakError as error:
            print(f"failed: {error}")
            code = 1
        except KeyboardInterrupt:
            print("interrupted")
            code = 130
        finally:
            run.end_all()
        code = max(code, run.judge())
        print(
            f"{run.tally.kills} of {given.kills} kills, seed {given.seed}, {given.store}: "
            f"{time.monotonic() - begun_s:.0f} s"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
