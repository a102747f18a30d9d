"""The directory of one worker in the staging: its own, by a lock, and swept when it starts.

Several workers share a staging: each has a directory, ``shard-I-of-N``, and holds the lock in it.
What a killed writer left there is of no use, since the staging is believed by nobody: it is removed
by the next one of that shard, and by any other once the lock is free. Only what has the name of a
file of ours is ever removed, and never in the directory of a writer that is there. The directories
and their locks stay: who removes a lock may let two in.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
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
_OURS: Final = re.compile(
    r"[0-9a-f]{16,}\.safetensors|\.[0-9a-f]{16,}\.part|progress\.json|\.progress\.json\.spare"
)


def final_name(key: str) -> str:
    """Of a whole file."""
    return f"{key}.safetensors"


def part_name(key: str) -> str:
    """Of one that is being written."""
    return f".{key}.part"


class ShardFolder:
    """Held by one worker, as a context manager; empty when it is entered."""

    def __init__(self, staging: Path, shard: str, note: Callable[[str], None]) -> None:
        """
        :param shard: ``shard-0-of-2``.
        :param note: told what was swept, and what could not be.
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
            self._sweep()
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
        # A tmpfs is memory: what is not stored by now is extracted again in any case.
        _swept(self.path, own=True, note=self._note, keep=PROGRESS_NAME)
        self._lock.__exit__(kind, error, traceback)

    def _sweep(self) -> None:
        for name in _names_in(self._staging, self._note):
            folder = self._staging / name
            if _SHARD.fullmatch(name) and _is(folder, stat.S_ISDIR):
                own = folder == self.path
                # How far another one came may still be wanted.
                keep = None if own else PROGRESS_NAME
                removed = _swept(folder, own=own, note=self._note, keep=keep)
                if removed and not own:
                    files = counted(removed, "staged file")
                    self._note(f"{folder}: removed {files} of a writer that is gone")


def _swept(folder: Path, *, own: bool, note: Callable[[str], None], keep: str | None = None) -> int:
    """How many files were removed."""
    removed = 0
    for name in _names_in(folder, note):
        path = folder / name
        if name == keep or not _OURS.fullmatch(name) or not _is(path, stat.S_ISREG):
            continue
        try:
            if own:
                path.unlink()
            else:
                # One at a time: a worker that starts there meanwhile has to wait for no more.
                with _unless_held(folder) as free:
                    if not free:
                        return removed
                    path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            note(f"{path} of a writer that is gone could not be removed: {error.strerror}")
            continue
        removed += 1
    return removed


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


def _names_in(folder: Path, note: Callable[[str], None]) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        note(f"{folder} could not be looked into, and is not swept: {error.strerror}")
        return []


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except OSError:
        return False
