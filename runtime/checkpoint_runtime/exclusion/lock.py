"""The lock of a workspace: held by one process at a time, and free the moment that one is gone.

``WORKSPACE/lock`` is locked by ``flock``, which the kernel keeps: a process that is gone, however
it went, holds nothing, and one that is there is never robbed, whatever the file says. So a lock is
never waited for, and never broken. Within one process it tells two runs apart, too.

The file is never removed: two processes could then hold two files of one name. If somebody else
removes it while a run is at work, the next run finds a new file, and is let in: from then on the
state log keeps the older run out (:mod:`checkpoint_runtime.state.log`).

What stands in the file, an :class:`~checkpoint_runtime.exclusion.owner.Owner`, is information only:
it is written after the lock is had and taken out before it is given back. A late write of it, by a
run whose file was removed, goes into that removed file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from checkpoint_runtime.errors import WorkspaceError, WorkspaceInUseError
from checkpoint_runtime.exclusion.owner import LONGEST_BYTES, Owner, may_be_replaced, owner_in
from checkpoint_runtime.state.durable import NOT_WRITABLE, commit_error
from checkpoint_runtime.state.unshared import close_unshared, open_unshared

FILE_NAME: Final = "lock"

_TELLS_WITHIN_S = 1.0
"""How long a holder may take from the lock to its record: some microseconds, if it is not stopped.
As long is looked for one, at most, by a run that is refused anyway."""
_LOOKS_EVERY_S = 0.005
_NO_LOCKS = frozenset(
    {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.EBADF}
)


class WorkspaceLock:
    """Holds a workspace for one run, as a context manager."""

    def __init__(self, workspace: Path, note: Callable[[str], None]) -> None:
        """
        :param note: told if who holds it cannot be written there; that is no reason not to run.
        """
        self.path = workspace / FILE_NAME
        self._note = note
        self._descriptor = -1
        self._process = os.getpid()
        self._told = False

    def __enter__(self) -> Self:
        """
        :raises WorkspaceInUseError: another run holds it.
        :raises WorkspaceError: it cannot be locked; nothing was run.
        :raises CommitError: the file cannot be made.
        """
        deadline = time.monotonic() + _TELLS_WITHIN_S
        while not self._had():
            owner = self._owner()
            late = time.monotonic() >= deadline
            if late or (owner is not None and owner.is_plausible):
                raise _in_use(self.path, owner)
            # It has only just been locked, or was just given back or replaced: no event tells that.
            select.select([], [], [], _LOOKS_EVERY_S)
        try:
            self._tell()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A child that the run forked has no part in it.
        if os.getpid() == self._process:
            try:
                self._untell()
            finally:
                self._close()

    def _had(self) -> bool:
        """Whether the lock is ours now; if so, of the file that has the name."""
        self._descriptor = self._opened()
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._has_the_name():
                return True
        except BlockingIOError:
            self._close()
            return False
        except OSError as error:
            self._close()
            raise self._not_lockable(error) from error
        except BaseException:
            self._close()
            raise
        self._close()
        return False

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            try:
                descriptor = open_unshared(self.path, flags)
            except OSError as error:
                if error.errno not in NOT_WRITABLE or not self.path.exists():
                    raise
                # Somebody else's: it can be locked all the same, and only not be written.
                descriptor = open_unshared(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in NOT_WRITABLE:
                raise commit_error("open", self.path, error, 0) from error
            raise self._unusable(f"cannot be opened: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            close_unshared(descriptor)
            raise self._unusable("is no ordinary file")
        return descriptor

    def _has_the_name(self) -> bool:
        ours = os.fstat(self._descriptor)
        try:
            named = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)

    def _owner(self) -> Owner | None:
        """Who says that it holds the lock."""
        try:
            with self.path.open("rb") as file:
                return owner_in(file.read(LONGEST_BYTES))
        except OSError:
            return None  # it is held, whoever it is

    def _tell(self) -> None:
        line = Owner.this_process().line()
        try:
            content = os.pread(self._descriptor, LONGEST_BYTES, 0)
            if not may_be_replaced(content):
                self._note(
                    f"{self.path} holds something that is not ours: it is left as it is. Who comes "
                    "second is not told who is at work here."
                )
                return
            self._told = True
            os.pwrite(self._descriptor, line, 0)
            if len(content) > len(line):
                os.ftruncate(self._descriptor, len(line))
        except OSError as error:
            self._note(
                f"{self.path}: who is at work here could not be written there: {error.strerror}. "
                "The workspace is locked all the same."
            )

    def _untell(self) -> None:
        if not self._told:
            return
        try:
            os.ftruncate(self._descriptor, 0)
        except OSError:
            return  # who reads it then finds no such process, or no lock

    def _close(self) -> None:
        close_unshared(self._descriptor)
        self._descriptor = -1

    def _not_lockable(self, error: OSError) -> WorkspaceError:
        if error.errno in _NO_LOCKS:
            return self._unusable(
                f"cannot be locked: {error.strerror}. The file system here has no locks (flock), "
                "and without one two runs could work here at once. Take a workspace on another "
                "one, or have it mounted with locks"
            )
        return self._unusable(f"cannot be locked: {error.strerror}")

    def _unusable(self, problem: str) -> WorkspaceError:
        return WorkspaceError(f"{self.path} {problem}. Nothing was run.")


def _in_use(path: Path, owner: Owner | None) -> WorkspaceInUseError:
    if owner is None:
        return WorkspaceInUseError(path, "a process that has not said who it is", pid=None)
    if owner.is_this_process:
        return WorkspaceInUseError(path, None, pid=owner.pid)
    words = owner.words()
    if not owner.is_plausible:
        words = f"a process that cannot be seen from here; the last one to say so was {words}"
    return WorkspaceInUseError(path, words, pid=owner.pid)
