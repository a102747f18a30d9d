"""The object store's address on this machine: it takes requests one at a time, in one order.

The thread that lets the job's calls proceed one by one takes the requests too, as it does with
effects: while one is carried out nothing else of the job's does, so that it has its exact place
among the operations. A request counts when it is whole. One that is not by the time that the job
is killed, and one that has not been taken up, never comes to the store; one that has been carried
out stays carried out, whoever hears of it. An object is never torn, and no power loss takes it.
"""

from __future__ import annotations

import heapq
import itertools
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from math import inf
from types import TracebackType
from typing import Final, Self

from pytest_checkpoint.record.store import answers
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.carrying import Carried
from pytest_checkpoint.record.store.faults import Faults, Kind, StoreFault
from pytest_checkpoint.record.store.http import (
    GO_AHEAD,
    Head,
    Malformed,
    TooLarge,
    take_body,
    take_head,
)

_PIECE: Final = 1 << 20
_RESET_AT_CLOSE: Final = struct.pack("=ii", 1, 0)
"""SO_LINGER: whoever waits for the answer sees the connection reset."""

Carry = Callable[[Asked, StoreFault | None], Carried]
"""Carries a whole request out, and writes it down. What it raises goes through."""
GiveUp = Callable[[Asked, StoreFault], None]
"""Writes a whole request down that is not carried out: who sent it has not waited for it."""


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)
    to_send: memoryview = field(default_factory=lambda: memoryview(b""))
    head: Head | None = None
    asked: Asked | None = None
    fault: StoreFault | None = None
    was_told: bool = False
    waits: bool = False
    """Its request is whole, and is answered later or never."""
    ends: bool = False
    """It is closed as soon as all is sent."""
    is_closed: bool = False

    def next_request(self) -> None:
        self.head = self.asked = self.fault = None
        self.was_told = self.waits = False


@dataclass(slots=True)
class Proxy:
    """Of one execution. Entered before the job starts; served as its descriptors get ready."""

    listener: socket.socket
    """A copy of its own."""
    carry: Carry
    give_up: GiveUp
    faults: Faults
    now: Callable[[], float] = time.monotonic
    _connections: dict[int, _Connection] = field(default_factory=dict)
    _poller: select.poll = field(default_factory=select.poll)
    _waiting: list[tuple[float, int, _Connection]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _line_free_at: float = 0.0
    """When a slow line has carried all that was sent over it so far."""

    def watched_by(self, poller: select.poll) -> None:
        """Its descriptors are registered there from now on."""
        self._poller = poller
        poller.register(self.listener, select.POLLIN)

    def __enter__(self) -> Self:
        while True:  # what an execution before this one has left behind
            try:
                self.listener.accept()[0].close()
            except BlockingIOError:
                break
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for connection in self._connections.values():
            connection.socket.close()
        self.listener.close()

    def __contains__(self, descriptor: int) -> bool:
        return descriptor == self.listener.fileno() or descriptor in self._connections

    def serve(self, descriptor: int) -> None:
        """Go on with one that is ready."""
        if descriptor == self.listener.fileno():
            self._accept()
            return
        connection = self._connections[descriptor]
        if connection.to_send:
            self._send(connection)
        elif connection.waits:
            self._see_whether_it_waits(connection)
        else:
            self._read(connection)

    def drain(self) -> None:
        """Take what was sent by processes that have ended since."""
        while self._accept():
            pass
        for connection in list(self._connections.values()):
            if not connection.waits and not connection.to_send:
                self._read(connection)
        for connection in list(self._connections.values()):
            if connection.waits:
                self._close(connection)

    @property
    def due(self) -> float:
        """When a slow request is to be carried out, on the monotonic clock; infinity: none is."""
        return self._waiting[0][0] if self._waiting else inf

    def serve_due(self) -> None:
        while self.due <= self.now():
            _, _, connection = heapq.heappop(self._waiting)
            if not connection.is_closed:
                connection.waits = False
                self._take(connection)
                self._go_on(connection)

    # --- one connection ---

    def _accept(self) -> bool:
        try:
            accepted, _ = self.listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections[accepted.fileno()] = _Connection(accepted)
        self._poller.register(accepted, select.POLLIN)
        return True

    def _read(self, connection: _Connection) -> None:
        ended = False
        while not ended:
            try:
                piece = connection.socket.recv(_PIECE)
            except BlockingIOError:
                break
            except ConnectionError:
                piece = b""
            ended = not piece
            connection.received += piece
            if len(piece) < _PIECE:
                break
        self._go_on(connection)
        if ended and not connection.is_closed:
            self._close(connection)

    def _go_on(self, connection: _Connection) -> None:
        """With what was received: it may be several requests, or part of one."""
        while not (connection.is_closed or connection.waits or connection.to_send):
            try:
                if not self._step(connection):
                    return
            except Malformed as malformed:
                status = (
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE
                    if isinstance(malformed, TooLarge)
                    else HTTPStatus.BAD_REQUEST
                )
                reply = answers.error(status, "InvalidRequest", str(malformed))
                connection.ends = True
                self._queue(connection, reply.dump(closes=True))

    def _step(self, connection: _Connection) -> bool:
        """One step further; False: more has to be received first."""
        if connection.head is None:
            connection.head = take_head(connection.received)
            if connection.head is None:
                return False
            connection.asked = Asked.of(connection.head)
            connection.fault = self.faults.hit(connection.asked)
        head, fault = connection.head, connection.fault
        assert connection.asked is not None
        if fault is not None and self._is_cut_off(connection, head, fault):
            self._take(connection)
            return True
        body = take_body(head, connection.received)
        if body is None:
            if head.awaits_go_ahead and not connection.received and not connection.was_told:
                connection.was_told = True
                self._queue(connection, GO_AHEAD)
                return not connection.to_send
            return False
        connection.asked = connection.asked.with_body(body)
        if fault is not None and fault.kind is Kind.SLOW:
            self._put_off(connection, fault, len(body))
        else:
            self._take(connection)
        return True

    def _is_cut_off(self, connection: _Connection, head: Head, fault: StoreFault) -> bool:
        """Whether it is to be reset before it is whole, and now."""
        if fault.kind is Kind.RESET_BEFORE:
            return True
        if fault.kind is not Kind.RESET_IN_BODY:
            return False
        least = 1 if head.is_chunked else (head.length + 1) // 2
        return len(connection.received) >= least

    def _put_off(self, connection: _Connection, fault: StoreFault, size: int) -> None:
        now = self.now()
        due = now + fault.seconds
        if fault.bytes_per_s > 0:
            self._line_free_at = max(now, self._line_free_at) + size / fault.bytes_per_s
            due = max(due, self._line_free_at)
        connection.waits = True
        heapq.heappush(self._waiting, (due, next(self._numbers), connection))

    def _take(self, connection: _Connection) -> None:
        """Carry it out, and answer."""
        head, asked = connection.head, connection.asked
        assert head is not None
        assert asked is not None
        carried = self.carry(asked, connection.fault)
        if carried.answer is not None:
            connection.ends = head.closes
            data = carried.answer.dump(is_head=head.method == "HEAD", closes=head.closes)
            connection.next_request()
            self._queue(connection, data)
        elif connection.fault is not None and connection.fault.kind is Kind.HANG:
            connection.waits = True
        else:
            linger = (socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            connection.socket.setsockopt(*linger)
            self._close(connection)

    def _see_whether_it_waits(self, connection: _Connection) -> None:
        """Somebody who waits for an answer sends nothing, unless it goes away."""
        try:
            piece = connection.socket.recv(_PIECE)
        except BlockingIOError:
            return
        except ConnectionError:
            piece = b""
        connection.received += piece
        if not piece:
            self._close(connection)

    def _queue(self, connection: _Connection, data: bytes) -> None:
        connection.to_send = memoryview(data)
        self._send(connection)

    def _send(self, connection: _Connection) -> None:
        """As much as goes; the rest when there is room again."""
        try:
            while connection.to_send:
                sent = connection.socket.send(connection.to_send)
                connection.to_send = connection.to_send[sent:]
        except BlockingIOError:
            self._poller.modify(connection.socket, select.POLLOUT)
            return
        except ConnectionError:
            self._close(connection)
            return
        if connection.ends:
            self._close(connection)
            return
        self._poller.modify(connection.socket, select.POLLIN)
        if connection.received:
            self._go_on(connection)

    def _close(self, connection: _Connection) -> None:
        connection.is_closed = True
        connection.to_send = memoryview(b"")
        del self._connections[connection.socket.fileno()]
        self._poller.unregister(connection.socket)
        connection.socket.close()
        fault, asked = connection.fault, connection.asked
        if connection.waits and asked and fault and fault.kind is Kind.SLOW:
            self.give_up(asked, fault)
