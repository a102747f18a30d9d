"""What is left to do in a run, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoint_runtime.stages import Stage, Stages
from checkpoint_runtime.state.records import History


class Plan:
    """The stages that are not done. Iterating gives each that can be reached in this run."""

    def __init__(self, stages: Stages, history: History) -> None:
        self._stages = stages
        self._history = history
        self._pending = {stage.name: stage for stage in stages if stage.name not in history.done}
        self._stuck: set[str] = set()

    def __iter__(self) -> Iterator[Stage]:
        for stage in list(self._pending.values()):
            if stage.name not in self._stuck:
                yield stage

    @property
    def done(self) -> int:
        """How many stages are done."""
        return len(self._stages) - len(self._pending)

    def mark_done(self, stage: Stage) -> None:
        del self._pending[stage.name]

    def give_up(self, stage: str) -> None:
        """It failed: neither it nor what is built on it is reached any more."""
        self._stuck.update(self._stages.from_on(stage))

    def following(self) -> str | None:
        """The stage whose attempt is recorded together with a commit.

        Not if that were its last one: a death between the commit and its beginning would count.
        """
        for stage in self:
            tried = self._history.attempts.get(stage.name, 0)
            return stage.name if tried + 1 < stage.budget else None
        return None

    def upcoming(self) -> Iterator[str]:
        """The stages that can run next: not more than one, unless some failed."""
        for stage in self._pending.values():
            if not self._pending.keys() & stage.after:
                yield stage.name
                if stage.name not in self._history.failures:
                    return
