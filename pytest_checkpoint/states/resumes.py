"""Resumes that were recorded, and the states that a crash of them leaves.

Each is known by the id of the crash that it went on from: ``41.kill``, and one crash further
``41.kill+5.kill``. What a kill or a torn write leaves of it is derived from its recording as from
that of the run; the events file holds what both have written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Fault
from checkpoint_contracts.wording import place
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.kill import AGAIN, CrashState, parse
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

_OF_A_RESUME: Final = "the resume: "


def crash_id(crash: CrashState) -> str:
    """``41.kill``: as :attr:`CrashPoint.id`."""
    return f"{crash.step}.{crash.variant}"


def crashed_again(first: CrashState, then: CrashState) -> CrashState:
    """The resume after ``first`` crashes at ``then``, a crash of its own recording."""
    variant = f"{first.variant}{AGAIN}{then.step}.{then.variant}"
    return CrashState(Fault.SECOND_CRASH, first.step, variant)


def taken_apart(crash: CrashState) -> tuple[CrashState, CrashState]:
    """The crashes before the last one, and the last one, which is of a resume's recording."""
    before, _, last = crash_id(crash).rpartition(AGAIN)
    return parse(before), parse(last)


def crashes_before(crash: CrashState) -> list[CrashState]:
    """Those whose resumes must be known, the first crash first.

    >>> [crash_id(one) for one in crashes_before(parse("4.kill+5.kill+2.kill"))]
    ['4.kill', '4.kill+5.kill']
    """
    found: list[CrashState] = []
    while crash.fault is Fault.SECOND_CRASH:
        crash, _ = taken_apart(crash)
        found.append(crash)
    return found[::-1]


def kind_of(point: CrashPoint) -> tuple[Fault, str]:
    """The last crash alone: a kill or a torn write, and what kind of operation it stood at."""
    last = parse(point.id)
    if last.fault is Fault.SECOND_CRASH:
        _, last = taken_apart(last)
    return last.fault, point.signature.removeprefix(_OF_A_RESUME)


class Resumes:
    """The recorded resumes of one run; asked by its :class:`StateSource` for their states."""

    def __init__(self, source: StateSource) -> None:
        self._source: Final = source
        self._known: Final[dict[str, StateSource]] = {}

    @classmethod
    def of(cls, source: StateSource) -> Resumes:
        """Those of this run, which are none at first."""
        known = source.further.setdefault(Fault.SECOND_CRASH, cls(source))
        assert isinstance(known, cls)
        return known

    def add(self, after: CrashState, recording: Recording) -> StateSource:
        """HarnessError if the recording contradicts itself."""
        states = StateSource(recording, self._source.model)
        self._known[crash_id(after)] = states
        return states

    def forget(self, after: CrashState) -> None:
        self._known.pop(crash_id(after), None)

    def knows(self, after: CrashState) -> bool:
        return crash_id(after) in self._known

    def after(self, crash: CrashState) -> StateSource:
        """The states of the resume that went on from ``crash``. UserError if it is not known."""
        known = self._known.get(crash_id(crash))
        if known is None:
            raise UserError(f"there is no recording of the resume after {crash_id(crash)}")
        return known

    def state(self, crash: CrashState) -> State:
        before, last = taken_apart(crash)
        return self.after(before).state(last)

    def point(self, crash: CrashState) -> CrashPoint:
        """In the words of the evidence; the cause is what the last crash stood at."""
        before, last = taken_apart(crash)
        first, then = self._source.point(before), self.after(before).point(last)
        return CrashPoint(
            fault=Fault.SECOND_CRASH,
            step=crash.step,
            variant=crash.variant,
            operation=f"{place(first)}, then {_told(then)}",
            signature=f"{_OF_A_RESUME}{then.signature}",
            total_steps=first.total_steps,
        )

    def chain(self, crash: CrashState) -> Iterator[tuple[StateSource, CrashState]]:
        """Every crash on the way, each with the source of the recording that it is a crash of."""
        for before in crashes_before(crash)[:1]:
            yield self._source, before
        for before, then in zip(
            crashes_before(crash), [*crashes_before(crash)[1:], crash], strict=True
        ):
            yield self.after(before), taken_apart(then)[1]


def _told(then: CrashPoint) -> str:
    """``its resume killed at step 5 (unlink state.json)``."""
    if then.fault is Fault.TORN:
        return f"a write of its resume cut short at step {then.step} ({then.operation})"
    return f"its resume {place(then)}"
