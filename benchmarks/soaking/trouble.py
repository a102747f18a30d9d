"""The faults of a soak: each brings the job, freshly started, to some bad end, or to a halt."""

from __future__ import annotations

import errno
import os
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from benchmarks.soaking.place import Place, SoakError
from pytest_checkpoint.record.faults import Room, can_be_short, injectable, injection_at
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.order import Plan

_STAGES: Final = ("fetch", "work", "total")
_RAISING: Final = ("fetch", "work[1]", "publish[2]", "total")
_WORDS_OF_REFUSAL: Final = "in use by process"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a fault may draw from."""

    place: Place
    plan: Plan
    """Every crash state of an undisturbed run."""
    operations: Sequence[Operation]
    """Of that run."""
    blocks: int
    """Of 4 KiB, that its workspace takes."""
    events: int
    """Lines that it says."""
    chance: random.Random


def crash(turn: Turn) -> str:
    """A kill, a torn write or a power loss, as one of an undisturbed run would have left it."""
    unique = turn.chance.choice(turn.plan.states)
    turn.place.bench.put(turn.plan.materialize(unique))
    return f"{unique.crash.step}.{unique.crash.variant}"


def kill(turn: Turn) -> str:
    process = turn.place.start("run")
    after = turn.chance.randrange(turn.events)
    turn.place.until_events(after, process)
    os.killpg(process.pid, signal.SIGKILL)
    turn.place.finish(process)
    return f"SIGKILL after event {after}"


def error(turn: Turn) -> str:
    """One operation of the run fails, or all such from then on."""
    operations = [one for one in turn.operations if injectable(one)]
    hit = turn.chance.choice(operations)
    number = turn.chance.choice((errno.EIO, errno.ENOSPC, errno.EDQUOT))
    short = can_be_short(hit) and turn.chance.random() < 0.3
    injection = injection_at(turn.operations, hit.step, number, short=short)
    place = turn.place
    place.bench.faulted(place.subject.run, 60, injection=injection)
    what = "cut short" if short else errno.errorcode[number]
    return f"{hit.call} {os.fsdecode(hit.path)} (step {hit.step}): {what}"


def full_disk(turn: Turn) -> str:
    room = Room(blocks=turn.chance.randrange(1, turn.blocks))
    turn.place.bench.faulted(turn.place.subject.run, 60, room=room)
    return f"a disk of {room.blocks} blocks"


def told_to_end(turn: Turn) -> str:
    number = turn.chance.choice((signal.SIGTERM, signal.SIGINT, signal.SIGUSR1))
    after = turn.chance.randrange(1, turn.events)
    process = turn.place.start("run")
    turn.place.until_events(after, process)
    process.send_signal(number)
    code, said = turn.place.finish(process)
    if code not in (0, 75, 128 + number, -number):
        raise SoakError(f"{number.name} after event {after}: exit {code}: {said}")
    return f"{number.name} after event {after}: exit {code}"


def raises(turn: Turn) -> str:
    stage = turn.chance.choice(_RAISING)
    process = turn.place.start("run", CHECKPOINT_STAGE_FAULT=f"raise:{stage}:1")
    code, _ = turn.place.finish(process)
    return f"{stage} raises: exit {code}"


def freeze(turn: Turn) -> str:
    """Stopped, and left so."""
    process = turn.place.start("run")
    after = turn.chance.randrange(1, turn.events)
    turn.place.until_events(after, process)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGSTOP)
    turn.place.standing = process
    return f"SIGSTOP after event {after}"


def block(turn: Turn) -> str:
    """The main thread stands still: it is alive, and gets nowhere."""
    stage = turn.chance.choice(_STAGES)
    process = turn.place.start("run", SOAK_BLOCKS=stage)
    at = "work[2]" if stage == "work" else stage
    line = f"start {at}\n".encode()
    turn.place.until(
        lambda: line in turn.place.client.events.read_bytes() or process.poll() is not None,
        f"the start of {at}",
    )
    turn.place.standing = process
    return f"stands still in {at}"


def twice(turn: Turn) -> str:
    """Two at the same instant: exactly one works, the other says who it is."""
    both = [turn.place.start("run") for _ in range(2)]
    ends = [turn.place.finish(one) for one in both]
    refused = [said for code, said in ends if code]
    if len(refused) > 1 or not all(_WORDS_OF_REFUSAL in said for said in refused):
        raise SoakError(f"two at once ended with {ends}")
    return f"two at once: exits {[code for code, _ in ends]}"


TROUBLES: Final[Mapping[str, Callable[[Turn], str]]] = MappingProxyType(
    {
        "crash state": crash,
        "kill": kill,
        "error": error,
        "full disk": full_disk,
        "signal": told_to_end,
        "a stage raises": raises,
        "frozen": freeze,
        "blocked": block,
        "double start": twice,
    }
)
LEAVES_IT_RUNNING: Final = frozenset({"frozen", "blocked"})
"""Only a watchdog can help."""
