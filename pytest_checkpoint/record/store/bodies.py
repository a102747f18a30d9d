"""The bytes of objects, each under its SHA-256: kept once, however many states hold them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pytest_checkpoint.errors import HarnessError


@dataclass(frozen=True, slots=True)
class Bodies:
    """A folder, made when there is something to put into it."""

    folder: Path

    def put(self, data: bytes, digest: str = "") -> str:
        """Keep these bytes; returns the digest under which they are found."""
        digest = digest or sha256(data).hexdigest()
        path = self.folder / digest
        if path.exists():
            return digest
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            half = path.with_name(f".{digest}.{os.getpid()}")
            half.write_bytes(data)
            half.rename(path)
        except OSError as error:
            raise HarnessError(
                f"an object of {len(data)} bytes cannot be kept in {self.folder} "
                f"({error.strerror}): make room there, or give the job smaller objects"
            ) from error
        return digest

    def digests(self) -> list[str]:
        """Of all that is here."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.name[0] != ".")

    def has(self, digest: str) -> bool:
        return (self.folder / digest).exists()

    def read(self, digest: str) -> bytes:
        """HarnessError if it is not there."""
        try:
            return (self.folder / digest).read_bytes()
        except OSError as error:
            raise HarnessError(
                f"the bytes of an object, {digest}, are not in {self.folder} ({error.strerror}): "
                "record again"
            ) from error

    def copy_to(self, other: Bodies, digests: Iterable[str]) -> None:
        """Those of them that are here; what is missing is told when it is read."""
        for digest in digests:
            if self.has(digest) and not other.has(digest):
                other.put(self.read(digest), digest)
