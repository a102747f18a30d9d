"""Data that is on its way to the disk before anybody waits for it.

A sync sends what the disk does not have yet, and waits for it. Asked for earlier, that goes on
while the rest is still being copied: of a megabyte it saves a tenth of the commit. It promises
nothing: only a sync does, which comes later and tells what went wrong here, too.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator

WORTH_TWO_WRITES_BYTES = 512 * 1024
_SYNC_FILE_RANGE_WRITE = 2
_PAGE_BYTES = 4096


def halves(data: bytes | memoryview) -> Iterator[bytes | memoryview]:
    """Data in the pieces in which it is to be written, with :func:`send` after each but the last.

    One piece, unless the half of it is worth sending, and there is a way to.
    """
    size_bytes = len(data)
    if size_bytes < WORTH_TWO_WRITES_BYTES or _sync_file_range is None:
        yield data
        return
    middle = size_bytes // 2 // _PAGE_BYTES * _PAGE_BYTES
    view = memoryview(data)
    yield view[:middle]
    yield view[middle:]


def send(descriptor: int) -> None:
    """Have the disk begin with what has been written to this file, and wait for nothing."""
    if _sync_file_range is not None:
        # Where it fails, the sync has all the more to do, and meets the same error.
        _sync_file_range(descriptor, 0, 0, _SYNC_FILE_RANGE_WRITE)  # to its end


def _found() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return function


_sync_file_range = _found()
