"""What was asked of the store, and what it holds, in the words of the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from checkpoint_contracts.bucket import StoredObject, StoreRequest, Verb
from pytest_checkpoint.record.store import requests as log
from pytest_checkpoint.record.store.contents import Contents

_VERBS: Final = {
    "PutObject": Verb.PUT,
    "CopyObject": Verb.PUT,
    "CreateMultipartUpload": Verb.CREATE,
    "UploadPart": Verb.PART,
    "UploadPartCopy": Verb.PART,
    "CompleteMultipartUpload": Verb.COMPLETE,
    "AbortMultipartUpload": Verb.ABORT,
    "DeleteObject": Verb.DELETE,
    "DeleteObjects": Verb.DELETE,
    "GetObject": Verb.GET,
    "HeadObject": Verb.HEAD,
    "ListObjects": Verb.LIST,
    "ListObjectsV2": Verb.LIST,
}
_WITH_BYTES: Final = frozenset({"PutObject", "UploadPart"})
"""Those whose body is an object, or a part of one."""


def requests_of(asked: Iterable[log.StoreRequest]) -> tuple[StoreRequest, ...]:
    """The log of one execution."""
    return tuple(
        StoreRequest(
            verb=_VERBS.get(one.operation, Verb.OTHER),
            key=one.key,
            path=one.path,
            size_bytes=one.size if one.operation in _WITH_BYTES else 0,
            digest=one.sha256 if one.operation in _WITH_BYTES else "",
            status=one.status,
            at_s=one.at_s,
            fault=one.fault,
            step=one.step,
        )
        for one in asked
    )


def objects_of(lines: bytes) -> tuple[StoredObject, ...]:
    """What ``State.objects`` comes to, in the order of the keys."""
    held = Contents.of(lines).objects
    return tuple(
        StoredObject(key=key, size_bytes=held[key].size, digest=held[key].sha256)
        for key in sorted(held)
    )


def sent_bytes(asked: Iterable[log.StoreRequest]) -> int:
    """Of objects and parts of them, again for each attempt: work, as what is written is."""
    return sum(one.size for one in asked if one.operation in _WITH_BYTES)
