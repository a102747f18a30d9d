"""The runtime's own ``extract`` and ``reconcile``, with a model that is none: no torch to load.

Whatever is around the model is real: plan, staging, worker, store and markers. The model's part of
a file is made of the samples' tokens.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkpoint_runtime.extract.file.header import Header
    from checkpoint_runtime.extract.parts import Batch, Sample

DATASET = Path(__file__).with_suffix(".txt")
BUCKET = "talks"
HIDDEN = 64


class Letters:
    """A token is a letter."""

    def __init__(self, *_: object, **__: object) -> None:
        """Of no model."""

    def encode(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        return [tuple(sample.text.encode()) for sample in samples]


class Payload:
    """A file in memory."""

    def __init__(self, batch: Batch, header: Header) -> None:
        from checkpoint_runtime.extract.crc import crc64nvme

        tokens = [token for some in batch.tokens for token in some]
        data = b"".join(struct.pack("<f", token) * HIDDEN for token in tokens)
        whole = header.encoded(crc64nvme(data)) + data
        self.batch = batch
        self.content = memoryview(whole)
        self.crc64nvme = crc64nvme(whole)
        self.not_finite: tuple[str, ...] = ()

    def release(self) -> None:
        """Its buffer is its own."""


class Extractor:
    """One forward pass a batch, so to speak."""

    def __init__(self, model: Any, **_: object) -> None:
        self._model = model
        self.copies = 0

    def __enter__(self) -> Extractor:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def bound_bytes(self, batch: Batch) -> int:
        header = self._header(batch)
        return header.size + header.data_size

    def extract(self, batch: Batch, *, wait_s: float) -> Payload:
        self.copies += 1
        return Payload(batch, self._header(batch))

    def _header(self, batch: Batch) -> Header:
        from checkpoint_runtime.extract.file.header import Header

        return Header(batch, self._model.identity, label="F32", element_size=4, hidden=HIDDEN)


def no_model(*_: object, **__: object) -> SimpleNamespace:
    from checkpoint_runtime.extract.data.identity import Identity

    identity = Identity("no model", (0,), "fp32")
    return SimpleNamespace(identity=identity, max_tokens=None, device=SimpleNamespace(buffers=1))


def run(workspace: Path, *more: str) -> int:
    """
    :param more: options that stand instead of the ones here.
    """
    load()
    from checkpoint_runtime.command.main import main
    from checkpoint_runtime.extract import run as story

    story.__dict__.update(
        required=lambda name, what: None,
        load_model=no_model,
        Tokenizer=Letters,
        Extractor=Extractor,
    )
    return main(
        [
            "extract",
            f"--model={workspace}",
            f"--dataset={DATASET}",
            "--layers=0",
            "--dtype=fp32",
            "--batch-tokens=30",
            # One of several workers, if whoever starts it says so.
            f"--shard={'auto' if os.environ.get('RANK') else '0/1'}",
            f"--destination=s3://{BUCKET}",
            f"--staging={workspace}/staging",
            f"--state={workspace}/state",
            # Both are in the workspace, which is what is crashed.
            "--markers-anywhere",
            "--staging-deadline=0",
            "--upload-deadline=3",
            # One step after the other, so that every run asks for the same in the same order.
            "--uploads=0",
            *more,
        ]
    )


def reconcile(workspace: Path) -> int:
    from checkpoint_runtime.command.main import main

    told = [f"--destination=s3://{BUCKET}", f"--markers={workspace}/state/markers"]
    return main(["reconcile", "--apply", "--store-deadline=3", *told])


def check(workspace: Path) -> int:
    """Every sample, as often as it is stored."""
    from tiny_s3 import Bucket

    store = Bucket(BUCKET)
    found: list[tuple[str, str]] = []
    for key in store.list():
        if not key.startswith("_"):
            content = store.get(key)
            (size,) = struct.unpack("<Q", content[:8])
            header = json.loads(content[8 : 8 + size])["__metadata__"]
            digest = hashlib.sha256(content).hexdigest()
            found += [(name, digest) for name in json.loads(header["ids"])]
    print(json.dumps(sorted(found)))
    return len({name for name, _ in found}) < len(DATASET.read_text().splitlines())


def load() -> None:
    """All that is slow to load, before anything is touched: no work that a crash could lose."""
    import awscrt.checksums
    import boto3

    from checkpoint_runtime.command.main import main
    from checkpoint_runtime.extract import run as story

    _ = (awscrt.checksums, boto3, main, story)


if __name__ == "__main__":
    commands = {"run": run, "reconcile": reconcile, "check": check}
    sys.exit(commands[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))
