"""What stands in a workspace, stage by stage."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checkpoint_runtime.fingerprints import changed, unknown
from checkpoint_runtime.plan import Plan
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.stages import Stage, Stages, item_name
from checkpoint_runtime.state.effect_records import EffectState
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import (
    Stored,
    decoded_parameters,
    digest_of,
    encoded_parameters,
)

if TYPE_CHECKING:
    from checkpoint_runtime.liveness.last_look import WorkerStatus


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
    CHANGED = "changed"
    """It is done, or some of its items are, and the pipeline has changed since: resume refuses."""
    DAMAGED = "damaged"
    """A side file of its value, or of an item's, is missing or cut: resume refuses."""


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
    item: str | None
    """That failed: ``embed[3]``."""
    where: str | None
    """The last line of the stage's own code that the error came from."""
    problem: str | None
    """What is changed or damaged, without a full stop."""
    remedy: str | None
    """Of one that is poisoned or damaged: what to type or to call."""
    at: str | None
    """When it was done or failed: ISO 8601, UTC."""
    took_s: float | None
    """Of the attempt that did it."""
    items_done: int | None
    """Of a mapped stage."""
    items_total: int | None
    """Of a mapped stage, where that is known: a function that makes them has not run at first."""
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
    """Recorded as done, in part at least, and no stage of this pipeline: resume refuses."""
    next: tuple[str, ...]
    """What a resume would run first: nothing if it refuses; more than one only if some failed."""
    unsettled: tuple[str, ...]
    """Of each effect that may or may not have happened what to type, or to call, to settle it."""
    workers: tuple[WorkerStatus, ...]
    """Who has beaten there, and whether that process is there now, as one look can tell."""

    @property
    def finished(self) -> bool:
        """Every stage is done, and a resume would find nothing to refuse."""
        return not self.unknown and all(stage.state is StageState.DONE for stage in self.stages)

    @property
    def refused(self) -> bool:
        """Whether a resume would refuse."""
        refusing = (StageState.CHANGED, StageState.DAMAGED)
        return bool(self.unknown) or any(stage.state in refusing for stage in self.stages)

    def count(self, state: StageState) -> int:
        return sum(stage.state is state for stage in self.stages)


def status_of(stages: Stages, history: History, workspace: Path, remedies: Remedies) -> Status:
    """What a history says of these stages, and what a resume would say of it.

    :raises StateError: the parameters that are recorded cannot be read.
    :raises StageValueError: items of a mapped stage are nothing that can be kept.
    """
    # Who runs a pipeline looks at nobody, and need not load that.
    from checkpoint_runtime.liveness.last_look import workers_status

    parameters = encoded_parameters(decoded_parameters(history.parameters, history.path))
    differing = {
        stage.name: sentence for stage, sentence in changed(stages, history, digest_of(parameters))
    }
    damaged = Stored(history, SideFiles(workspace), remedies).damaged()
    plan = Plan(stages, history)

    def one(stage: Stage) -> StageStatus:
        problem, remedy = differing.get(stage.name), None
        state = StageState.CHANGED
        if problem is None and stage.name in damaged:
            name, problem = damaged[stage.name]
            state, remedy = StageState.DAMAGED, remedies.rerun(name)
        elif problem is None:
            state = _state(stage, history, plan)
            if state is StageState.POISONED:
                remedy = remedies.rerun(stage.name)
        return _stage(stage, history, state, problem, remedy)

    gone = tuple(unknown(stages, history))
    return Status(
        pipeline=history.pipeline,
        workspace=workspace,
        begun=history.lines > 0,
        stages=tuple(one(stage) for stage in stages),
        unknown=gone,
        next=() if gone or differing or damaged else plan.outlook().next,
        unsettled=tuple(
            remedies.settle(*name)
            for name, effect in history.effects.items()
            if effect.state is EffectState.UNSETTLED
        ),
        workers=workers_status(workspace),
    )


def _stage(
    stage: Stage, history: History, state: StageState, problem: str | None, remedy: str | None
) -> StageStatus:
    name = stage.name
    done = history.done.get(name)
    failure = history.failures.get(name)
    index = failure.item if failure else None
    return StageStatus(
        name=name,
        state=state,
        after=stage.after,
        attempts=history.attempts.get(name, 0),
        budget=stage.budget,
        error=failure.error if failure else None,
        item=None if index is None else item_name(name, index),
        where=failure.where if failure else None,
        problem=problem,
        remedy=remedy,
        at=done.at if done else failure.at if failure else None,
        took_s=done.took_s if done else None,
        items_done=None if stage.items is None else len(history.items.get(name, {})),
        items_total=_items_total(stage, history),
        digest=done.kept.digest if done else None,
    )


def _items_total(stage: Stage, history: History) -> int | None:
    if stage.items is None:
        return None
    if stage.name in history.done:
        return history.done[stage.name].items
    if not callable(stage.items):
        return len(stage.items)
    return history.items_in_all(stage.name)


def _state(stage: Stage, history: History, plan: Plan) -> StageState:
    if stage.name in history.done:
        return StageState.DONE
    if plan.is_stuck(stage):
        return StageState.POISONED
    if stage.name in history.failures:
        return StageState.FAILED
    return StageState.BEGUN if history.attempts.get(stage.name) else StageState.PENDING
