"""The state log on disk: one append, synced once, holds both that a stage is done and its value."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from checkpoint_runtime.errors import StateError, WorkspaceError
from checkpoint_runtime.state import lines
from checkpoint_runtime.state.collector import paused_collector
from checkpoint_runtime.state.durable import NOT_WRITABLE, commit_error, sync_directory, write_all
from checkpoint_runtime.state.fresh import LOG_NAME, require_fresh
from checkpoint_runtime.state.records import History, Record, first_record, text_of

_open_here: set[tuple[int, int]] = set()
"""Device and inode of the logs that this process has open for appending."""


def read_history(workspace: Path, pipeline: str) -> History:
    """What the log says; an empty history if there is none. Changes nothing.

    :raises StateError: it cannot be read, is damaged, or is another pipeline's; there is none, and
        there must have been one.
    :raises WorkspaceError: it may not be read.
    """
    path = workspace / LOG_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise _unreadable(path, error) from error
    return _history(_parsed(data, path, pipeline), path, pipeline)


class StateLog:
    """The log of one pipeline in one workspace, open for appending.

    Opening makes durable what it found: a process that was killed between its write and its sync
    left a line that can be read and could still be lost. Use it as a context manager.
    One process at a time: nothing here keeps a second process out.
    """

    def __init__(self, workspace: Path, pipeline: str) -> None:
        """
        :raises StateError: the log cannot be opened or read, is damaged, or is another pipeline's;
            there is none, and there must have been one: nothing of it has been changed then.
        :raises WorkspaceError: it may not be read.
        :raises CommitError: it cannot be written, repaired or synced.
        """
        self.path = workspace / LOG_NAME
        self._size_bytes = 0
        self._checksum = 0
        self._process = os.getpid()
        self._identity: tuple[int, int] | None = None
        self._sound = True
        self.dropped: int | None = None
        """A last line with its newline, but another checksum, that was dropped: its number."""
        if not os.path.lexists(self.path):
            require_fresh(workspace)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self.path, flags, 0o644)
        except OSError as error:
            if error.errno in NOT_WRITABLE and _may_read(self.path):
                raise commit_error("open", self.path, error, 0) from error
            raise _unreadable(self.path, error) from error
        try:
            self._identity = self._claimed()
            self.history = self._recovered(pipeline)
        except BaseException:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        """Whether it is known what the file holds, and this process may add to it."""
        return self._sound and os.getpid() == self._process

    def append(self, record: Record, **encoded: str) -> None:
        """Add a record; it is durable on return, and :attr:`history` knows it.

        :param encoded: parts of the record that are JSON already.
        :raises CommitError: it is not recorded. After a failed sync the log takes no further
            record: what that left behind is known only when the file is read again.
        """
        line, checksum = lines.framed(text_of(record, **encoded), self._checksum)
        if not self._sound:
            error = OSError("an earlier write of this process failed or was interrupted")
            raise commit_error("append", self.path, error, len(line))
        if os.getpid() != self._process:
            error = OSError("this is a child of the process that runs the pipeline")
            raise commit_error("append", self.path, error, len(line))
        self._require_untouched(len(line))
        self._sound = False  # until it is known how this ended; an interrupt can strike, too
        written = False
        try:
            write_all(self._descriptor, line)
            written = True
            # The size is part of what it takes to read the line: fdatasync writes that, too.
            os.fdatasync(self._descriptor)
        except OSError as error:
            refusal = commit_error("append", self.path, error, len(line))
            retracted = self._retract(refusal)
            # No sync has failed yet: the file is as before, and that is durable.
            self._sound = retracted and not written
            raise refusal from error
        self._size_bytes += len(line)
        self._checksum = checksum
        self.history.take(lines.parsed(line))
        self._sound = True

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            if self._identity is not None:
                _open_here.discard(self._identity)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _claimed(self) -> tuple[int, int]:
        # Two that append by turns would each go on from a checksum that is not the last any more.
        status = os.fstat(self._descriptor)
        identity = (status.st_dev, status.st_ino)
        if identity in _open_here:
            raise StateError(
                self.path,
                0,
                "another run of this process is at work here: a stage cannot run its own pipeline "
                "in its own workspace.",
            )
        _open_here.add(identity)
        return identity

    def _require_untouched(self, needed_bytes: int) -> None:
        """
        :raises CommitError: what would be added could not be found, or not be read, by a resume.
        """
        status = os.fstat(self._descriptor)
        problem = None
        if status.st_nlink == 0:
            problem = "it has been removed since this run began"
        elif status.st_size != self._size_bytes:
            problem = "something else has written to it since this run began: another process?"
        if problem is not None:
            raise commit_error("append", self.path, OSError(problem), needed_bytes)

    def _recovered(self, pipeline: str) -> History:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise _unreadable(self.path, error) from error
        found = _parsed(data, self.path, pipeline)
        history = _history(found, self.path, pipeline)
        self.dropped = history.lines + 1 if found.doubtful else None
        self._size_bytes, self._checksum = found.sound_bytes, found.checksum
        try:
            if len(data) > found.sound_bytes:
                os.ftruncate(self._descriptor, found.sound_bytes)
            os.fsync(self._descriptor)
            sync_directory(self.path.parent)
        except OSError as error:
            raise commit_error("repair or sync", self.path, error, 0) from error
        return history

    def _retract(self, refusal: Exception) -> bool:
        """Whether the file is as it was before the append, and that is durable."""
        # After a failed sync a whole line may stand in the file that will never reach the disk:
        # the next run must not take it for done.
        try:
            os.ftruncate(self._descriptor, self._size_bytes)
            os.fsync(self._descriptor)
        except OSError as error:
            refusal.add_note(
                f"what was written of it could not be taken back either: {error.strerror}"
            )
            return False
        return True


def _parsed(data: bytes, path: Path, pipeline: str) -> lines.Lines:
    first, _ = lines.framed(text_of(first_record(pipeline)), 0)
    return lines.parse(data, first, path)


def _history(found: lines.Lines, path: Path, pipeline: str) -> History:
    history = History(path, pipeline)
    if not found.bodies:
        require_fresh(path.parent)
    with paused_collector():
        for record in found.records():
            history.take(record)
    return history


def _may_read(path: Path) -> bool:
    return os.access(path if path.exists() else path.parent, os.R_OK)


def _unreadable(path: Path, error: OSError) -> StateError | WorkspaceError:
    problem = f"cannot be opened or read: {error.strerror}. Nothing was run."
    if isinstance(error, PermissionError):
        return WorkspaceError(f"{path}: {problem}")
    return StateError(path, 0, problem)
