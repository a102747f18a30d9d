"""A store, act by act. Each is tried once: whether it is tried again is decided by who calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from checkpoint_runtime.extract.parts import Whole

CHUNK_BYTES: Final = 1 << 20
MARKERS_FOLDER: Final = "_markers/"
PROBES_FOLDER: Final = "_probe/"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a store tells of an object without giving its bytes."""

    size: int
    tag: str
    """Of this content under this key: another one has another."""
    crc64nvme: int | None = None
    """Of the whole. Computed by the store, or only repeated: a probe tells which."""


@dataclass(frozen=True, slots=True)
class Listed:
    key: str
    """Within the destination."""
    size: int
    tag: str


class Objects(Protocol):
    """They raise a StoreError: a Transient or a Taken one, or one that trying again cannot help."""

    url: str

    def check(self) -> None:
        """Is it there, and may we look into it? Nothing is written."""
        ...

    def probe(self) -> bool:
        """May we write? Whether the store computes checksums itself, and tells them."""
        ...

    def put(self, path: Path, whole: Whole, *, instead_of: str | None) -> None:
        """
        :param instead_of: tag of the object that is replaced; None: there must be none.
        """
        ...

    def put_bytes(self, key: str, content: bytes) -> None:
        """A small object, whatever was there."""
        ...

    def seen(self, key: str) -> Seen | None:
        """None: there is no such object."""
        ...

    def chunks(self, key: str) -> Iterator[bytes]:
        """The bytes of an object, some at a time; nothing at all if there is none.

        :raises TransientStoreError: also if it ends early.
        """
        ...

    def listed(self, folder: str = "", *, after: str = "") -> Iterator[Listed]:
        """In the order of keys, also those in folders.

        :param folder: within the destination, with a slash behind it.
        :param after: a key: only those behind it.
        """
        ...

    def remove(self, key: str, tag: str | None = None) -> None:
        """An object that is not there is none to remove.

        :param tag: only if it is this one still; another one is a TakenError.
        """
        ...

    def abandon(self, keys: Iterable[str]) -> int:
        """Remove what killed uploads of these keys left half done; how many there were."""
        ...
