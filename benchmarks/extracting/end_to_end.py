"""Samples per second from the dataset to an object and its marker, beside the parts alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.extracting.bytes_moved import opened, plain_client
from benchmarks.extracting.corpus import Subject
from benchmarks.extracting.loops import forward_alone, per_layer, per_sample, uploads
from benchmarks.extracting.sinks import BUCKET, Sink
from benchmarks.extracting.turns import Took, in_turn, measured, wall_s
from checkpoint_runtime.command.extract_options import extract_wishes
from checkpoint_runtime.command.parser import parsed
from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.data.plan import Plan
from checkpoint_runtime.extract.data.shards import Shard
from checkpoint_runtime.extract.data.tokens import Tokenizer
from checkpoint_runtime.extract.figures import Snapshot
from checkpoint_runtime.extract.model.extractor import Extractor
from checkpoint_runtime.extract.model.loading import Model, load_model
from checkpoint_runtime.extract.parts import Batch, Whole
from checkpoint_runtime.extract.run import Outcome, extract_shard

TARGET: Final = 0.9
BATCH_TOKENS: Final = 512
UPLOADS: Final = 4
DTYPE: Final = "bf16"
FORWARD, UPLOAD, WHOLE = "forward alone", "upload alone", "extract, end to end"
PER_SAMPLE = "loop: .cpu(), file, upload_file per sample"
PER_LAYER = "loop: .cpu() per layer, upload_file per batch"


@dataclass
class Seen:
    """Whom the runtime tells how it went."""

    snapshots: list[Snapshot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tick(self, snapshot: Snapshot) -> None:
        """Only the last one counts."""

    def ended(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)


@dataclass(frozen=True, slots=True)
class Work:
    """The same batches for all ways."""

    subject: Subject
    dataset: Path
    model: Model
    batches: Sequence[Batch]
    sizes: Sequence[int]
    """Of the file of each batch, in bytes."""
    batch_tokens: int
    device: str

    @property
    def samples(self) -> int:
        return sum(len(batch.ids) for batch in self.batches)

    @property
    def tokens(self) -> int:
        return sum(batch.token_count for batch in self.batches)


def work_of(
    subject: Subject, dataset: Path, *, device: str = "cpu", batch_tokens: int = BATCH_TOKENS
) -> Work:
    model = load_model(subject.model, layers=subject.layers, dtype=DTYPE, device=device)
    tokenizer = Tokenizer(subject.model, max_tokens=model.max_tokens)
    found = Dataset(dataset, id_field="id", text_field="text")
    plan = Plan.made(found, tokenizer, batch_tokens=batch_tokens, identity=model.identity)
    batches = list(plan.remaining(Shard(0, 1), {}))
    with Extractor(model, batch_tokens=batch_tokens) as extractor:
        sizes = [extractor.bound_bytes(batch) for batch in batches]
    return Work(subject, dataset, model, batches, sizes, batch_tokens, device)


def end_to_end(work: Work, sink: Sink, memory: Path, disk: Path, rounds: int) -> list[str]:
    """Print samples per second of each way; the targets that were missed.

    :param memory: on a tmpfs: where files are staged.
    :param disk: where markers are.
    """
    copies: list[float] = []
    ways: dict[str, Callable[[], Took]] = {
        FORWARD: lambda: measured(
            lambda: forward_alone(work.model, work.batches, work.batch_tokens)
        ),
        UPLOAD: lambda: _uploaded(work, sink, memory),
        WHOLE: lambda: extracted(work, sink, memory, disk, copies),
        PER_SAMPLE: lambda: measured(
            lambda: per_sample(
                work.model, work.batches, memory, uploads(plain_client(sink), BUCKET)
            )
        ),
        PER_LAYER: lambda: measured(
            lambda: per_layer(work.model, work.batches, memory, uploads(plain_client(sink), BUCKET))
        ),
    }
    took = in_turn(ways, rounds)
    print(
        f"\n{work.subject.name}, layers {','.join(map(str, work.subject.layers))}, {DTYPE}, on the "
        f"CPU: {work.samples} samples, {work.tokens:,} tokens, {sum(work.sizes) / 1e6:.0f} MB in "
        f"{len(work.batches)} objects, the median of {rounds} rounds"
    )
    least = max(wall_s(took[FORWARD]), wall_s(took[UPLOAD]))
    for name, turns in took.items():
        seconds = wall_s(turns)
        print(f"  {name:46} {work.samples / seconds:9.1f} samples/s  {least / seconds:7.2f} ×")
    print(f"  copies from the device per batch: {max(copies):.2f}")
    ratio = least / wall_s(took[WHOLE])
    missed = []
    if ratio < TARGET:
        missed.append(f"end to end {ratio:.2f} × the slower part alone (target {TARGET} ×)")
    if max(copies) != 1.0:
        missed.append(f"{max(copies):.2f} copies per batch (target 1)")
    return missed


def _uploaded(work: Work, sink: Sink, memory: Path) -> Took:
    """Files that lie there already, by as many threads as an extraction has."""
    sink.counts()
    destination = opened(sink, "alone")
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        wholes = []
        for batch, size in zip(work.batches, work.sizes, strict=True):
            content = bytes(size)
            wholes.append(Whole(f"{batch.key}.safetensors", size, crc64nvme(content)))
            (folder / wholes[-1].key).write_bytes(content)

        def put(whole: Whole) -> None:
            destination.put(folder / whole.key, whole)

        def all_of_them() -> None:
            with ThreadPoolExecutor(UPLOADS) as pool:
                list(pool.map(put, wholes))

        return measured(all_of_them)


def extracted(work: Work, sink: Sink, memory: Path, disk: Path, copies: list[float]) -> Took:
    """What the command does; its time is from when the model is loaded and the plan made.

    :param copies: takes how many there were per batch.
    """
    sink.counts()
    seen = Seen()
    with (
        tempfile.TemporaryDirectory(dir=memory) as staging,
        tempfile.TemporaryDirectory(dir=disk) as state,
    ):
        wishes = extract_wishes(parsed(_arguments(work, sink, staging, state)))
        os.environ["AWS_ENDPOINT_URL"] = sink.url  # taken away again with the credentials
        took = measured(lambda: extract_shard(wishes, seen, Outcome()))
    snapshot = seen.snapshots[-1]
    if snapshot.samples != work.samples:
        raise RuntimeError(f"{snapshot.samples} of {work.samples} samples were stored")
    copies.append(snapshot.copies_per_batch)
    return Took(snapshot.elapsed_s, took.cpu_s)


def _arguments(work: Work, sink: Sink, staging: str, state: str) -> list[str]:
    return [
        "extract",
        f"--model={work.subject.model}",
        f"--dataset={work.dataset}",
        f"--layers={','.join(map(str, work.subject.layers))}",
        f"--dtype={DTYPE}",
        f"--device={work.device}",
        f"--batch-tokens={work.batch_tokens}",
        f"--destination=s3://{BUCKET}/out",
        # The sink keeps no bytes that could be read back.
        "--verify=probe",
        f"--uploads={UPLOADS}",
        f"--staging={staging}",
        f"--state={state}",
        "--markers-anywhere",
        "--heartbeat=0",
    ]
