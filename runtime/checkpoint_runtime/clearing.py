"""What a user wants run again: a stage and what is built on it, one item, or only new attempts."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.stages import Stages, item_name, item_of
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import History
from checkpoint_runtime.texts import counted


@dataclass(frozen=True, slots=True)
class Clearing:
    """What is to be as if it had never run, of what is recorded."""

    stages: tuple[str, ...] = ()
    item: tuple[str, int] | None = None
    """One item of a mapped stage."""
    attempts: str | None = None
    """Of this stage the used attempts and the failure; the items that are done stay."""

    def applied(self, history: History) -> History:
        """A history in which that is cleared; the one given stays as it is."""
        items = {stage: dict(known) for stage, known in history.items.items()}
        kept = History(history.path, history.pipeline, done=dict(history.done), items=items)
        for stage in self.stages:
            kept.clear(stage)
        if self.item is not None:
            stage, index = self.item
            kept.drop(stage, [index])
        return kept

    def record(self, log: StateLog) -> None:
        """Clear what is no whole stage; that those are cleared is for the caller to record first.

        Else a kill in between would leave them built on what is not done.

        :raises CommitError: it could not be recorded.
        """
        if self.item is not None:
            stage, index = self.item
            log.append({"dropped": stage, "items": [index]})
        if self.attempts is not None and _is_tried(log.history, self.attempts):
            log.append({"retry": self.attempts})

    def words(self, history: History) -> str | None:
        """What it takes away of a history; None if that is nothing."""
        done = [stage for stage in self.stages if stage in history.done]
        items = sum(len(history.items.get(stage, {})) for stage in self.stages)
        parts = []
        if done:
            shown = ", ".join(done[:5]) + (", …" if len(done) > 5 else "")
            parts.append(f"{counted(len(done), 'stage')} ({shown})")
        if items or self.item:
            parts.append(counted(items + bool(self.item), "item"))
        if self.attempts is not None and _is_tried(history, self.attempts):
            tried = history.attempts.get(self.attempts, 0)
            parts.append(f"{counted(tried, 'used attempt')} of {self.attempts}")
            if not self.item and (kept := len(history.items.get(self.attempts, {}))):
                parts[-1] += f", and keeps {counted(kept, 'item')} of it"
        return f"clears {' and '.join(parts)}" if parts else None


def _is_tried(history: History, stage: str) -> bool:
    return bool(history.attempts.get(stage) or stage in history.failures)


def from_stage(stages: Stages, name: str) -> Clearing:
    """A stage and all that are built on it.

    :raises DefinitionError: there is no such stage.
    """
    return Clearing(stages=tuple(stages.from_on(name)))


def checked_target(stages: Stages, target: str) -> tuple[str, int | None]:
    """A stage, and which of its items if one is meant: ``embed``, ``embed[3]``.

    :raises DefinitionError: there is no such stage, or it has no items.
    """
    item = item_of(target)
    if item is None:
        return stages[target].name, None
    stage = stages[item[0]]
    if stage.items is None:
        raise DefinitionError(f"stage {stage.name!r} has no items: it is no mapped stage.")
    return item


def of_target(stages: Stages, history: History, target: str) -> Clearing:
    """What ``rerun`` clears. Of a stage that is not done its items that are done stay.

    :raises DefinitionError: there is no such stage or item.
    """
    name, index = checked_target(stages, target)
    if index is None:
        return from_stage(stages, name) if name in history.done else Clearing(attempts=name)
    items = history.items.get(name, {})
    of = history.items_in_all(name)
    if (name in history.done or of is not None) and index not in range(of or 0):
        raise DefinitionError(
            f"there is no item {item_name(name, index)!r}: stage {name!r} has "
            f"{counted(of or 0, 'item')}, counted from 0."
        )
    return Clearing(
        stages=tuple(stages.from_on(name)[1:]),
        item=(name, index) if index in items else None,
        attempts=name,
    )
