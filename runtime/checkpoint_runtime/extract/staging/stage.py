"""A staged file: its room is set aside in the file system, it is written whole, it gets its name.

Set aside by ``fallocate``, under the name of a part: so other workers and tenants see it, and what
does not fit is found before the forward pass and not behind it. Nothing is synced: what a power cut
leaves of a file is told by its checksums (``leftovers``), and only a marker says that it is done.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from checkpoint_runtime.extract.errors import StagingError
from checkpoint_runtime.extract.staging.folder import final_name, part_name
from checkpoint_runtime.extract.staging.room import Reservation, Room

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_FALLOCATE: Final = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


class Stage:
    """Where one worker stages its files."""

    def __init__(self, folder: Path, room: Room) -> None:
        """
        :param folder: held by this worker.
        """
        self.folder = folder
        self.room = room

    def reserve(self, key: str, size_bytes: int) -> Place:
        """Room for the file of a batch. Waits for it.

        :param size_bytes: what it takes at most.
        :raises StagingError: there was none within the deadline, or none can be made.
        """
        place = Place(self.folder, key, size_bytes, self.room, self.room.reserve(size_bytes))
        try:
            place.set_aside()
        except BaseException:
            place.remove()
            raise
        return place

    def found(self, key: str) -> Place | None:
        """The place of a file that is there already, whatever it holds. Its room is counted.

        None: it is not there any more. A staging may vanish at any time.
        """
        try:
            size_bytes = (self.folder / final_name(key)).stat().st_size
        except OSError:
            return None
        reservation = self.room.counted(size_bytes)
        return Place(self.folder, key, size_bytes, self.room, reservation, is_written=True)


class Place:
    """Room for one file, and then that file."""

    def __init__(
        self,
        folder: Path,
        key: str,
        size_bytes: int,
        room: Room,
        reservation: Reservation,
        *,
        is_written: bool = False,
    ) -> None:
        self.path = folder / final_name(key)
        """Once it is written."""
        self._part = folder / part_name(key)
        self._size_bytes = size_bytes
        self._room = room
        self._reservation = reservation
        self._descriptor: int | None = None
        self._has_part = False
        self._is_written = is_written

    def set_aside(self) -> None:
        """Take the room in the file system, where that can be done.

        :raises StagingError: as :meth:`write`.
        """
        self._until_there_is_room(self._allocate)

    def write(self, content: memoryview) -> Path:
        """The whole file, under its final name.

        No room all the same (another tenant, a file system that does not keep what it set aside)
        is a pause: what was written is removed, and it is tried again.

        :raises StagingError: no room within the deadline, or it cannot be written.
        """

        def act() -> bool:
            self._write(content)
            return True

        self._until_there_is_room(act)
        return self.path

    def remove(self) -> None:
        """Its file is gone, and its room given back. A second time nothing happens.

        :raises StagingError: it cannot be removed: it would be in the way for good.
        """
        try:
            self._forget()
            if self._is_written:
                self._is_written = False
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StagingError(f"{self.path} cannot be removed: {error.strerror}.") from error
        finally:
            self._room.release(self._reservation)

    def _until_there_is_room(self, act: Callable[[], bool]) -> None:
        """
        :param act: whether the file system counts the room now.
        """
        while True:
            try:
                is_on_disk = act()
                break
            except OSError as error:
                self._removed_part(error)
                if error.errno not in _NO_ROOM:
                    raise StagingError(
                        f"{self.path} cannot be staged: {error.strerror}."
                    ) from error
                why = f"{error.strerror}, although there seemed to be room"
                self._room.refused(self._reservation, why)
        if is_on_disk:
            self._room.allocated(self._reservation)

    def _opened(self) -> int:
        if self._descriptor is None:
            # What a writer left that was killed has been swept; no link of others is followed.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._part, flags, 0o644)
            self._has_part = True
        return self._descriptor

    def _allocate(self) -> bool:
        descriptor = self._opened()
        try:
            os.posix_fallocate(descriptor, 0, self._size_bytes)
        except OSError as error:
            if error.errno not in _NO_FALLOCATE:
                raise
            return False  # the worker goes on counting it itself
        return True

    def _write(self, content: memoryview) -> None:
        descriptor = self._opened()
        place = 0
        while place < len(content):
            # A short count is how a full file system begins to say so.
            place += os.pwrite(descriptor, content[place:], place)
        if len(content) != self._size_bytes:
            os.ftruncate(descriptor, len(content))
        self._descriptor = None
        os.close(descriptor)
        os.rename(self._part, self.path)
        self._has_part, self._is_written = False, True

    def _removed_part(self, error: OSError) -> None:
        try:
            self._forget()
        except OSError as another:
            error.add_note(f"{self._part} could not be removed: {another.strerror}")

    def _forget(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        if self._has_part:
            self._part.unlink(missing_ok=True)
            self._has_part = False
