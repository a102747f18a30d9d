"""What the parts of an extraction hand to each other. Sizes in bytes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Sample:
    """One text of the dataset. Its id stays with it, whatever its place in the file."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples that go through the model together and become one object of the store.

    Made the same way in every run, whatever is done already: a batch that was stored, but not
    marked before a crash, gets the same key again.
    """

    number: int
    """Among all batches of the plan, of all shards, from 0."""
    key: str
    """A hex digest of the sample ids in order, the model, the layers and the type of elements."""
    ids: tuple[str, ...]
    tokens: tuple[tuple[int, ...], ...]
    """Of each sample; longest first."""

    @property
    def token_count(self) -> int:
        return sum(map(len, self.tokens))


@dataclass(frozen=True, slots=True)
class Outline:
    """What a batch is known by without its tokens."""

    number: int
    key: str
    ids: tuple[str, ...]
    digests: tuple[str, ...]
    """Of each sample's tokens."""
    token_count: int


class Payload(Protocol):
    """The file of one batch in memory: header and tensors, in a buffer that is used again."""

    @property
    def batch(self) -> Batch: ...

    @property
    def content(self) -> memoryview:
        """The whole file. Valid until :meth:`release`."""
        ...

    @property
    def crc64nvme(self) -> int:
        """Of the content."""
        ...

    @property
    def not_finite(self) -> tuple[str, ...]:
        """Ids of samples with a NaN or an infinity in their hidden states."""
        ...

    def release(self) -> None:
        """Its buffer may be filled again."""
        ...


@dataclass(frozen=True, slots=True)
class Whole:
    """What an object must be."""

    key: str
    """Within the destination: without its bucket and prefix."""
    size: int
    crc64nvme: int


class Held(enum.Enum):
    """What the store holds under a key, told by bytes or by a checksum that it computed itself."""

    WHOLE = "whole"
    ABSENT = "absent"
    OTHER = "other"
    """Something of another size or with other bytes."""


class Destination(Protocol):
    """Where objects go. All methods may be called by several threads at once.

    They raise errors of ``extract.errors``: nothing of boto3's, no bare OSError.
    """

    def prepare(self) -> None:
        """Is it there, may we write, does it compute checksums itself? Raises a sentence."""
        ...

    def put(self, path: Path, whole: Whole) -> Whole:
        """Store the staged file. Returns once what the store holds was verified: what that is.

        An equal object that is there already is left alone; so is another whole one of the same
        samples: a device need not give the same bits twice. With back-off within a budget; raises
        when that is used up, or at once where trying again cannot help.
        """
        ...

    def look(self, whole: Whole) -> Held: ...


@dataclass(frozen=True, slots=True)
class Marker:
    """One batch is stored and was verified."""

    whole: Whole
    ids: tuple[str, ...]
    digests: tuple[str, ...] = ()
    """Of each sample's tokens; none: an older marker, which does not tell."""

    @property
    def key(self) -> str:
        """The batch's."""
        return self.whole.key.rpartition("/")[2].partition(".")[0]


class Markers(Protocol):
    """Which batches are done. On another file system than the staging, or in the bucket."""

    def load(self) -> dict[str, Marker]:
        """By batch key. What is damaged is an error, never a gap."""
        ...

    def add(self, marker: Marker) -> None:
        """Durable when it returns. By several threads at once."""
        ...
