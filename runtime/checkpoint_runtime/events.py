"""Tell whoever watches what happens: a line per event, in the file named by CHECKPOINT_EVENTS.

Without that variable nothing is written. A line is one ``write`` to a descriptor in append mode, so
lines of several processes never mix. ``done NAME`` is an acknowledgement: it may be sent only when
what it names will survive every crash.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from checkpoint_runtime.errors import EnvironmentVariableError

VARIABLE = "CHECKPOINT_EVENTS"


class EventFile:
    """The open events file, or nothing at all if there is none: then every line is dropped."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._descriptor: int | None = None
        if path:
            try:
                self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            except OSError as error:
                raise EnvironmentVariableError(
                    f"{VARIABLE} names {path}, which cannot be opened: {error.strerror}"
                ) from error

    @classmethod
    def from_environment(cls) -> Self:
        return cls(os.environ.get(VARIABLE))

    @property
    def wanted(self) -> bool:
        """Whether anybody listens: what is costly to find out need not be, otherwise."""
        return self._descriptor is not None

    def start(self, stage: str) -> None:
        self._append(f"start {stage}\n")

    def input(self, stage: str, sha256: str) -> None:
        """What the stage is about to see, as a digest that two runs can be compared by."""
        self._append(f"input {stage} {sha256}\n")

    def done(self, stage: str) -> None:
        self._append(f"done {stage}\n")

    def fail(self, stage: str) -> None:
        self._append(f"fail {stage}\n")

    def _append(self, line: str) -> None:
        if self._descriptor is None:
            return
        data = line.encode()
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            raise EnvironmentVariableError(
                f"cannot append to {self._path}: {error.strerror}"
            ) from error
        if written != len(data):
            raise EnvironmentVariableError(
                f"only {written} of {len(data)} bytes went into {self._path}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
