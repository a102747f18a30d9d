"""A staged file as the body of a request: mapped, so that it is neither read into memory nor held
twice, and read again from any place when the request is sent again."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.parts import Whole


class Body:
    """A range of memory with the few methods that botocore and http.client ask for."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._at = 0

    def __len__(self) -> int:
        return len(self._view)

    def read(self, size: int | None = -1) -> memoryview:
        """No copy is made: what is returned is sent from where it lies."""
        end = len(self._view) if size is None or size < 0 else self._at + size
        part = self._view[self._at : end]
        self._at += len(part)
        return part

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._view)}[whence]
        self._at = min(max(base + offset, 0), len(self._view))
        return self._at

    def tell(self) -> int:
        return self._at


@contextmanager
def mapped(path: Path, whole: Whole) -> Iterator[memoryview]:
    """
    :raises StoreError: it is not there, or not of that size.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # An empty file cannot be mapped.
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise StoreError(f"{path}: the staged file cannot be read: {error.strerror}.") from error
    if size != whole.size:
        raise StoreError(
            f"{path}: the staged file has {size:,} bytes, and was made with {whole.size:,}: "
            "something else has written to it."
        )
    view = memoryview(memory)
    try:
        yield view
    finally:
        _let_go(view, memory)


def _let_go(view: memoryview, memory: mmap.mmap | bytes) -> None:
    view.release()
    if isinstance(memory, mmap.mmap):
        try:
            memory.close()
        except BufferError:
            # A part of it is in the traceback of a request that failed: it goes with that.
            return
