"""Whether anybody looks into the slot: what is loaded beforehand must not depend on what is there.

By inotify, so that reads through C are seen as well. Asking whether a file exists is not.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pytest_checkpoint.record.zygote.command import Fresh

_libc = ctypes.CDLL(None, use_errno=True)
_EVENT: Final = struct.Struct("=iIII")
_ANYTHING: Final = 0x00000FFF
"""IN_ALL_EVENTS: opened, read, written, made, moved, removed …"""
_BUFFER: Final = 1 << 16


class Watch:
    """Watches a folder and all below it, as they are at the beginning.

    :class:`~.command.Fresh` if the machine does not allow so many watches.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[int, Path] = {}

    def __enter__(self) -> Self:
        # All are found first: the search itself opens what it looks into.
        found = [Path(folder) for folder, _, _ in os.walk(self._folder)]
        self._descriptor = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        try:
            for folder in found:
                number = _libc.inotify_add_watch(
                    self._descriptor, os.fsencode(folder), ctypes.c_uint32(_ANYTHING)
                )
                self._names[_checked(number)] = folder
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def touched(self) -> Path | None:
        """The first thing that somebody has looked at, relative to the folder."""
        try:
            events = os.read(self._descriptor, _BUFFER)
        except BlockingIOError:
            return None
        number, _, _, length = _EVENT.unpack_from(events)
        name = os.fsdecode(events[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
        return (self._names.get(number, self._folder) / name).relative_to(self._folder)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise Fresh(f"the workspace cannot be watched ({os.strerror(number)})")
    return result
