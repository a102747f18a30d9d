"""A file that is only appended to, as it stood after each step of a run."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Final

from pytest_checkpoint.record.store.contents import fold


class Growing:
    """Of the events file, or of that of the effects, beside the workspace."""

    def __init__(self, start: bytes) -> None:
        self._parts: Final = [start]
        self._ends: Final = [len(start)]
        self._hash: Final = _hash(start)
        self.digests: Final = [self._hash.digest()]
        """Step → the digest of what stood there after it."""

    def append(self, added: bytes) -> None:
        """What one more step added, which may be nothing."""
        self._parts.append(added)
        self._ends.append(self._ends[-1] + len(added))
        if added:
            self._hash.update(added)
            self.digests.append(self._hash.digest())
        else:
            self.digests.append(self.digests[-1])

    def after(self, step: int) -> bytes:
        """What stood there after ``step``; 0: before the first."""
        return self._whole[: self._ends[step]]

    @cached_property
    def _whole(self) -> bytes:
        """Asked for when all steps are there."""
        return b"".join(self._parts)

    @cached_property
    def distinct_digests(self) -> list[bytes]:
        """As :attr:`digests`, of the lines that had not stood there before."""
        digests: list[bytes] = []
        seen: set[bytes] = set()
        text = _hash(b"")
        unfinished = b""
        for part in self._parts:
            *lines, unfinished = (unfinished + part).split(b"\n")
            for line in lines:
                if line not in seen:
                    seen.add(line)
                    text.update(line + b"\n")
            rest = text.copy()
            rest.update(unfinished)
            digests.append(rest.digest())
        return digests


class Folding:
    """The log of objects: two are the same if they come to the same, however it came about."""

    def __init__(self, start: bytes) -> None:
        self._log: Final = Growing(start)
        self._contents: Final = fold(start)
        self.digests: Final = [self._contents.digest]
        """As of :class:`Growing`, of what the log came to after each step."""

    def append(self, added: bytes) -> None:
        """What one more step added, which may be nothing."""
        self._log.append(added)
        if added:
            self._contents.apply(added)
        self.digests.append(self._contents.digest)

    def after(self, step: int) -> bytes:
        """The log after ``step``; 0: before the first."""
        return self._log.after(step)


def digest_of(data: bytes) -> bytes:
    """As in :attr:`Growing.digests`."""
    return _hash(data).digest()


def _hash(data: bytes) -> blake2b:
    return blake2b(data, digest_size=32)
