"""What the runtime refuses, each with a sentence that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class CheckpointRuntimeError(Exception):
    """Base of the runtime's own errors."""


class DefinitionError(CheckpointRuntimeError):
    """The pipeline itself is wrong: no stages, a stage without a usable name, a name twice."""


class WorkspaceError(CheckpointRuntimeError):
    """The workspace is not a directory that can be used, or there is no state in it."""


class EnvironmentVariableError(CheckpointRuntimeError):
    """``CHECKPOINT_EVENTS`` names a file that cannot be written, or another variable is wrong."""


class StageError(CheckpointRuntimeError):
    """Base of what ends a run at a stage."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage


class StageValueError(StageError):
    """A stage returned something, or maps items, that a resume could not give back unchanged."""

    def __init__(self, stage: str, where: str, problem: str, *, given: bool = False) -> None:
        what = (
            "was given items that cannot be kept"
            if given
            else "returned a value that cannot be kept"
        )
        super().__init__(stage, f"stage {stage!r} {what}: {where} {problem}.")
        self.where = where
        """The place within the value: ``value['frames'][2]``."""
        self.problem = problem


class StageFailedError(StageError):
    """A stage raised: the cause is the exception. What was done before it is kept."""

    def __init__(self, stage: str, error: str, *, tried: int, attempts: int) -> None:
        left = attempts - tried
        if left > 0:
            ahead = f"resume tries it again ({tried} of {attempts} attempts used)."
        else:
            ahead = f"its {attempts} attempts are used up: see to the cause, then rerun it."
        super().__init__(stage, f"stage {stage!r} failed: {error}. Nothing after it ran; {ahead}")
        self.error = error
        self.tried = tried
        """Attempts made in all, deaths among them."""
        self.attempts = attempts
        """The budget."""


class FailedBeforeError(StageError):
    """``run`` met a stage that had failed in an earlier run; ``resume`` would try it again."""

    def __init__(self, stage: str, error: str) -> None:
        super().__init__(
            stage,
            f"stage {stage!r} has failed: {error}. Nothing was run: resume tries it again, "
            "and skips what is done.",
        )
        self.error = error


class PoisonedStageError(StageError):
    """A stage has used up its attempts, by exceptions or by deaths: nothing was run."""

    def __init__(self, stage: str, *, attempts: int, last_error: str | None) -> None:
        last = (
            f"the last error: {last_error}"
            if last_error is not None
            else "it never raised: the process died each time (killed, out of memory?)"
        )
        super().__init__(
            stage,
            f"stage {stage!r} was begun {attempts} times and never finished; {last}. It is not "
            f"tried again by itself. See to the cause, then clear it: checkpoint-runtime rerun "
            f"… {stage}, or pipeline.rerun(workspace, {stage!r}).",
        )
        self.attempts = attempts
        self.last_error = last_error


class ChangedPipelineError(CheckpointRuntimeError):
    """What is recorded as done was done by another pipeline than this one: nothing was run."""

    def __init__(self, path: Path, changes: Sequence[str]) -> None:
        shown = "; ".join(changes[:5])
        if len(changes) > 5:
            shown += f"; and {len(changes) - 5} more"
        super().__init__(
            f"{path}: the pipeline has changed since: {shown}. Nothing was run. Run the changed "
            "part again (--rerun-from STAGE, rerun_from=), or keep what is done as it is "
            "(--accept-changed, accept_changed=True)."
        )
        self.path = path
        self.changes = tuple(changes)
        """A sentence without a full stop each."""


class StateError(CheckpointRuntimeError):
    """Base of what can be wrong with the state on disk. Nothing of it has been changed."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        place = f"{path}, line {line}" if line else str(path)
        super().__init__(f"{place}: {problem}")
        self.path = path
        self.line = line
        """Counts from 1; 0 where the file as a whole is meant."""
        self.problem = problem


class DamagedStateError(StateError):
    """The state holds something that no crash leaves behind."""


class ForeignStateError(StateError):
    """The state was written by another pipeline, or by a newer version of the runtime."""


class CommitError(StateError):
    """Something could not be written or synced: it is not recorded, the state is as before."""

    def __init__(
        self, path: Path, problem: str, *, needed_bytes: int | None = None, free_bytes: int = 0
    ) -> None:
        super().__init__(path, 0, problem)
        self.needed_bytes = needed_bytes
        """What was to be written; None: it was not a matter of room."""
        self.free_bytes = free_bytes
        """What the file system had left for this user."""
