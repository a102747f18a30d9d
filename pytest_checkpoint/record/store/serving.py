"""The proxy of one execution, and how a request becomes an operation of its recording."""

from __future__ import annotations

import os
import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.handles import Handles
from pytest_checkpoint.record.kill_switch import KilledAt
from pytest_checkpoint.record.operations import STORE_CALL, Stored
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.slot import bodies_of, store_of
from pytest_checkpoint.record.store.access import Access
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.carrying import Carried, Carrier
from pytest_checkpoint.record.store.faults import Faults, StoreFault
from pytest_checkpoint.record.store.holding import Holding
from pytest_checkpoint.record.store.proxy import Proxy
from pytest_checkpoint.record.store.requests import StoreRequest
from pytest_checkpoint.record.store.upstream import Upstream
from pytest_checkpoint.record.tracked import OBJECTS


def open_store(
    access: Access,
    request: Request,
    slot: str,
    recorder: Recorder | None,
    log: list[StoreRequest],
    stack: ExitStack,
) -> Proxy:
    """Who takes the requests to the object store while a command runs.

    ``recorder``: None where nothing is watched: what is asked is done all the same, without faults.
    ``log``: what is asked is appended to it.
    """
    upstream = Upstream(access)
    stack.callback(upstream.close)
    holding = Holding(upstream, store_of(Path(slot)), Bodies(bodies_of(Path(slot))))
    carrier = Carrier(holding, Path(slot, os.fsdecode(OBJECTS)))
    handles = Handles()
    stack.callback(handles.close)
    faults = Faults(request.store_faults if recorder is not None else ())
    serving = _Serving(carrier, recorder, handles, log, faults)
    listener = socket.socket(fileno=os.dup(access.listener))
    return stack.enter_context(Proxy(listener, serving.carry, serving.give_up, faults))


@dataclass(slots=True)
class _Serving:
    """Of one execution."""

    carrier: Carrier
    recorder: Recorder | None
    handles: Handles
    log: list[StoreRequest]
    faults: Faults
    started: float = field(default_factory=time.monotonic)

    def carry(self, asked: Asked, fault: StoreFault | None) -> Carried:
        """Done first, then written down: at the step after it, the store holds it."""
        caller = self._catch_up()
        carried = self.carrier.carry(asked, fault)
        self._note(caller, carried, fault)
        return carried

    def give_up(self, asked: Asked, fault: StoreFault) -> None:
        """Nobody waits for it any more: it never came to the store."""
        self._note(self._catch_up(), self.carrier.given_up(asked), fault)

    def _catch_up(self) -> Caller:
        caller = Caller(os.getpid(), self.handles)
        if self.recorder is not None:
            self.recorder.catch_up(caller)
        return caller

    def _note(self, caller: Caller, carried: Carried, fault: StoreFault | None) -> None:
        asked, recorder = carried.asked, self.recorder
        status = carried.answer.status if carried.answer is not None else 0
        step = recorder.step + 1 if recorder is not None else 0
        at_s = time.monotonic() - self.started
        self.log.append(carried.noted(step, at_s, fault))
        if recorder is not None:
            if carried.fired:
                recorder.will_fire()
            effect = Stored(carried.lines, status, len(asked.body))
            recorder.record(caller, STORE_CALL, asked.path, effect)
            if fault is not None and carried.fired and self.faults.is_enough(asked, fault):
                raise KilledAt(recorder.step)
