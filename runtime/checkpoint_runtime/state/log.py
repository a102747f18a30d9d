"""The state log on disk: one append, synced once, holds both that a stage is done and its value."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from checkpoint_runtime.errors import (
    CommitError,
    StateError,
    WorkspaceError,
    WorkspaceInUseError,
)
from checkpoint_runtime.state import lines
from checkpoint_runtime.state.collector import paused_collector
from checkpoint_runtime.state.durable import NOT_WRITABLE, commit_error, sync_directory, write_all
from checkpoint_runtime.state.fresh import LOG_NAME, require_fresh
from checkpoint_runtime.state.ownership import alone, late_since, owner_record
from checkpoint_runtime.state.records import History, Record, first_record, text_of
from checkpoint_runtime.state.unshared import close_unshared, open_unshared


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


class NextLine(NamedTuple):
    """A line of a log that is still to be added to it."""

    data: bytes
    follows: int
    """The checksum of the line before it."""
    checksum: int
    record: Record
    """As it is read back."""


class StateLog:
    """The log of one pipeline in one workspace, open for appending.

    Opening makes durable what it found: a process that was killed between its write and its sync
    left a line that can be read and could still be lost. Use it as a context manager.
    With its first record a run takes the log over: whoever had it open before adds nothing any more
    (:mod:`checkpoint_runtime.state.ownership`).
    """

    def __init__(self, workspace: Path, pipeline: str) -> None:
        """
        :raises StateError: the log cannot be opened or read, is damaged, or is another pipeline's;
            there is none, and there must have been one: nothing of it has been changed then.
        :raises WorkspaceError: it may not be read, or another run is just writing to it.
        :raises CommitError: it cannot be written, repaired or synced.
        """
        self.path = workspace / LOG_NAME
        self._size_bytes = 0
        self._checksum = 0
        self._process = os.getpid()
        self._owns = False
        self._sound = True
        self.dropped: int | None = None
        """A last line with its newline, but another checksum, that was dropped: its number."""
        self.late: tuple[int, ...] = ()
        """Numbers of lines that a run left which had been taken over: they count for nothing."""
        if not os.path.lexists(self.path):
            require_fresh(workspace)
        try:
            self._descriptor = open_unshared(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            if error.errno in NOT_WRITABLE and _may_read(self.path):
                raise commit_error("open", self.path, error, 0) from error
            raise _unreadable(self.path, error) from error
        try:
            with alone(self._descriptor):
                self.history = self._recovered(pipeline)
        except BlockingIOError:
            self.close()
            holder = "a run that is just writing to its state, or was stopped in that"
            raise WorkspaceInUseError(self.path, holder, pid=None) from None
        except BaseException:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        """Whether it is known what the file holds, and this process may add to it."""
        return self._sound and os.getpid() == self._process

    @property
    def token(self) -> int:
        """Of this run: higher than that of each before it."""
        return self.history.owner if self._owns else self.history.owner + 1

    def own(self) -> None:
        """Take the log over now, unless that is done: before anything of an older run is removed.

        :raises CommitError: as :meth:`add`.
        """
        if not self._owns:
            self.append({"owner": owner_record(self.token)})

    def append(self, record: Record, **encoded: str) -> None:
        """Add a record; it is durable on return, and :attr:`history` knows it.

        :param encoded: parts of the record that are JSON already.
        :raises CommitError: as :meth:`add`.
        """
        self.add(self.next_line(record, **encoded))

    def next_line(self, record: Record, **encoded: str) -> NextLine:
        """The next line, for :meth:`add`, unless another one is added before. Changes nothing.

        :param encoded: parts of the record that are JSON already.
        """
        if not self._owns and self.history.lines > 0:  # the first line says that by itself
            record = {**record, "owner": owner_record(self.token)}
        data, checksum = lines.framed(text_of(record, **encoded), self._checksum)
        return NextLine(data, self._checksum, checksum, lines.parsed(data))

    def add(self, line: NextLine) -> None:
        """Add a line; it is durable on return, and :attr:`history` knows its record.

        :raises TakenOverError: a newer run is at work here. It is not recorded.
        :raises CommitError: it is not recorded. After a failed sync the log takes no further
            record: what that left behind is known only when the file is read again.
        """
        size_bytes = len(line.data)
        if not self._sound:
            error = OSError("an earlier write of this process failed or was interrupted")
            raise commit_error("append", self.path, error, size_bytes)
        if os.getpid() != self._process:
            error = OSError("this is a child of the process that runs the pipeline")
            raise commit_error("append", self.path, error, size_bytes)
        if line.follows != self._checksum:
            error = OSError("another line has been added since this one was made")
            raise commit_error("append", self.path, error, size_bytes)
        try:
            with alone(self._descriptor):
                self._require_owned(size_bytes)
                self._write(line.data)
        except BlockingIOError as busy:
            error = OSError("another run is just writing to it")
            raise commit_error("append", self.path, error, size_bytes) from busy
        self._size_bytes += size_bytes
        self._checksum = line.checksum
        self.history.take(line.record)
        self._sound = self._owns = True

    def _write(self, data: bytes) -> None:
        self._sound = False  # until it is known how this ended; an interrupt can strike, too
        written = False
        try:
            write_all(self._descriptor, data)
            written = True
            # The size is part of what it takes to read the line: fdatasync writes that, too.
            os.fdatasync(self._descriptor)
        except OSError as error:
            refusal = commit_error("append", self.path, error, len(data))
            retracted = self._retract(refusal, len(data))
            # No sync has failed yet: the file is as before, and that is durable.
            self._sound = retracted and not written
            raise refusal from error
        if os.lseek(self._descriptor, 0, os.SEEK_CUR) != self._size_bytes + len(data):
            raise CommitError(
                self.path,
                "something else has written to it at the same moment: another run, on a file "
                "system without locks? Whether this is recorded is known when it is read again.",
            )

    def close(self) -> None:
        if self._descriptor >= 0:
            close_unshared(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require_owned(self, needed_bytes: int) -> None:
        """
        :raises TakenOverError: a newer run has added something.
        :raises CommitError: what would be added could not be found, or not be read, by a resume.
        """
        status = os.fstat(self._descriptor)
        problem = None
        if status.st_nlink == 0:
            problem = "it has been removed since this run began"
        elif status.st_size != self._size_bytes and not self._skips_late(status.st_size):
            problem = "something else has written to it since this run began: another process?"
        if problem is not None:
            raise commit_error("append", self.path, OSError(problem), needed_bytes)

    def _skips_late(self, size_bytes: int) -> bool:
        """Whether what has been added is only what a run left that has been taken over."""
        if size_bytes < self._size_bytes:
            return False
        data = os.pread(self._descriptor, size_bytes, 0)
        late = late_since(data, self.path, self.history.lines, _first(self.history.pipeline))
        if late is None:
            return False
        self._size_bytes = size_bytes
        self.history.lines += late
        return True

    def _recovered(self, pipeline: str) -> History:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise _unreadable(self.path, error) from error
        found = _parsed(data, self.path, pipeline)
        history = _history(found, self.path, pipeline)
        self.late = found.late
        behind = sum(number > history.lines for number in found.late)
        self.dropped = history.lines + behind + 1 if found.doubtful else None
        self._size_bytes, self._checksum = found.sound_bytes, found.checksum
        try:
            if len(data) > found.sound_bytes:
                os.ftruncate(self._descriptor, found.sound_bytes)
            os.fsync(self._descriptor)
            sync_directory(self.path.parent)
        except OSError as error:
            raise commit_error("repair or sync", self.path, error, 0) from error
        return history

    def _retract(self, refusal: Exception, added_bytes: int) -> bool:
        """Whether the file is as it was before the append, and that is durable."""
        # After a failed sync a whole line may stand in the file that will never reach the disk:
        # the next run must not take it for done.
        try:
            if os.fstat(self._descriptor).st_size > self._size_bytes + added_bytes:
                refusal.add_note("something else has written to it: nothing was taken back.")
                return False
            os.ftruncate(self._descriptor, self._size_bytes)
            os.fsync(self._descriptor)
        except OSError as error:
            refusal.add_note(
                f"what was written of it could not be taken back either: {error.strerror}"
            )
            return False
        return True


def _parsed(data: bytes, path: Path, pipeline: str) -> lines.Lines:
    return lines.parse(data, _first(pipeline), path)


def _first(pipeline: str) -> bytes:
    return lines.framed(text_of(first_record(pipeline)), 0)[0]


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
