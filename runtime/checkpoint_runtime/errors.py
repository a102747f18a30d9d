"""What the runtime refuses, each with a sentence that says what is wrong and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from checkpoint_runtime.texts import ended, told


class CheckpointRuntimeError(Exception):
    """Base of the runtime's own errors."""


class DefinitionError(CheckpointRuntimeError):
    """The pipeline itself is wrong: no stages, a stage without a usable name, a name twice."""


class ContextError(DefinitionError, KeyError):
    """A stage asked its context for what it does not name as an input. Tried again, it would again.

    A KeyError too: ``context.get(name)`` gives None.
    """

    def __str__(self) -> str:
        return str(self.args[0])


class WorkspaceError(CheckpointRuntimeError):
    """The workspace is not a directory that can be used, or there is no state in it."""


class WorkspaceInUseError(WorkspaceError):
    """Another run is at work in the workspace: nothing was run, and nothing has been changed."""

    def __init__(self, path: Path, holder: str | None, *, pid: int | None) -> None:
        """
        :param path: of the lock.
        :param holder: who holds it, in words; None: this process itself.
        """
        if holder is None:
            happened = (
                "another run of this process is at work here: a stage cannot run its own pipeline "
                "in its own workspace."
            )
        else:
            happened = (
                f"the workspace is in use by {holder}. Nothing was run: wait until that run ends, "
                "or end it. The lock is free the moment its process is gone; to remove the file "
                "is of no use."
            )
        super().__init__(f"{path}: {happened}")
        self.path = path
        self.pid = pid
        """Of the process that holds it, as it says itself; None: it has not said so."""


class EnvironmentVariableError(CheckpointRuntimeError):
    """``CHECKPOINT_EVENTS`` names a file that cannot be written, or another variable is wrong."""


class StageError(CheckpointRuntimeError):
    """Base of what ends a run at a stage."""

    used_up = False
    """Whether it has no attempts left."""

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
        super().__init__(stage, ended(f"stage {stage!r} {what}: {where} {problem}"))
        self.where = where
        """The place within the value: ``value['frames'][2]``."""
        self.problem = problem


class StageFailedError(StageError):
    """A stage raised: the cause is the exception. What was done before it is kept."""

    def __init__(
        self,
        stage: str,
        error: str,
        *,
        tried: int,
        attempts: int,
        rerun: str,
        item: str | None = None,
        where: str | None = None,
        kept_going: bool = False,
    ) -> None:
        """
        :param rerun: what clears it, once its attempts are used up.
        :param kept_going: stages that are not built on it were run all the same.
        """
        self.used_up = tried >= attempts
        if self.used_up:
            ahead = f"{used_up_words(attempts)}: see to the cause, then clear it: {rerun}"
        else:
            ahead = f"resume tries it again ({tried} of {attempts} attempts used)."
        happened = ended(f"stage {stage!r} failed: {told(error, item, where)}")
        behind = "Nothing that is built on it ran" if kept_going else "Nothing after it ran"
        super().__init__(stage, f"{happened} {behind}; {ahead}")
        self.error = error
        """Kind and text of the exception."""
        self.item = item
        """``embed[3]``: the item of a mapped stage that raised."""
        self.where = where
        """``film.py:33 in embed``: the last line of the stage's own code."""
        self.tried = tried
        """Attempts made in all, deaths among them."""
        self.attempts = attempts
        """The budget."""


class FailedBeforeError(StageError):
    """``run`` met a stage that had failed in an earlier run; ``resume`` would try it again."""

    def __init__(
        self, stage: str, error: str, *, item: str | None = None, where: str | None = None
    ) -> None:
        super().__init__(
            stage,
            f"{ended(f'stage {stage!r} has failed: {told(error, item, where)}')} Nothing was run: "
            "resume tries it again, and skips what is done.",
        )
        self.error = error
        self.item = item
        self.where = where


class PoisonedStageError(StageError):
    """A stage has used up its attempts, by exceptions or by deaths: it was not begun again."""

    used_up = True

    def __init__(
        self,
        stage: str,
        *,
        attempts: int,
        last_error: str | None,
        rerun: str,
        item: str | None = None,
        where: str | None = None,
    ) -> None:
        """
        :param rerun: what clears it.
        """
        last = (
            f"the last error: {told(last_error, item, where)}"
            if last_error is not None
            else NEVER_RAISED
        )
        times = "once" if attempts == 1 else f"{attempts} times"
        super().__init__(
            stage,
            f"{ended(f'stage {stage!r} was begun {times} and never finished; {last}')} It is not "
            f"tried again by itself. See to the cause, then clear it: {rerun}",
        )
        self.attempts = attempts
        self.last_error = last_error
        self.item = item
        self.where = where


NEVER_RAISED = "it never raised: the process died each time (killed, out of memory?)"


def used_up_words(attempts: int) -> str:
    return (
        "its only attempt is used up" if attempts == 1 else f"its {attempts} attempts are used up"
    )


class ChangedPipelineError(CheckpointRuntimeError):
    """What is recorded as done was done by another pipeline than this one: nothing was run."""

    def __init__(
        self, path: Path, changes: Sequence[str], *, gone: Sequence[str], rerun_from: str | None
    ) -> None:
        """
        :param gone: what is recorded, and is no stage now.
        :param rerun_from: the stage from which all that has changed can be run again, if one is.
        """
        shown = "; ".join(changes[:5])
        if len(changes) > 5:
            shown += f"; and {len(changes) - 5} more"
        super().__init__(
            f"{path}: the pipeline has changed since: {shown}. Nothing was run. "
            f"{_ways_on(gone, rerun_from)}"
        )
        self.path = path
        self.changes = tuple(changes)
        """A sentence without a full stop each."""
        self.rerun_from = rerun_from


def _ways_on(gone: Sequence[str], rerun_from: str | None) -> str:
    accept = "--accept-changed, accept_changed=True"
    if gone:
        names = ", ".join(map(repr, gone[:5])) + (" …" if len(gone) > 5 else "")
        return (
            f"Take the change back, or keep the rest as it is done and drop what is recorded of "
            f"{names} ({accept})."
        )
    keep = f"keep what is done as it is ({accept})"
    if rerun_from is not None:
        return (
            f"Run the changed part again (--rerun-from {shlex.quote(rerun_from)}, "
            f"rerun_from={rerun_from!r}), or {keep}."
        )
    return f"No one stage has all of that built on it: {keep}, or take another workspace."


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


class TakenOverError(CommitError):
    """A newer run has taken the workspace over: nothing of this one is recorded any more."""

    def __init__(self, path: Path, holder: str) -> None:
        """
        :param holder: the process that began last, in words.
        """
        super().__init__(
            path,
            "cannot append: another run has begun here since this one did, and has taken the "
            f"workspace over ({holder}). Nothing of this run is recorded from here on: it ends. "
            "Was the file `lock` removed?",
        )
        self.holder = holder
