"""Parts of a value that go to side files, named by what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checkpoint_runtime.codec.problems import UnreadableValueError

_OWN_NAME = re.compile(r"[0-9a-f]{32}\.(safetensors|bin|txt|json)")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A side file to write.

    The chunks may be views of the value's own memory, so that a tensor is not copied: write them
    before anything changes the value, or the content does not fit the name.
    """

    name: str
    """The first 32 digits of the SHA-256, and ``.safetensors``, ``.bin``, ``.txt`` or ``.json``:
    equal content has an equal name."""
    data: tuple[bytes | memoryview, ...] = field(repr=False, compare=False)
    """The content, in pieces of any size."""
    size_bytes: int
    sha256: str
    """Hex, of the whole content."""

    @classmethod
    def of(cls, suffix: str, chunks: Sequence[bytes | memoryview]) -> Attachment:
        """``suffix`` without its dot."""
        whole = hashlib.sha256()
        for chunk in chunks:
            whole.update(chunk)
        sha256 = whole.hexdigest()
        size_bytes = sum(memoryview(chunk).nbytes for chunk in chunks)
        return cls(f"{sha256[:32]}.{suffix}", tuple(chunks), size_bytes, sha256)

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The content, piece by piece, to write one after the other."""
        return iter(self.data)

    def content(self) -> bytes:
        """The whole content: a copy."""
        return b"".join(self.data)


def suffix_of(name: object) -> str:
    """The suffix, without its dot, of a name that a text gives: it may have been tampered with.

    :raises UnreadableValueError: no name of ours, a path say.
    """
    match = _OWN_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise UnreadableValueError(f"{name!r:.100} is not the name of a side file")
    return match[1]
