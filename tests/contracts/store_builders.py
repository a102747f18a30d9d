"""What a store holds and is asked, for the tests: two objects, a and b, each with a marker."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from checkpoint_contracts.bucket import Bucket, MarkerLink, StoredObject, StoreRequest, Verb
from checkpoint_contracts.evidence import OtherRun, Reference
from tests.contracts.builders import EVENTS, STEPS, undisturbed

LINKS = (MarkerLink(marker="done/a", key="out/a"), MarkerLink(marker="done/b", key="out/b"))
BUCKET = Bucket(declares_markers=True, links=LINKS)
BOTH = ("done/a", "done/b")


def held(key: str, data: bytes = b"as it is undisturbed") -> StoredObject:
    return StoredObject(key=key, size_bytes=len(data), digest=sha256(data).hexdigest())


def put(key: str, data: bytes = b"as it is undisturbed", **fields: Any) -> StoreRequest:
    values: dict[str, Any] = {"verb": Verb.PUT, "status": 200, **fields}
    digest = sha256(data).hexdigest()
    path = f"PUT s3://bucket/{key}"
    return StoreRequest(key=key, path=path, size_bytes=len(data), digest=digest, **values)


A, B = held("out/a"), held("out/b")


def stored(
    *objects: StoredObject,
    other: tuple[StoredObject, ...] | None = None,
    bucket: Bucket | None = BUCKET,
) -> Reference:
    """Two undisturbed runs that stored these; ``other``: what the other one did."""
    ours = objects or (A, B)
    other_run = OtherRun(events=EVENTS, objects=ours if other is None else other)
    return undisturbed(objects=ours, other_run=other_run, bucket=bucket, steps=STEPS)
