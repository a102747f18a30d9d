"""What stands in a workspace, stage by stage."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.fingerprints import unknown
from checkpoint_runtime.stages import Stages
from checkpoint_runtime.state.records import History


class StageState(enum.StrEnum):
    """Where one stage stands."""

    DONE = "done"
    FAILED = "failed"
    """Its last attempt raised; resume tries it again."""
    POISONED = "poisoned"
    """It has used up its attempts; only rerun tries it again."""
    BEGUN = "begun"
    """It was begun and is not done: it is running, or its process died."""
    PENDING = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStatus:
    """One stage."""

    name: str
    state: StageState
    after: tuple[str, ...]
    attempts: int
    """Made since it last got anywhere."""
    budget: int
    error: str | None
    """Of the last attempt, if that failed."""
    at: str | None
    """When it was done or failed: ISO 8601, UTC."""
    took_s: float | None
    """Of the attempt that did it."""
    items_done: int | None
    """Of a mapped stage."""
    digest: str | None
    """Of its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One pipeline in one workspace."""

    pipeline: str
    workspace: Path
    begun: bool
    """Whether there is a state at all."""
    stages: tuple[StageStatus, ...]
    unknown: tuple[str, ...]
    """Recorded as done, in part at least, and no stage of this pipeline."""

    @property
    def finished(self) -> bool:
        return all(stage.state is StageState.DONE for stage in self.stages)

    def count(self, state: StageState) -> int:
        return sum(stage.state is state for stage in self.stages)


def status_of(stages: Stages, history: History, workspace: Path) -> Status:
    """What a history says of these stages."""
    return Status(
        pipeline=history.pipeline,
        workspace=workspace,
        begun=history.lines > 0,
        stages=tuple(_stage(stages, name.name, history) for name in stages),
        unknown=tuple(unknown(stages, history)),
    )


def _stage(stages: Stages, name: str, history: History) -> StageStatus:
    stage = stages[name]
    done = history.done.get(name)
    failure = history.failures.get(name)
    attempts = history.attempts.get(name, 0)
    at = done.at if done else failure.at if failure else None
    return StageStatus(
        name=name,
        state=_state(
            done=done is not None, failed=failure is not None, attempts=attempts, of=stage.budget
        ),
        after=stage.after,
        attempts=attempts,
        budget=stage.budget,
        error=failure.error if failure else None,
        at=at,
        took_s=done.took_s if done else None,
        items_done=None if stage.items is None else len(history.items.get(name, {})),
        digest=done.kept.digest if done else None,
    )


def _state(*, done: bool, failed: bool, attempts: int, of: int) -> StageState:
    if done:
        return StageState.DONE
    if attempts >= of:
        return StageState.POISONED
    if failed:
        return StageState.FAILED
    return StageState.BEGUN if attempts else StageState.PENDING
