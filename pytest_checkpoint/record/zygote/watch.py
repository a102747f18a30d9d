"""Whether anybody looks into the slot: what is loaded beforehand must not depend on what is there.

By inotify, so that reads through C are seen as well. Asking whether a file exists is not. What is
made there and can be made again in each child is nothing to worry about: empty folders in TMPDIR,
which torch's compiler makes when it is imported.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pytest_checkpoint.record.operations import TEMPORARY
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

    def __init__(self, folder: Path, *, folders_too: bool) -> None:
        """``folders_too``: to make a folder in TMPDIR is to touch it."""
        self._folder = folder
        self._folders_too = folders_too
        self._temporary = folder / os.fsdecode(TEMPORARY)
        self._names: dict[int, Path] = {}

    def __enter__(self) -> Self:
        # All are found first: the search itself opens what it looks into.
        self._before = self._paths()
        found = [path for path in self._before if _is_folder(path)]
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

    def _paths(self) -> list[Path]:
        return _with_all_below(self._folder)

    def remove_new(self) -> None:
        """What was not there at the beginning: made by whoever is not to begin after all."""
        before = set(self._before)
        for path in reversed(self._paths()):
            if path not in before:
                if _is_folder(path):
                    path.rmdir()
                else:
                    path.unlink()

    def made(self) -> list[tuple[Path, int]]:
        """Folders in TMPDIR that were not there at the beginning, and their modes; outer first."""
        before = set(self._before)
        found = [path for path in self._paths() if path not in before and _is_folder(path)]
        return [
            (path, stat.S_IMODE(path.stat().st_mode))
            for path in found
            if path.is_relative_to(self._temporary)
        ]

    def touched(self) -> Path | None:
        """The first thing that somebody has looked at, relative to the folder.

        A file made and removed in TMPDIR is nothing: ``tempfile`` finds out so where it may write.
        Nor is a folder made there, as long as it holds nothing but folders.
        """
        try:
            events = os.read(self._descriptor, _BUFFER)
        except BlockingIOError:
            return None
        at = 0
        while at < len(events):
            number, _, _, length = _EVENT.unpack_from(events, at)
            begin, at = at + _EVENT.size, at + _EVENT.size + length
            name = os.fsdecode(events[begin:at].rstrip(b"\0"))
            folder = self._names.get(number, self._folder)
            if not (name and folder == self._temporary and self._is_nothing(folder / name)):
                return (folder / name).relative_to(self._folder)
        return None

    def _is_nothing(self, path: Path) -> bool:
        if not os.path.lexists(path):
            return True
        if self._folders_too or path in self._before:
            return False
        return all(map(_is_folder, _with_all_below(path)))


def _with_all_below(path: Path) -> list[Path]:
    """Folders before what is in them."""
    paths = [path]
    for folder, folders, files in os.walk(path):
        paths += (Path(folder, name) for name in (*folders, *files))
    return paths


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise Fresh(f"the workspace cannot be watched ({os.strerror(number)})")
    return result
