"""What the job sends out by HTTP arrives here, in the supervisor itself.

The one thread that lets the job's calls proceed one by one takes the requests too: an arrival has
its exact place among the operations, and is one. What has arrived stands in the effects file beside
the workspace, a line each, so that the receiver of a restored state knows what had arrived by then.

``POST`` of a JSON object with ``kind`` and ``id``: received, answered 200 with ``{"duplicate":
false}``. If that kind with that id is known already, nothing happens a second time, and the answer
says so: ``{"duplicate": true}``. ``GET``: a list of all that has arrived.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pytest_checkpoint.record.receiver.http import (
    GO_AHEAD,
    Asked,
    Malformed,
    answer,
    awaits_go_ahead,
    parse,
)
from pytest_checkpoint.record.receiver.message import Message, messages

RECEIVER: Final = "127.0.0.1"
_PIECE: Final = 1 << 16
_RESET_AT_CLOSE: Final = struct.pack("=ii", 1, 0)
"""SO_LINGER: whoever waits for the answer sees the connection reset."""


def listen() -> socket.socket:
    """On a port of this machine that the system chooses."""
    listener = socket.create_server((RECEIVER, 0), backlog=128)
    listener.setblocking(False)
    return listener


def port_of(descriptor: int | None) -> int | None:
    """The port of a listening socket that is a descriptor of this process."""
    if descriptor is None:
        return None
    with socket.socket(fileno=os.dup(descriptor)) as listener:
        port: int = listener.getsockname()[1]
    return port


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    received: bytes = b""
    was_told: bool = False


@dataclass(slots=True)
class Receiver:
    """Of one execution. Entered before the job starts; served as its descriptors get ready."""

    listener: socket.socket
    """A copy of its own."""
    file: Path
    """The effects file."""
    arrive: Callable[[bytes], None]
    """Takes one line: appends it to the file, and writes it down. What it raises goes through."""
    lose_reply: int | None = None
    """The so-manieth arrival is not answered: the connection is reset."""
    on_lost: Callable[[], None] = lambda: None
    arrivals: int = 0
    _connections: dict[int, _Connection] = field(default_factory=dict)
    _poller: select.poll = field(default_factory=select.poll)

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
        else:
            self._read(self._connections[descriptor])

    def drain(self) -> None:
        """Take what was sent by processes that have ended since."""
        while self._accept():
            pass
        for connection in list(self._connections.values()):
            self._read(connection)

    @property
    def due(self) -> float:
        """When there is something to do without a request: never."""
        return inf

    def serve_due(self) -> None: ...

    def _accept(self) -> bool:
        try:
            connection, _ = self.listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        connection.setblocking(False)
        self._connections[connection.fileno()] = _Connection(connection)
        self._poller.register(connection, select.POLLIN)
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
            try:
                asked = parse(connection.received)
            except Malformed as malformed:
                self._reply(connection, malformed.status, {"error": str(malformed)})
                return
            if asked is not None:
                self._take(connection, asked)
                return
        if ended:
            self._close(connection)
        elif awaits_go_ahead(connection.received) and not connection.was_told:
            connection.was_told = True
            self._send(connection, GO_AHEAD)

    def _take(self, connection: _Connection, asked: Asked) -> None:
        known = messages(self.file.read_bytes())
        if asked.method == "GET":
            listed = [{"kind": one.kind, "id": one.id} for one in known if not one.problem]
            self._reply(connection, HTTPStatus.OK, listed)
            return
        if asked.method not in ("POST", "PUT"):
            why = f"{asked.method}: send an effect by POST, ask for all by GET"
            self._reply(connection, HTTPStatus.METHOD_NOT_ALLOWED, {"error": why})
            return
        one = Message.of(asked.body)
        if one.problem:
            self._reply(connection, HTTPStatus.BAD_REQUEST, {"error": one.problem})
            return
        if one.id and one in known:
            self._reply(connection, HTTPStatus.OK, {"duplicate": True})
            return
        self.arrivals += 1
        self.arrive(one.dump())
        if self.arrivals == self.lose_reply:
            self.on_lost()
            linger = (socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            connection.socket.setsockopt(*linger)
            self._close(connection)
            return
        self._reply(connection, HTTPStatus.OK, {"duplicate": False})

    def _reply(self, connection: _Connection, status: HTTPStatus, said: object) -> None:
        self._send(connection, answer(status, said))
        self._close(connection)

    def _send(self, connection: _Connection, data: bytes) -> None:
        """It is small: it fits into the socket's buffer, or nobody reads."""
        try:
            connection.socket.send(data)
        except (ConnectionError, BlockingIOError):
            return

    def _close(self, connection: _Connection) -> None:
        del self._connections[connection.socket.fileno()]
        self._poller.unregister(connection.socket)
        connection.socket.close()
