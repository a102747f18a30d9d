"""What lies in the slot when an execution begins, and the recorder that starts from it."""

from __future__ import annotations

import os
from collections.abc import Set
from contextlib import ExitStack
from pathlib import Path

from pytest_checkpoint.record.belonging import Belonging
from pytest_checkpoint.record.injector import Injector, Trouble
from pytest_checkpoint.record.journal import Journal
from pytest_checkpoint.record.kill_switch import KillSwitch
from pytest_checkpoint.record.marks import MarkFinder
from pytest_checkpoint.record.policy import Original, Policy
from pytest_checkpoint.record.receiver.receiver import port_of
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.room.limits import limit
from pytest_checkpoint.record.tracked import (
    BESIDE,
    EFFECTS,
    EVENTS,
    OBJECTS,
    TrackedTree,
    identity_of,
)
from pytest_checkpoint.tree.capture import capture


def take_stock(request: Request, slot: str, spared: Set[int], stack: ExitStack) -> Recorder:
    """Take stock of the slot as it is now, and begin the recording if one is wanted."""
    wanted = request.recording is not None
    start = capture(Path(slot), exclude=BESIDE, content=wanted)
    events = Path(slot, os.fsdecode(EVENTS))
    effects = Path(slot, os.fsdecode(EFFECTS))
    logs = (identity_of(events.stat()), identity_of(effects.stat()))
    tree = TrackedTree(start.image, dict(start.identities), *logs)
    journal = None
    if request.recording is not None:
        journal = stack.enter_context(
            Journal(
                Path(request.recording),
                start.image,
                events.read_bytes(),
                slot,
                effects.read_bytes(),
                Path(slot, os.fsdecode(OBJECTS)).read_bytes(),
            )
        )
    switch = KillSwitch.of(request, events)
    policy = Policy(
        allow_network=request.allow_network,
        allow_outside=tuple(Path(path) for path in request.allow_outside),
        original=_original(request),
        receivers=frozenset({port_of(request.receiver), _store_port(request)}) - {None},
    )
    recorder = Recorder(
        slot=Path(slot),
        tree=tree,
        policy=policy,
        belonging=Belonging(spared, frozenset(request.bystanders)),
        journal=journal,
        on_step=switch.after if switch.is_set else None,
        troubles=_troubles(request),
    )
    if request.mark is not None:
        recorder.mark = MarkFinder(request.mark)
        recorder.troubles += (recorder.mark,)
    if request.room is not None:
        limit(recorder, request.room, start.image)
    stack.callback(recorder.mapped.close)
    stack.callback(recorder.directories.close)
    return recorder


def _original(request: Request) -> Original | None:
    if request.copy_of is None:
        return None
    return Original.of(request.copy_of, hidden=request.in_place)


def _store_port(request: Request) -> int | None:
    return None if request.store is None else port_of(request.store.listener)


def _troubles(request: Request) -> tuple[Trouble, ...]:
    """What the request says shall go wrong."""
    if request.injection is None:
        return ()
    return (Injector(request.injection),)
