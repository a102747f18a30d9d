"""A small production runtime for jobs that must resume.

>>> from checkpoint_runtime import Pipeline
>>> film = Pipeline("film")
>>> @film.stage
... def research(context):
...     return {"frames": 3}
"""

from checkpoint_runtime.context import Context, Results
from checkpoint_runtime.effects.errors import (
    EffectNotSent,
    EffectOutcomeError,
    EffectUncertainError,
)
from checkpoint_runtime.effects.view import EffectStatus, PipelineEffects
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
    TakenOverError,
    WorkspaceError,
    WorkspaceInUseError,
)
from checkpoint_runtime.liveness import Heartbeat
from checkpoint_runtime.pipeline import Pipeline
from checkpoint_runtime.preemption import Preempted
from checkpoint_runtime.progress import FailedAttempt, Progress
from checkpoint_runtime.state.effect_records import EffectState
from checkpoint_runtime.status import StageState, StageStatus, Status

__all__ = [
    "ChangedPipelineError",
    "CheckpointRuntimeError",
    "CommitError",
    "Context",
    "ContextError",
    "DamagedStateError",
    "DefinitionError",
    "EffectNotSent",
    "EffectOutcomeError",
    "EffectState",
    "EffectStatus",
    "EffectUncertainError",
    "EnvironmentVariableError",
    "FailedAttempt",
    "FailedBeforeError",
    "ForeignStateError",
    "Heartbeat",
    "Pipeline",
    "PipelineEffects",
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
    "TakenOverError",
    "WorkspaceError",
    "WorkspaceInUseError",
]
