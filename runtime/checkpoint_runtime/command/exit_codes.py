"""What the exit codes of ``checkpoint-runtime`` mean."""

from __future__ import annotations

import enum

from checkpoint_runtime.effects.errors import EffectOutcomeError, EffectUncertainError
from checkpoint_runtime.errors import (
    ChangedPipelineError,
    CheckpointRuntimeError,
    CommitError,
    StageError,
    StateError,
    TakenOverError,
    WorkspaceInUseError,
)
from checkpoint_runtime.extract.errors import (
    ChangedDatasetError,
    MarkerError,
    MarkerNotWrittenError,
    NotFiniteError,
    StagingError,
    StoreError,
)
from checkpoint_runtime.preemption import EXIT_PREEMPTED


class ExitCode(enum.IntEnum):
    """``.meaning`` is what the help says."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    DONE = 0, "every stage is done"
    STAGE_FAILED = 1, "a stage failed, now or before: resume tries it again"
    USAGE = 2, "the command line, the pipeline or the environment is wrong"
    STATE_REFUSED = 3, "the state is damaged, another pipeline's, or of a changed pipeline"
    POISONED = 4, "a stage has used up its attempts, now or before: see to the cause, then rerun it"
    NOT_WRITTEN = 5, "something could not be written (a full disk?): the state is as before"
    UNFINISHED = 6, "status only: something is not done yet, and nothing failed"
    IN_USE = 7, "another run is at work in the workspace: nothing was run, or nothing more is"
    UNSETTLED = 8, "an effect may or may not have happened: find out, then say so (effects settle)"
    DIFFERS = 9, "reconcile only: the store and the markers differ (--dry-run), or still do"
    STALE = 10, "watch only: a worker is stale, frozen or gone without having said so"
    STALLED = 11, "watch only: a worker beats, and gets nowhere (and none is stale)"
    WAITING = 12, "watch only: no worker has beaten yet"
    RESTARTS_USED_UP = (
        13,
        "watch only: started again as often as may be, and stale or stalled again",
    )
    PREEMPTED = (
        EXIT_PREEMPTED,
        "preempted (SIGTERM, SIGUSR1, Ctrl-C): what is done is kept, resume goes on",
    )
    INTERRUPTED = 130, "watch only: it was told to end, by Ctrl-C or SIGTERM"


_OF_ERRORS: tuple[tuple[type[CheckpointRuntimeError], ExitCode], ...] = (
    (EffectUncertainError, ExitCode.UNSETTLED),
    (EffectOutcomeError, ExitCode.UNSETTLED),
    (StageError, ExitCode.STAGE_FAILED),
    (TakenOverError, ExitCode.IN_USE),
    (CommitError, ExitCode.NOT_WRITTEN),
    (StateError, ExitCode.STATE_REFUSED),
    (ChangedPipelineError, ExitCode.STATE_REFUSED),
    (WorkspaceInUseError, ExitCode.IN_USE),
    (StoreError, ExitCode.NOT_WRITTEN),
    (StagingError, ExitCode.NOT_WRITTEN),
    (NotFiniteError, ExitCode.STAGE_FAILED),
    (MarkerNotWrittenError, ExitCode.NOT_WRITTEN),
    (MarkerError, ExitCode.STATE_REFUSED),
    (ChangedDatasetError, ExitCode.STATE_REFUSED),
)


def exit_code_of(error: CheckpointRuntimeError) -> ExitCode:
    """The first that fits."""
    if isinstance(error, StageError) and error.used_up:
        return ExitCode.POISONED
    for kind, code in _OF_ERRORS:
        if isinstance(error, kind):
            return code
    return ExitCode.USAGE
