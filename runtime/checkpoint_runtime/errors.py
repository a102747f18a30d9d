"""What the runtime refuses, each with a sentence that says what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path


class CheckpointRuntimeError(Exception):
    """Base of the runtime's own errors. What a stage raises comes out as it is."""


class DefinitionError(CheckpointRuntimeError):
    """The pipeline itself is wrong: no stages, a stage without a usable name, a name twice."""


class WorkspaceError(CheckpointRuntimeError):
    """The workspace is not a directory that can be used."""


class EventsError(CheckpointRuntimeError):
    """The file named by ``CHECKPOINT_EVENTS`` cannot be written."""


class StageValueError(CheckpointRuntimeError):
    """A stage returned something that a resume could not give back unchanged."""

    def __init__(self, stage: str, where: str, problem: str) -> None:
        super().__init__(
            f"stage {stage!r} returned a value that cannot be kept: {where} {problem}. "
            "Return JSON: dict with str keys, list, str, int, finite float, bool or None."
        )
        self.stage = stage
        self.where = where
        """The place within the value: ``value['frames'][2]``."""
        self.problem = problem


class StateError(CheckpointRuntimeError):
    """Base of what can be wrong with a state log. Nothing of the file has been changed."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        place = f"{path}, line {line}" if line else str(path)
        super().__init__(f"{place}: {problem}")
        self.path = path
        self.line = line
        """Counts from 1; 0 where the file as a whole is meant."""
        self.problem = problem


class DamagedStateError(StateError):
    """The log holds something that no crash leaves behind."""


class ForeignStateError(StateError):
    """The log was written by another pipeline, another version, or other stages."""


class UnwritableStateError(StateError):
    """The log cannot be opened or appended to: what was to be committed is not."""
