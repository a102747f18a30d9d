"""Crash states, and those that a process kill leaves.

A kill stands before the first operation or after any other: the kernel finishes a call that it has
begun to carry out, so all effects of an operation are there or none. An event is an operation too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from checkpoint_contracts.evidence import CrashPoint, Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.timeline import State, Timeline

KILL_VARIANT = "kill"
TORN_PREFIX = "torn-"
POWER_LOSS_PREFIX = "power-loss"
BEFORE_FIRST = "before the first operation"
AGAIN: Final = "+"
"""Between a crash and the crash of the resume that went on from it."""
_DAMAGE: Final = re.compile(
    r"(empty|half|short|garbage|directory|older|flipped)-[1-9][0-9]*|swapped-[1-9][0-9]*-[1-9][0-9]*"
)


class CrashState(NamedTuple):
    """Which crash, and where: not yet what it left. A tuple, since there may be a million."""

    fault: Fault
    step: int
    variant: str
    cut: int | None = None
    """How many bytes of the write arrived; None unless torn."""


def kill_state(step: int) -> CrashState:
    """The kill after operation ``step``."""
    return CrashState(Fault.KILL, step, KILL_VARIANT)


def kill_states(operations: Sequence[Operation]) -> list[CrashState]:
    """Before the first operation, and after each."""
    return [kill_state(step) for step in range(len(operations) + 1)]


def materialize(crash: CrashState, timeline: Timeline) -> State:
    """What the crash left."""
    if crash.cut is None:
        return timeline.after(crash.step)
    return timeline.torn(crash.step, crash.cut)


def point(crash: CrashState, operations: Sequence[Operation]) -> CrashPoint:
    """The crash in the words of the evidence."""
    operation = operations[crash.step - 1] if crash.step else None
    return CrashPoint(
        fault=crash.fault,
        step=crash.step,
        variant=crash.variant,
        operation=describe(operation) if operation else BEFORE_FIRST,
        signature=signature(operation) if operation else BEFORE_FIRST,
        total_steps=len(operations),
    )


def parse(text: str) -> CrashState:
    """From ``41.kill``, ``41.torn-128`` or ``41.power-loss-…``, a :attr:`CrashPoint.id`.

    Of a crash in a resume ``41.kill+5.kill``, of a damage ``41.empty-1``. Raises
    :class:`UserError`.
    """
    first, *others = text.split(AGAIN)
    if others:
        crash, last = parse(first), [parse(other).fault for other in others]
        if {crash.fault, *last} <= {Fault.KILL, Fault.TORN}:
            return CrashState(Fault.SECOND_CRASH, crash.step, AGAIN.join((crash.variant, *others)))
        raise UserError(f"{text!r} is no crash point: in a resume there are kills and torn writes")
    step, _, variant = text.partition(".")
    cut = variant.removeprefix(TORN_PREFIX)
    if step.isascii() and step.isdigit():
        if variant == KILL_VARIANT:
            return kill_state(int(step))
        if _DAMAGE.fullmatch(variant):
            return CrashState(Fault.DAMAGE, int(step), variant)
        if variant.startswith(f"{POWER_LOSS_PREFIX}-"):
            return CrashState(Fault.POWER_LOSS, int(step), variant)
        if cut != variant and cut.isascii() and cut.isdigit():
            return CrashState(Fault.TORN, int(step), f"{TORN_PREFIX}{int(cut)}", int(cut))
    raise UserError(f"{text!r} is no crash point: one looks like 41.kill or 41.torn-128")
