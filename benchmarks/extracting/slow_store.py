"""One extraction into a fast sink, and one into a slow one with a small tmpfs between them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.extracting.corpus import tiny_model, write_sentences
from benchmarks.extracting.sinks import BUCKET, Sink, sink
from checkpoint_runtime.extract.staging.folder import PROGRESS_NAME

SAMPLES: Final = 300
WATCHER: Final = Path(__file__).with_name("room_watcher.py")
MOUNT: Final = 'mount -t tmpfs -o "size=$1" none "$2"; shift 2; exec "$@"'
REFUSED: Final = ("No space left on device", "although there seemed to be room")
_LAYERS: Final = "0,1,2,3,4"
_WORKER: Final = "shard-0-of-1"
_ENDS_WITHIN_S: Final = 300.0


class NoTmpfsError(Exception):
    """None can be mounted here: a sentence."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is extracted: much data per token, so that the store is what it waits for."""

    folder: Path
    model: Path
    dataset: Path
    samples: int
    seed: int

    @classmethod
    def made(cls, folder: Path, seed: int) -> Job:
        model = tiny_model(folder / "model", layers=4, hidden=256)
        dataset = _dataset(folder, SAMPLES, seed)
        return cls(folder, model, dataset, SAMPLES, seed)

    def of(self, size_bytes: int, found: Fast) -> Job:
        """The same with so many bytes, by what came of it."""
        samples = math.ceil(size_bytes / (found.uploaded_bytes / self.samples))
        return replace(self, dataset=_dataset(self.folder, samples, self.seed), samples=samples)

    def command(self, store: Sink, staging: Path, state: Path) -> list[str]:
        return [
            sys.executable, "-m", "checkpoint_runtime.command.main", "extract",
            f"--model={self.model}", f"--dataset={self.dataset}", f"--layers={_LAYERS}",
            "--dtype=fp32", "--device=cpu", "--batch-tokens=128", "--verify=probe",
            f"--destination=s3://{BUCKET}/out", f"--staging={staging}", f"--state={state}",
            "--markers-anywhere",
        ]  # fmt: skip

    def environment(self, store: Sink) -> dict[str, str]:
        return {**os.environ, "AWS_ENDPOINT_URL": store.url, "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Fast:
    """How it went without a brake."""

    uploaded_bytes: int
    elapsed_s: float
    batches: int


@dataclass(frozen=True, slots=True)
class Slow:
    """The brake."""

    bytes_per_s: float
    staging_bytes: int
    seconds: float

    @property
    def wanted_bytes(self) -> int:
        return max(int(self.bytes_per_s * self.seconds), 4 * self.staging_bytes)


@dataclass(frozen=True, slots=True)
class Found:
    """How it went with the brake."""

    exit_code: int
    said: str
    peak_bytes: int
    looks: int
    refused: int
    pauses: int
    paused_s: float
    elapsed_s: float
    stored_bytes: int
    span_s: float

    @property
    def rate_bytes_per_s(self) -> float:
        return self.stored_bytes / self.span_s if self.span_s else 0.0


def extracted(job: Job, memory: Path) -> Fast:
    """Into a sink that takes all as fast as it comes."""
    with tempfile.TemporaryDirectory(dir=job.folder) as state, sink() as store:
        done = subprocess.run(
            job.command(store, memory, Path(state)),
            env=job.environment(store),
            capture_output=True,
            text=True,
            check=False,
            timeout=_ENDS_WITHIN_S,
        )
        if done.returncode:
            raise SystemExit(f"the extraction failed: {done.stderr}")
        progress = json.loads((memory / _WORKER / PROGRESS_NAME).read_text())
        return Fast(progress["bytes_uploaded"], progress["elapsed_s"], progress["batches"])


def extracted_slowly(job: Job, slow: Slow) -> Found:
    """
    :raises NoTmpfsError: none can be mounted.
    """
    with (
        tempfile.TemporaryDirectory(dir=job.folder) as state_name,
        tempfile.TemporaryDirectory(dir=job.folder) as staging,
        sink(slow.bytes_per_s) as store,
    ):
        state = Path(state_name)
        watched = _in_a_tmpfs(
            slow.staging_bytes,
            Path(staging),
            job.command(store, Path(staging), state),
            job.environment(store),
        )
        counts = store.counts()
        log = "".join(path.read_text() for path in (state / "logs").glob("*.log"))
    progress = watched["progress"]
    return Found(
        exit_code=watched["exit_code"],
        said=watched["said"],
        peak_bytes=watched["peak_bytes"],
        looks=watched["looks"],
        refused=sum(log.count(text) for text in REFUSED),
        pauses=progress.get("pauses", 0),
        paused_s=progress.get("paused_s", 0.0),
        elapsed_s=progress.get("elapsed_s", 0.0),
        stored_bytes=counts.body_bytes,
        span_s=counts.span_s,
    )


def _in_a_tmpfs(
    size_bytes: int, place: Path, command: Sequence[str], environment: dict[str, str]
) -> dict[str, Any]:
    """What the watcher saw, who runs the command where that is mounted."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-e", "-c", MOUNT, "sh"]
    words += [str(size_bytes), str(place), sys.executable, "-I", "-S", str(WATCHER)]
    words += [str(place), str(place / _WORKER / PROGRESS_NAME), *command]
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False,
            timeout=_ENDS_WITHIN_S,
        )  # fmt: skip
    except FileNotFoundError as missing:
        raise NoTmpfsError("there is no `unshare`: install util-linux") from missing
    if done.returncode:
        raise NoTmpfsError(f"no tmpfs can be mounted: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _dataset(folder: Path, samples: int, seed: int) -> Path:
    path = folder / f"sentences-{samples}.jsonl"
    return write_sentences(path, samples, seed, words=12, longest=120)
