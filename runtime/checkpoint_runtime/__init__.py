"""A small production runtime for jobs that must resume.

>>> from checkpoint_runtime import Pipeline
>>> film = Pipeline("film")
>>> @film.stage
... def research(context):
...     return {"frames": 3}
"""

from checkpoint_runtime.context import Context, Results
from checkpoint_runtime.errors import (
    ChangedPipelineError,
    CheckpointRuntimeError,
    CommitError,
    ContextError,
    DamagedStateError,
    DefinitionError,
    EnvironmentVariableError,
    FailedBeforeError,
    ForeignStateError,
    PoisonedStageError,
    StageError,
    StageFailedError,
    StageValueError,
    StateError,
    WorkspaceError,
)
from checkpoint_runtime.pipeline import Pipeline
from checkpoint_runtime.preemption import Preempted
from checkpoint_runtime.progress import FailedAttempt, Progress
from checkpoint_runtime.status import StageState, StageStatus, Status

__all__ = [
    "ChangedPipelineError",
    "CheckpointRuntimeError",
    "CommitError",
    "Context",
    "ContextError",
    "DamagedStateError",
    "DefinitionError",
    "EnvironmentVariableError",
    "FailedAttempt",
    "FailedBeforeError",
    "ForeignStateError",
    "Pipeline",
    "PoisonedStageError",
    "Preempted",
    "Progress",
    "Results",
    "StageError",
    "StageFailedError",
    "StageState",
    "StageStatus",
    "StageValueError",
    "StateError",
    "Status",
    "WorkspaceError",
]
