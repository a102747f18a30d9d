"""What is left to do in a run, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from checkpoint_runtime.stages import Stage, Stages
from checkpoint_runtime.state.facts import Failure
from checkpoint_runtime.state.records import History


class Tried(NamedTuple):
    """A stage that was begun, or has failed, and is not done."""

    name: str
    attempts: int
    budget: int
    failure: Failure | None
    """Of its last attempt, if that raised."""
    stuck: bool
    """Its attempts are used up, and none of them is under way."""


class Outlook(NamedTuple):
    """What lies ahead, for whoever comes after."""

    next: tuple[str, ...]
    """Stages that can run next: not more than one, unless some failed. None that is stuck; beside
    one, those that keep_going asks for."""
    tried: tuple[Tried, ...]

    @property
    def stuck(self) -> bool:
        """Whether a run that is not to keep going ends at a stage that is stuck."""
        return any(stage.stuck for stage in self.tried)


class Plan:
    """The stages that are not done. Iterating gives each that can be reached in this run."""

    def __init__(self, stages: Stages, history: History) -> None:
        self._stages = stages
        self._history = history
        self._pending = {stage.name: stage for stage in stages if stage.name not in history.done}
        self._given_up: set[str] = set()
        self.begun: str | None = None
        """The stage whose attempt is recorded, and has neither failed nor got to its end."""

    def __iter__(self) -> Iterator[Stage]:
        for stage in list(self._pending.values()):
            if stage.name not in self._given_up:
                yield stage

    @property
    def done(self) -> int:
        """How many stages are done."""
        return len(self._stages) - len(self._pending)

    def mark_done(self, stage: Stage) -> None:
        del self._pending[stage.name]

    def give_up(self, stage: str) -> None:
        """It failed: neither it nor what is built on it is reached any more."""
        self._given_up.update(self._stages.from_on(stage))

    def following(self, done: Stage) -> str | None:
        """The stage whose attempt is recorded together with the commit of another one.

        Not if that were its last one: a death between the commit and its beginning would count.
        """
        # Mostly the second one that is looked at: this costs the same however many are left.
        for stage in self._pending.values():
            if stage is not done and stage.name not in self._given_up:
                tried = self._history.attempts.get(stage.name, 0)
                return stage.name if tried + 1 < stage.budget else None
        return None

    def is_stuck(self, stage: Stage) -> bool:
        """Whether its attempts are used up, and none of them is under way."""
        return (
            stage.name != self.begun and self._history.attempts.get(stage.name, 0) >= stage.budget
        )

    def outlook(self) -> Outlook:
        return Outlook(tuple(self._next()), tuple(self._tried()))

    def _next(self) -> Iterator[str]:
        for stage in self._pending.values():
            if not self._pending.keys() & stage.after and not self.is_stuck(stage):
                yield stage.name
                if stage.name not in self._history.failures:
                    return

    def _tried(self) -> Iterator[Tried]:
        # Of few stages only: what is done has no attempts any more.
        for name in dict.fromkeys([*self._history.attempts, *self._history.failures]):
            attempts = self._history.attempts.get(name, 0)
            failure = self._history.failures.get(name)
            stage = self._pending.get(name)
            if stage is not None and (attempts or failure):
                yield Tried(name, attempts, stage.budget, failure, self.is_stuck(stage))
