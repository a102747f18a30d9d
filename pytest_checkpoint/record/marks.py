"""Where in a run an operation comes that is known by what it is, not by its step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.record.faults import Mark, identity_of
from pytest_checkpoint.record.injector import Intent
from pytest_checkpoint.record.operations import Effect, Operation


@dataclass(slots=True)
class MarkFinder:
    """Counts the operations that are like the mark; a :class:`Trouble` that makes none."""

    mark: Final[Mark]
    met: int = 0
    is_here: bool = False
    """What was recorded last is the one."""

    def before(self, intent: Intent) -> int:
        return intent.length

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        done = Operation(
            step=0, call=call, path=path, effects=effects, target_path=target_path, error=error
        )
        if identity_of(done) != self.mark.identity:
            self.is_here = False
            return
        self.met += 1
        self.is_here = self.met == self.mark.occurrence
