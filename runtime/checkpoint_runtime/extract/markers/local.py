"""Markers in a directory: a file each, whole and durable or not there.

The directory keeps, besides them, ``destination`` (whose objects they speak of: those of another
store would all be taken for lost) and ``shards/1-of-2/``, with the lock of that shard and the files
that have not got their own name yet. What else lies there is left alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from checkpoint_runtime.errors import CommitError
from checkpoint_runtime.exclusion.lock import WorkspaceLock
from checkpoint_runtime.extract.errors import MarkerError, MarkerNotWrittenError
from checkpoint_runtime.extract.markers.record import (
    batch_of_marker,
    content_of,
    marker_in,
    marker_name,
)
from checkpoint_runtime.extract.parts import Marker
from checkpoint_runtime.state.durable import (
    commit_error,
    make_directory,
    remove_half,
    sync_directory,
    write_new_file,
)

_DESTINATION: Final = "destination"
_SHARDS: Final = "shards"
_HALF: Final = ".half"


class LocalMarkers:
    """:class:`~checkpoint_runtime.extract.parts.Markers` of one worker, as a context manager."""

    def __init__(
        self, folder: Path, destination: str, *, shard: str, note: Callable[[str], None]
    ) -> None:
        """
        :param destination: the URL of the store whose objects they speak of.
        :param shard: a name that no other worker has: ``1-of-2``.
        """
        self.folder = folder
        self.place = str(folder)
        self._destination = destination
        self._own = folder / _SHARDS / shard
        self._note = note
        self._count = 0
        self._lock = threading.Lock()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """
        :raises WorkspaceInUseError: another process works on this shard.
        :raises WorkspaceError: it cannot be locked.
        :raises MarkerError: the markers are those of another destination, or cannot be used.
        """
        try:
            make_directory(self._own)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._held.enter_context(WorkspaceLock(self._own, self._note))
        except CommitError as error:
            raise MarkerNotWrittenError(str(error)) from error
        try:
            self._sweep()
            self._bind()
        except OSError as error:
            self._held.close()
            raise self._unusable(error) from error
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._held.close()

    def load(self) -> dict[str, Marker]:
        """
        :raises MarkerError: one is damaged, or cannot be read.
        """
        return load_directory(self.folder, self._destination)

    def add(self, marker: Marker) -> None:
        """
        :raises MarkerNotWrittenError: it is not durable; what is marked already stays so.
        """
        path = self.folder / marker_name(marker.key)
        content = content_of(marker)
        try:
            self._write(path, content)
        except OSError as error:
            raise MarkerNotWrittenError(
                str(commit_error("write", path, error, len(content)))
            ) from error

    def remove(self, key: str) -> None:
        """Of a batch that is to be done again.

        :raises MarkerNotWrittenError: it cannot be removed.
        """
        path = self.folder / marker_name(key)
        try:
            path.unlink(missing_ok=True)
            sync_directory(self.folder)
        except OSError as error:
            raise MarkerNotWrittenError(f"{path}: cannot be removed: {error.strerror}.") from error

    def _write(self, path: Path, content: bytes) -> None:
        with self._lock:
            self._count += 1
            half = self._own / f"{path.name}.{self._count}{_HALF}"
        write_new_file(half, [content])
        try:
            os.replace(half, path)
        except BaseException as error:
            remove_half(half, error)
            raise
        sync_directory(path.parent)

    def _sweep(self) -> None:
        """What a killed worker of this shard had not finished: the lock says that it is gone."""
        for name in os.listdir(self._own):
            if name.endswith(_HALF):
                (self._own / name).unlink(missing_ok=True)

    def _bind(self) -> None:
        if not _check_bound(self.folder, self._destination):
            self._write(self.folder / _DESTINATION, f"{self._destination}\n".encode())

    def _unusable(self, error: OSError) -> MarkerError:
        return MarkerError(
            f"{self.folder}: the markers cannot be kept there: {error.strerror or error}."
        )


class LookedAtMarkers:
    """Markers in a directory that is only looked at: no lock is taken, and no file made."""

    def __init__(self, folder: Path, destination: str) -> None:
        self.place = str(folder)
        self._folder = folder
        self._destination = destination

    def load(self) -> dict[str, Marker]:
        """
        :raises MarkerError: one is damaged, or cannot be read.
        """
        return load_directory(self._folder, self._destination)


def load_directory(folder: Path, destination: str) -> dict[str, Marker]:
    """By batch key, without the lock of a shard: nothing is written.

    :raises MarkerError: one is damaged, cannot be read, or speaks of another destination.
    """
    try:
        _check_bound(folder, destination)
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise MarkerError(f"{folder}: cannot be read: {error.strerror}.") from error
    found = {}
    for name in names:
        key = batch_of_marker(name)
        if key is None:
            continue
        path = folder / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue  # reconcile has just taken it
        except OSError as error:
            raise MarkerError(f"{path}: cannot be read: {error.strerror}.") from error
        found[key] = marker_in(content, str(path))
    return found


def _check_bound(folder: Path, destination: str) -> bool:
    """Whether it is said there whose they are."""
    try:
        found = (folder / _DESTINATION).read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except FileNotFoundError:
        return False
    if found != destination:
        raise MarkerError(
            f"{folder}: these markers speak of {found}, not of {destination}. Nothing was done: "
            f"take another directory, or, if the objects were moved, correct {_DESTINATION} there."
        )
    return True
