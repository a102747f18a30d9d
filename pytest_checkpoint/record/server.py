"""The process that owns a slot: it makes it, forks a supervisor per execution, and removes it.

It is started once per subject, and has one slot after the other. It is single-threaded (so that
forking is safe) and lives in a session of its own (so that Ctrl-C reaches pytest alone). Its socket
is its lifeline: when pytest closes it or dies, whatever still runs is ended, the slot is removed,
and it exits.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import signal
import socket
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import family, kernel, launch
from pytest_checkpoint.record.receiver.receiver import listen
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.slot import Slot, acquire
from pytest_checkpoint.record.supervisor import supervise

ANOTHER: Final = b'{"base": '
"""So begins a line that asks for a slot; in place of the one that there is, if there is one."""
_COLLECTED_AFTER: Final = 20_000
"""Objects. A job waits while we collect, and there is next to nothing that goes in circles."""

if TYPE_CHECKING:
    from pytest_checkpoint.record.store.store import Store, Stores
    from pytest_checkpoint.record.zygote.pool import Pool


def main(descriptor: int) -> None:
    """Serve requests, a JSON line each, until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    launch.redirect_own_output()
    kernel.become_subreaper()
    os.set_inheritable(descriptor, False)  # no program that is started here is to hold it
    gc.freeze()  # what is imported stays: collections, and forks, need not touch it
    gc.set_threshold(_COLLECTED_AFTER)
    with socket.socket(fileno=descriptor) as lifeline:
        lines = lifeline.makefile("rb")
        wanted = lines.readline()
        stores = _Stores()
        try:
            while wanted:
                wanted = _serve_slot(lifeline, lines, json.loads(wanted), stores)
        finally:
            stores.close()


def _serve_slot(
    lifeline: socket.socket, lines: BinaryIO, wanted: dict[str, Any], stores: _Stores
) -> bytes:
    """Make it, serve in it, remove it; the line that asks for another one, or none."""
    slot = _acquire(lifeline, wanted)
    if slot is None:
        return b""
    receiver = listen() if wanted["receives"] else None
    port = receiver.getsockname()[1] if receiver else 0
    told = {"path": str(slot.path), "number": slot.number, "port": port}
    try:
        store = stores.open(wanted["store"])
    except HarnessError as error:
        _tell(lifeline, json.dumps({"error": str(error)}).encode())
        slot.release()
        return b""
    told["store_port"] = store.listener.getsockname()[1] if store is not None else 0
    _tell(lifeline, json.dumps(told).encode())
    server = _Server(slot, lifeline, receiver, store, stores)
    try:
        for line in lines:
            if line.startswith(ANOTHER):
                return line
            _tell(lifeline, server.serve(Request.load(line)).dump())
    finally:
        family.end_descendants(stores.processes)
        if receiver is not None:
            receiver.close()
        try:
            if store is not None:
                store.close()
        finally:
            slot.release()
    return b""


class _Stores:
    """Object stores, which few subjects have: what they need is imported when one is wanted."""

    def __init__(self) -> None:
        self._stores: Stores | None = None

    def open(self, wanted: dict[str, Any] | None) -> Store | None:
        if wanted is None:
            return None
        # The second one is for the supervisors, which are forks of this process.
        from pytest_checkpoint.record.store import serving  # noqa: F401
        from pytest_checkpoint.record.store.store import Stores

        self._stores = self._stores or Stores()
        return self._stores.open(wanted)

    @property
    def processes(self) -> set[int]:
        return self._stores.processes if self._stores is not None else set()

    def close(self) -> None:
        if self._stores is not None:
            self._stores.close()


def _acquire(lifeline: socket.socket, wanted: dict[str, Any]) -> Slot | None:
    try:
        slot = acquire(Path(wanted["base"]), wanted["number"], lifeline)
    except HarnessError as error:
        _tell(lifeline, json.dumps({"error": str(error)}).encode())
        return None
    except OSError as error:
        why = f"{error.filename or wanted['base']} cannot be made: {error.strerror}"
        _tell(lifeline, json.dumps({"error": why}).encode())
        return None
    except Exception:  # noqa: BLE001 - told to the client
        _tell(lifeline, json.dumps({"error": traceback.format_exc()}).encode())
        return None
    return slot


def _tell(lifeline: socket.socket, answer: bytes) -> None:
    try:
        lifeline.sendall(answer + b"\n")
    except (BrokenPipeError, ConnectionResetError):
        return  # nobody is left to be told; the loop will see the end of the socket


def _supervise(request: Request, slot: str, lifeline: socket.socket) -> Result:
    if request.in_place:
        from pytest_checkpoint.record.in_place import supervise_in_place  # few requests need it

        return supervise_in_place(request, slot, lifeline)
    if request.room is None or not request.room.real:
        return supervise(request, slot, lifeline)
    from pytest_checkpoint.record.room.mounted import supervise_mounted  # few requests need it

    return supervise_mounted(request, request.room, slot, lifeline)


class _Server:
    def __init__(
        self,
        slot: Slot,
        lifeline: socket.socket,
        receiver: socket.socket | None,
        store: Store | None,
        stores: _Stores,
    ) -> None:
        self._slot = slot
        self._receiver = receiver
        """Where effects arrive; it listens as long as the slot is ours, on the same port."""
        self._store = store
        self._stores = stores
        self._lifeline = lifeline
        self._pool: Pool | None = None

    def serve(self, request: Request) -> Result:
        """Warm, if that is asked for and possible; else in a new process."""
        if self._receiver is not None:
            request = dataclasses.replace(request, receiver=self._receiver.fileno())
        if self._store is not None:
            try:
                request = dataclasses.replace(request, store=self._store.access)
            except HarnessError as error:
                return Result(failure=str(error))
        if not request.warm or (request.room is not None and request.room.real):
            return self._serve_fresh(request)
        if self._pool is None:
            from pytest_checkpoint.record.zygote.pool import Pool  # not every slot needs it

            self._pool = Pool(self._slot.path, self._lifeline)
        result = self._pool.run(request)
        if result.fresh_because is None:
            return result
        family.end_descendants(self._lasting)
        return dataclasses.replace(self._serve_fresh(request), fresh_because=result.fresh_because)

    @property
    def _lasting(self) -> set[int]:
        """Children that outlive an execution."""
        pool = self._pool.processes if self._pool is not None else set[int]()
        return pool | self._stores.processes

    def _serve_fresh(self, request: Request) -> Result:
        if request.room is None or not request.room.real:
            return self._serve_in_new_process(request)
        result = self._serve_in_new_process(request)
        if result.no_real_room is None:
            return result
        virtual = dataclasses.replace(request.room, real=False)
        return dataclasses.replace(
            self._serve_in_new_process(dataclasses.replace(request, room=virtual)),
            no_real_room=result.no_real_room,
        )

    def _serve_in_new_process(self, request: Request) -> Result:
        read, write = os.pipe()
        server = os.getpid()
        process = os.fork()
        if not process:
            self._supervise_and_exit(request, write, server)
        os.close(write)
        with open(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(process, 0)
        family.end_descendants(self._lasting)
        if not answer:
            return Result(
                failure="the supervisor ended without an answer (killed, perhaps by lack of memory)"
            )
        return Result.load(answer)

    def _supervise_and_exit(self, request: Request, write: int, server: int) -> None:
        try:
            kernel.die_with_parent(server)
            result = _supervise(request, str(self._slot.path), self._lifeline)
            with open(write, "wb") as pipe:
                pipe.write(result.dump())
        finally:
            os._exit(0)
