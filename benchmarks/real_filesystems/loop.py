"""Loop devices by ioctl: a block device on a file.

A device is taken with LO_FLAGS_AUTOCLEAR: it lets go of its file when the last descriptor and the
last mount of it are gone, so none is left behind whatever happens to this process.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

CONTROL: Final = Path("/dev/loop-control")
_LOOP_CTL_GET_FREE: Final = 0x4C82
_LOOP_CONFIGURE: Final = 0x4C0A
_LOOP_CLR_FD: Final = 0x4C01
_AUTOCLEAR: Final = 4
_DIRECT_IO: Final = 16
_CONFIG: Final = struct.Struct("=II 5Q 4I 64s 64s 32s 2Q 8Q")
_TRIES: Final = 32
_SECTOR_BYTES: Final = 512


class LoopDevice:
    """A free loop device on ``backing`` while the ``with`` block lasts."""

    def __init__(self, backing: int, *, direct: bool) -> None:
        """``direct``: past the page cache of the backing file, so that it sees each write."""
        self._backing = backing
        self._flags = _AUTOCLEAR | (_DIRECT_IO if direct else 0)

    def __enter__(self) -> Self:
        for _ in range(_TRIES):
            self.path = Path(f"/dev/loop{_free_number()}")
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(self._descriptor, _LOOP_CONFIGURE, self._configuration())
            except OSError as error:
                os.close(self._descriptor)
                if error.errno != errno.EBUSY:  # else another took it first
                    raise
            else:
                return self
        raise OSError(errno.EBUSY, "no loop device stays free", str(CONTROL))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            fcntl.ioctl(self._descriptor, _LOOP_CLR_FD)
        finally:
            os.close(self._descriptor)

    def _configuration(self) -> bytes:
        nothing = (0,) * 5
        return _CONFIG.pack(
            self._backing, _SECTOR_BYTES, *nothing, 0, 0, 0, self._flags, b"", b"", b"", 0, 0,
            *(0,) * 8,
        )  # fmt: skip


def _free_number() -> int:
    control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        return fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
    finally:
        os.close(control)
