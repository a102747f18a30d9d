"""What a store does with a checksum that is sent along: computes it, or only repeats it.

Two tiny objects tell, which stay there: so every start but the first one writes nothing, a kill on
the way leaves nothing that grows, and workers that start together are not in each other's way.
"""

from __future__ import annotations

from typing import Final, Protocol

from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.store.failures import TakenError, TransientStoreError
from checkpoint_runtime.extract.store.objects import PROBES_FOLDER, Seen
from checkpoint_runtime.extract.store.s3_errors import is_damage

_CONTENT: Final = b"Does this store compute checksums? checkpoint-runtime asks with this object.\n"
_RIGHT: Final = f"{PROBES_FOLDER}right"
_WRONG: Final = f"{PROBES_FOLDER}wrong"
_TRIES: Final = 4


class Probed(Protocol):
    """A store that may be asked so."""

    url: str

    def put_small(self, key: str, content: bytes, crc: int, **condition: str) -> None:
        """Put an object with its checksum; ``condition``: headers, by the names of boto3."""

    def seen(self, key: str) -> Seen | None:
        """What the store tells of an object; None: there is none."""
        ...


def computes_checksums(objects: Probed) -> bool:
    """Whether the checksum that the store tells of an object is one that it computed itself.

    :raises StoreError: we may not write there; or it overwrites where it is told not to.
    """
    crc = crc64nvme(_CONTENT)
    _keep(objects, crc)
    seen = _seen(objects)
    if (seen.size, seen.crc64nvme or crc) != (len(_CONTENT), crc):
        objects.put_small(_RIGHT, _CONTENT, crc)  # it was damaged when it was first put
        seen = _seen(objects)
    return _refuses(objects, crc) and seen.crc64nvme == crc


def _keep(objects: Probed, crc: int) -> None:
    """Put the object if there is none, until the store says that there is one.

    What it acknowledged once it may not have kept: only when it does so again and again, it does
    not heed what it is told.
    """
    for _ in range(_TRIES):
        try:
            objects.put_small(_RIGHT, _CONTENT, crc, IfNoneMatch="*")
        except TakenError:
            return
    raise StoreError(
        f"{objects.url}: the store ignores If-None-Match, or keeps nothing: it took one and the "
        f"same object {_TRIES} times. Two workers could overwrite each other's: it cannot be used."
    )


def _seen(objects: Probed) -> Seen:
    seen = objects.seen(_RIGHT)
    if seen is None:
        raise TransientStoreError(
            "not held", f"{objects.url}: what was put there to try it is not there."
        )
    return seen


def _refuses(objects: Probed, crc: int) -> bool:
    """A wrong checksum. One that was taken once is there to tell."""
    if objects.seen(_WRONG) is not None:
        return False
    try:
        objects.put_small(_WRONG, _CONTENT, crc ^ 1)
    except TransientStoreError as error:
        if is_damage(error):
            return True
        raise
    return False
