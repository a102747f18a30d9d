"""Who takes what a job sends out while it runs, by HTTP on this machine: effects, objects."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

from pytest_checkpoint.record.receiver.arrivals import receive
from pytest_checkpoint.record.receiver.receiver import Receiver
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.store.requests import StoreRequest

if TYPE_CHECKING:
    from pytest_checkpoint.record.store.proxy import Proxy

Taker: TypeAlias = "Receiver | Proxy"


def takers_of(
    request: Request,
    slot: str,
    recorder: Recorder | None,
    log: list[StoreRequest],
    stack: ExitStack,
) -> tuple[Taker, ...]:
    """Those of one execution; what the object store is asked is appended to ``log``."""
    takers: list[Taker] = []
    receiver = receive(request, slot, recorder, stack)
    if receiver is not None:
        takers.append(receiver)
    if request.store is not None:
        # Few jobs have one. The server, of which we are a fork, has imported it by then.
        from pytest_checkpoint.record.store.serving import open_store

        takers.append(open_store(request.store, request, slot, recorder, log, stack))
    return tuple(takers)
