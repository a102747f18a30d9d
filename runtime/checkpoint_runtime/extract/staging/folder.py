"""The directory of one worker in the staging: its own, by a lock, and put in order at its start.

Several workers share a staging: each has a directory, ``shard-I-of-N``, and holds the lock in it.
What a writer that is gone left there is of three kinds:

* parts of files are of no use, and are removed at once
* files under their final name, of batches that this worker has to do: it takes them up, out of its
  own directory or out of that of a writer that is gone (of another number of shards, say)
* files of batches that another shard has to do stay for that one's start, unless there is no room
  for anything else (:meth:`ShardFolder.clear`); those of batches that nobody has to do are removed

A name says nothing of the bytes: whoever takes a file up looks (``leftovers``). Only what has the
name of a file of ours is ever touched, and never in the directory of a writer that is there. The
directories and their locks stay: who removes a lock may let two in.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from checkpoint_runtime.errors import CheckpointRuntimeError, WorkspaceInUseError
from checkpoint_runtime.exclusion.lock import FILE_NAME as LOCK_NAME
from checkpoint_runtime.exclusion.lock import WorkspaceLock
from checkpoint_runtime.extract.errors import StagingError
from checkpoint_runtime.state.unshared import close_unshared, open_unshared
from checkpoint_runtime.texts import counted

PROGRESS_NAME: Final = "progress.json"
_SHARD: Final = re.compile(r"shard-\d+-of-\d+")
_FINAL: Final = re.compile(r"([0-9a-f]{16,})\.safetensors")
_PART: Final = re.compile(r"\.[0-9a-f]{16,}\.part|\.progress\.json\.spare")


def final_name(key: str) -> str:
    """Of a whole file."""
    return f"{key}.safetensors"


def part_name(key: str) -> str:
    """Of one that is being written."""
    return f".{key}.part"


class ShardFolder:
    """Held by one worker, as a context manager; without parts of files when it is entered."""

    def __init__(self, staging: Path, shard: str, note: Callable[[str], None]) -> None:
        """
        :param shard: ``shard-0-of-2``.
        :param note: told what was removed of others, what stays, and what could not be removed.
        """
        self.path = staging / shard
        self._staging = staging
        self._note = note
        self._lock = WorkspaceLock(self.path, note)

    def __enter__(self) -> Self:
        """
        :raises WorkspaceInUseError: another worker has this shard here.
        :raises StagingError: the directory cannot be made, or locked.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StagingError(
                f"the staging {self.path} cannot be made: {error.strerror}."
            ) from error
        try:
            self._lock.__enter__()
        except WorkspaceInUseError:
            raise
        except CheckpointRuntimeError as error:
            raise StagingError(str(error)) from error
        try:
            self._remove(self.path, lambda name: _is_part(name) or name == PROGRESS_NAME)
            for folder in self._others():
                # How far that one came may still be wanted.
                self._remove(folder, _is_part)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._remove(self.path, _is_part)
        if left := self._staged():
            files = counted(len(left), "staged file")
            self._note(f"{self.path}: {files} left for the next start, which takes them up")
        self._lock.__exit__(kind, error, traceback)

    def take_up(self, own: Collection[str], others: Collection[str]) -> frozenset[str]:
        """The keys of those of its batches that have a file here now: nobody has looked into it.

        :param own: keys of the batches that this worker has to do.
        :param others: of those that other shards have to do.
        """
        own = frozenset(own)
        wanted = own.union(others)
        self._remove(self.path, lambda name: _is_final(name) and _key_in(name) not in own)
        for folder in self._others():
            self._each(folder, lambda name: _key_in(name) in own, self._move)
            self._remove(folder, lambda name: _is_final(name) and _key_in(name) not in wanted)
        return self._staged()

    def clear(self) -> bool:
        """Remove what writers that are gone have staged for their next start: whether any was."""
        return sum(self._remove(folder, _is_final) for folder in self._others()) > 0

    def _staged(self) -> frozenset[str]:
        return frozenset(
            _key_in(name)
            for name in self._names_in(self.path)
            if _is_final(name) and _is(self.path / name, stat.S_ISREG)
        )

    def _others(self) -> list[Path]:
        folders = [self._staging / name for name in self._names_in(self._staging)]
        return [
            folder
            for folder in folders
            if _SHARD.fullmatch(folder.name) and folder != self.path and _is(folder, stat.S_ISDIR)
        ]

    def _remove(self, folder: Path, picked: Callable[[str], bool]) -> int:
        removed = self._each(folder, picked, Path.unlink)
        if removed and folder != self.path:
            files = counted(removed, "staged file")
            self._note(f"{folder}: removed {files} of a writer that is gone")
        return removed

    def _move(self, path: Path) -> None:
        path.rename(self.path / path.name)
        self._note(f"{path}: taken from a writer that is gone")

    def _each(
        self, folder: Path, picked: Callable[[str], bool], act: Callable[[Path], None]
    ) -> int:
        """With how many files it was done.

        :param picked: by their names.
        """
        done = 0
        for name in self._names_in(folder):
            path = folder / name
            if not picked(name) or not _is(path, stat.S_ISREG):
                continue
            try:
                if folder == self.path:
                    act(path)
                else:
                    # One at a time: a worker that starts there meanwhile has to wait for no more.
                    with _unless_held(folder) as free:
                        if not free:
                            break
                        act(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._note(f"{path} of a writer that is gone stays as it is: {error.strerror}")
                continue
            done += 1
        return done

    def _names_in(self, folder: Path) -> list[str]:
        try:
            return sorted(os.listdir(folder))
        except OSError as error:
            self._note(f"{folder} could not be looked into, and is not swept: {error.strerror}")
            return []


def _key_in(name: str) -> str:
    """The batch's; empty: it is no whole file's."""
    found = _FINAL.fullmatch(name)
    return found[1] if found else ""


def _is_final(name: str) -> bool:
    return bool(_key_in(name))


def _is_part(name: str) -> bool:
    return _PART.fullmatch(name) is not None


@contextmanager
def _unless_held(folder: Path) -> Iterator[bool]:
    """Whether nobody works there; who comes meanwhile waits until this is left."""
    path = folder / LOCK_NAME
    try:
        # It is not made: a directory without one is none that a worker has had.
        descriptor = open_unshared(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # held, or there are no locks here: then nothing is known
            yield False
            return
        ours, named = os.fstat(descriptor), os.stat(path, follow_symlinks=False)
        yield (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
    finally:
        close_unshared(descriptor)


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except OSError:
        return False
