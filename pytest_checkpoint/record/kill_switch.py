"""When a run is killed on purpose: at a step, or when it has said a line so many times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_checkpoint.record.operations import Effect, Event
from pytest_checkpoint.record.request import Request


class KilledAt(Exception):
    """The moment has come: ``step`` was carried out, and its caller must not go on."""

    def __init__(self, step: int) -> None:
        super().__init__(f"step {step}")
        self.step = step


@dataclass(slots=True)
class KillSwitch:
    """Watches the recorded steps of one execution."""

    step: int | None
    """Kill after this one."""
    line: str | None
    """Kill after this line of the events file …"""
    times: int
    """… when it has come so often."""
    unfinished: bytes = b""
    """The last line of the events file so far, if its end is still to come."""

    @classmethod
    def of(cls, request: Request, events: Path) -> Self:
        """For a request; ``events``: the events file as it is before the start."""
        unfinished = b""
        if request.kill_after_line is not None:
            unfinished = events.read_bytes().rpartition(b"\n")[2]
        return cls(request.kill_at, request.kill_after_line, request.kill_after_times, unfinished)

    @property
    def is_set(self) -> bool:
        return self.step is not None or self.line is not None

    def after(self, step: int, effects: tuple[Effect, ...]) -> None:
        """Raise :class:`KilledAt` if this step is the one, or holds the line that is waited for."""
        if step == self.step:
            raise KilledAt(step)
        if self.line is None:
            return
        for effect in effects:
            if isinstance(effect, Event):
                self.times -= self._lines(effect.data).count(self.line)
                if self.times <= 0:
                    raise KilledAt(step)

    def _lines(self, data: bytes) -> list[str]:
        """The lines that end with these bytes, decoded as the evidence has them."""
        *lines, self.unfinished = (self.unfinished + data).split(b"\n")
        return [line.decode("utf-8", "backslashreplace").removesuffix("\r") for line in lines]
