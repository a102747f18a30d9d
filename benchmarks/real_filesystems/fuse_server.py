"""The process behind a one-file FUSE file system: a disk that writes down what reaches it.

Run as a program, with the standard library alone. The root of the file system is the file itself,
so there are no names. A write is done, and logged, when it is answered: what was never answered
never reached the disk. While the disk *holds*, new writes wait, as in a slow disk's queue; each is
let go after a while by itself, since whoever waits for it may be the one who would release it.

Descriptors are inherited: /dev/fuse, one end of a SOCK_SEQPACKET pair for commands, and two memory
files: the image and the log. The log is a sequence of records (see :data:`RECORD`), each with its
bytes behind it. The process ends when the file system is unmounted or the other end hangs up.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

RECORD: Final = struct.Struct("=QQ")
"""Offset and length of a write; the offset of a flush is :data:`FLUSH`."""
FLUSH: Final = (1 << 64) - 1

HOLD: Final = b"H"
"""Let new writes wait."""
PASS: Final = b"P"
"""Serve new writes at once; those that wait go on waiting."""
RELEASE: Final = b"R"
"""Serve all that wait, and new ones at once."""
POSITION: Final = b"?"
SETTLE: Final = b"S"
"""Answer when nothing has arrived for a while. Every answer is :data:`ANSWER`."""
ANSWER: Final = struct.Struct("=QQ")
"""How many records are logged, and how many writes wait."""

QUIET_S: Final = 0.002
HELD_AT_MOST_S: Final = 0.25

_IN: Final = struct.Struct("=IIQQIIIHH")
_OUT: Final = struct.Struct("=IiQ")
_TRANSFER: Final = struct.Struct("=QQIIQII")
_OPENED: Final = struct.Struct("=QII")
_WRITTEN: Final = struct.Struct("=II")
_ATTRIBUTES: Final = struct.Struct("=QII 6Q 10I")
_INIT_IN: Final = struct.Struct("=IIII")
_INIT_OUT: Final = struct.Struct("=IIIIHHIIHHII6I")
_STATISTICS: Final = struct.Struct("=5Q4I6I")

_GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _STATFS = 3, 4, 14, 15, 16, 17
_RELEASE, _FSYNC, _FLUSH, _INIT, _DESTROY = 18, 20, 25, 26, 38
_NO_ANSWER: Final = frozenset({2, 36, 42})
"""FORGET, INTERRUPT and BATCH_FORGET are not answered."""
_ASYNC_READ, _BIG_WRITES, _ASYNC_DIRECT, _MAX_PAGES = 1, 1 << 5, 1 << 15, 1 << 22
_DIRECT_IO: Final = 1
_MINOR: Final = 31
_WRITE_BYTES: Final = 1 << 20
_BUFFER_BYTES: Final = _WRITE_BYTES + 4096
_IN_FLIGHT: Final = 4096


class _Held(NamedTuple):
    unique: int
    offset: int
    data: bytes
    until: float


class Server:
    """Answers the kernel's requests, one after another, until the file system goes away."""

    def __init__(self, fuse: int, control: socket.socket, image: int, log: int) -> None:
        self._fuse: Final = fuse
        self._control: Final = control
        self._size: Final = os.fstat(image).st_size
        self._image: Final = mmap.mmap(image, self._size)
        self._log: Final = log
        self._records = 0
        self._holding = False
        self._held: list[_Held] = []
        self._settling = False
        self._fuse_is_gone = False
        self._last_arrival = 0.0
        self._handlers: Final[dict[int, Callable[[int, memoryview], None]]] = {
            _GETATTR: self._attributes,
            _SETATTR: self._attributes,
            _OPEN: lambda unique, body: self._answer(unique, _OPENED.pack(1, _DIRECT_IO, 0)),
            _READ: self._read,
            _WRITE: self._write,
            _STATFS: lambda unique, body: self._answer(unique, bytes(_STATISTICS.size)),
            _RELEASE: lambda unique, body: self._answer(unique, b""),
            _FLUSH: lambda unique, body: self._answer(unique, b""),
            _DESTROY: lambda unique, body: self._answer(unique, b""),
            _FSYNC: self._flush,
            _INIT: self._begin,
        }

    def serve(self) -> None:
        os.set_blocking(self._fuse, False)
        poll = select.poll()
        poll.register(self._fuse, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while True:
            ready = {number for number, _ in poll.poll(self._patience_ms())}
            # Requests first: what the kernel sent before a command counts as before it.
            while self._serve_request():
                pass
            if self._fuse_is_gone:
                return
            if self._control.fileno() in ready and not self._serve_command():
                return
            self._serve_clock()

    def _patience_ms(self) -> float | None:
        """Until something must be done although nothing arrives; None: for ever."""
        moments = [held.until for held in self._held[:1]]
        if self._settling:
            moments.append(self._last_arrival + QUIET_S)
        if not moments:
            return None
        return max(0.0, min(moments) - time.monotonic()) * 1000 + 0.1

    def _serve_clock(self) -> None:
        now = time.monotonic()
        while self._held and self._held[0].until <= now:
            self._let_go(self._held.pop(0))
        if self._settling and now >= self._last_arrival + QUIET_S:
            self._settling = False
            self._tell()

    def _serve_command(self) -> bool:
        """False if the other end has hung up."""
        command = self._control.recv(1)
        if not command:
            return False
        if command in (HOLD, PASS, RELEASE):
            self._holding = command == HOLD
        if command == RELEASE:
            for held in self._held:
                self._let_go(held)
            self._held.clear()
        if command == SETTLE:
            self._last_arrival = time.monotonic()
            self._settling = True
        else:
            self._tell()
        return True

    def _tell(self) -> None:
        self._control.send(ANSWER.pack(self._records, len(self._held)))

    def _serve_request(self) -> bool:
        """False if none is waiting."""
        try:
            request = os.read(self._fuse, _BUFFER_BYTES)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EINTR, errno.ENOENT):
                return error.errno != errno.EAGAIN  # ENOENT: interrupted before it was read
            self._fuse_is_gone = True  # ENODEV: unmounted
            return False
        self._last_arrival = time.monotonic()
        _, opcode, unique, *_ = _IN.unpack_from(request)
        if opcode in _NO_ANSWER:
            return True
        handler = self._handlers.get(opcode)
        if handler is None:
            self._answer(unique, b"", errno.ENOSYS)
        else:
            handler(unique, memoryview(request)[_IN.size :])
        return True

    def _answer(self, unique: int, body: bytes | memoryview, error: int = 0) -> None:
        header = _OUT.pack(_OUT.size + len(body), -error, unique)
        try:
            os.writev(self._fuse, [header, body])
        except OSError as refused:
            if refused.errno not in (errno.ENOENT, errno.ENODEV):  # nobody waits for it any more
                raise

    def _begin(self, unique: int, body: memoryview) -> None:
        _, _, readahead, offered = _INIT_IN.unpack_from(body)
        flags = offered & (_ASYNC_READ | _BIG_WRITES | _ASYNC_DIRECT | _MAX_PAGES)
        pages = _WRITE_BYTES // mmap.PAGESIZE
        answer = _INIT_OUT.pack(
            7, _MINOR, readahead, flags, _IN_FLIGHT, _IN_FLIGHT, _WRITE_BYTES, 1, pages,
            *(0,) * 9,
        )  # fmt: skip
        self._answer(unique, answer)

    def _attributes(self, unique: int, body: memoryview) -> None:
        mode = stat.S_IFREG | 0o600
        blocks = self._size // 512
        self._answer(
            unique,
            _ATTRIBUTES.pack(
                3600, 0, 0, 1, self._size, blocks, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
            ),
        )

    def _read(self, unique: int, body: memoryview) -> None:
        _, offset, size, *_ = _TRANSFER.unpack_from(body)
        self._answer(unique, self._image[offset : offset + size])

    def _write(self, unique: int, body: memoryview) -> None:
        _, offset, size, *_ = _TRANSFER.unpack_from(body)
        data = bytes(body[_TRANSFER.size : _TRANSFER.size + size])
        held = _Held(unique, offset, data, time.monotonic() + HELD_AT_MOST_S)
        if self._holding:
            self._held.append(held)
        else:
            self._let_go(held)

    def _let_go(self, held: _Held) -> None:
        self._image[held.offset : held.offset + len(held.data)] = held.data
        self._record(held.offset, held.data)
        self._answer(held.unique, _WRITTEN.pack(len(held.data), 0))

    def _flush(self, unique: int, body: memoryview) -> None:
        self._record(FLUSH, b"")
        self._answer(unique, b"")

    def _record(self, offset: int, data: bytes) -> None:
        os.writev(self._log, [RECORD.pack(offset, len(data)), data])
        self._records += 1


def main() -> None:
    fuse, control, image, log = (int(argument) for argument in sys.argv[1:])
    Server(fuse, socket.socket(fileno=control), image, log).serve()


if __name__ == "__main__":
    main()
