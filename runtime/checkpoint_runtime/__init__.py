"""A small production runtime for jobs that must resume.

>>> from checkpoint_runtime import Pipeline
>>> film = Pipeline("film")
>>> @film.stage
... def research(context):
...     return {"frames": 3}
"""

from checkpoint_runtime.context import Context
from checkpoint_runtime.errors import (
    CheckpointRuntimeError,
    DamagedStateError,
    DefinitionError,
    EventsError,
    ForeignStateError,
    StageValueError,
    StateError,
    UnwritableStateError,
    WorkspaceError,
)
from checkpoint_runtime.pipeline import Pipeline

__all__ = [
    "CheckpointRuntimeError",
    "Context",
    "DamagedStateError",
    "DefinitionError",
    "EventsError",
    "ForeignStateError",
    "Pipeline",
    "StageValueError",
    "StateError",
    "UnwritableStateError",
    "WorkspaceError",
]
