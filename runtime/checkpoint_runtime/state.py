"""The state log on disk: one commit holds both that a stage is done and what it returned."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from checkpoint_runtime import lines
from checkpoint_runtime.errors import UnwritableStateError

FILE_NAME = "state.log"


def read_state(workspace: Path, pipeline: str, stages: Sequence[str]) -> Mapping[str, str]:
    """The committed values by stage, encoded; empty if there is no log. Changes nothing."""
    path = workspace / FILE_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _cannot("read", path, error) from error
    return lines.parse(data, pipeline=pipeline, stages=stages, path=path).values


class StateLog:
    """The log of one pipeline in one workspace, open for appending.

    Opening makes durable what it found: a process that was killed between its write and its fsync
    left a line that can be read and could still be lost. Use it as a context manager.
    One process at a time: nothing here keeps a second one out.
    """

    def __init__(self, workspace: Path, pipeline: str, stages: Sequence[str]) -> None:
        """
        :raises DamagedStateError, ForeignStateError: as :func:`checkpoint_runtime.lines.parse`.
        :raises UnwritableStateError: the file cannot be opened, repaired or synced.
        """
        self._path = workspace / FILE_NAME
        self._values: dict[str, str] = {}
        self._size_bytes = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self._path, flags, 0o644)
        except OSError as error:
            raise _cannot("open", self._path, error) from error
        try:
            self._recover(pipeline, stages)
        except BaseException:
            self.close()
            raise

    @property
    def values(self) -> Mapping[str, str]:
        """Stage name → what it returned, encoded, in the order of commit."""
        return MappingProxyType(self._values)

    def commit(self, stage: str, encoded_value: str) -> None:
        """Record that the stage is done and what it returned; both are durable on return.

        :raises UnwritableStateError: neither is recorded. The log must not be used any further.
        """
        self._append(lines.record_line(stage, encoded_value))
        self._values[stage] = encoded_value

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
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

    def _recover(self, pipeline: str, stages: Sequence[str]) -> None:
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise _cannot("read", self._path, error) from error
        contents = lines.parse(data, pipeline=pipeline, stages=stages, path=self._path)
        self._values = contents.values
        self._size_bytes = contents.sound_bytes
        try:
            if len(data) > contents.sound_bytes:
                os.ftruncate(self._descriptor, contents.sound_bytes)
            os.fsync(self._descriptor)
            _sync_directory(self._path.parent)
        except OSError as error:
            raise _cannot("repair or sync", self._path, error) from error
        if contents.sound_bytes == 0:
            self._append(lines.header_line(pipeline))

    def _append(self, line: bytes) -> None:
        try:
            _write_all(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            refusal = _cannot("append to", self._path, error)
            self._retract(refusal)
            raise refusal from error
        self._size_bytes += len(line)

    def _retract(self, refusal: UnwritableStateError) -> None:
        # After a failed fsync a whole line may stand in the file that will never reach the disk:
        # the next run must not take it for done.
        try:
            os.ftruncate(self._descriptor, self._size_bytes)
            os.fsync(self._descriptor)
        except OSError as error:
            refusal.add_note(
                f"what was written of it could not be taken back either: {error.strerror}"
            )


def _write_all(descriptor: int, data: bytes) -> None:
    # One write, unless the kernel takes only a part (beyond 2 GiB, or shortly before ENOSPC).
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot(verb: str, path: Path, error: OSError) -> UnwritableStateError:
    return UnwritableStateError(path, 0, f"cannot {verb} the state log: {error.strerror}")
