"""What a user wants run again: a stage and what is built on it, one item, or only new attempts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.stages import Stages, item_name, item_of
from checkpoint_runtime.state.effect_records import EffectName, EffectState
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
    forget_effects: bool = False
    """What these stages have sent is sent again."""

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
        if self.forget_effects and (sent := self._sent(log.history)):
            log.append({"forgotten": [list(name) for name in sent]})

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
        words = [f"clears {' and '.join(parts)}"] if parts else []
        if sent := len(self._sent(history)):
            again = "is sent again" if self.forget_effects else "stays: it is not sent again"
            words.append(f"each of {counted(sent, 'effect')} that happened {again}")
        return "; ".join(words) or None

    def _sent(self, history: History) -> list[EffectName]:
        """What has been sent by the stages that are to run again."""
        again = {*self.stages, *(() if self.attempts is None else (self.attempts,))}
        return [
            name
            for name, effect in history.effects.items()
            if effect.state is EffectState.SENT and name.stage in again
        ]


def _is_tried(history: History, stage: str) -> bool:
    return bool(history.attempts.get(stage) or stage in history.failures)


def from_stage(stages: Stages, name: str) -> Clearing:
    """A stage and all that are built on it.

    :raises DefinitionError: there is no such stage.
    """
    return Clearing(stages=tuple(stages.from_on(name)))


def checked_target(
    stages: Stages, target: str, *, forget_effects: bool = False
) -> tuple[str, int | None]:
    """A stage, and which of its items if one is meant: ``embed``, ``embed[3]``.

    :raises DefinitionError: there is no such stage, or it has no items; effects of one item are to
        be forgotten.
    """
    item = item_of(target)
    if item is None:
        return stages[target].name, None
    stage = stages[item[0]]
    if stage.items is None:
        raise DefinitionError(f"stage {stage.name!r} has no items: it is no mapped stage.")
    if forget_effects:
        raise DefinitionError(
            f"which effects of stage {stage.name!r} are those of one item is not known: settle "
            "them one by one, or run the whole stage again."
        )
    return item


def of_target(
    stages: Stages, history: History, target: str, *, forget_effects: bool = False
) -> Clearing:
    """What ``rerun`` clears. Of a stage that is not done its items that are done stay.

    :raises DefinitionError: there is no such stage or item.
    """
    name, index = checked_target(stages, target)
    if index is None:
        again = from_stage(stages, name) if name in history.done else Clearing(attempts=name)
        return replace(again, forget_effects=forget_effects)
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
