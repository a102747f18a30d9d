"""A store as fast as one can be: it takes objects on 127.0.0.1, counts their bytes, keeps none.

A throughput goal against a real store measures that store. This one does what a client waits for
and nothing else: it reads the body, remembers size and declared checksum under the key, and says
200. It computes no checksum and gives no object back. It runs until its standard input ends.

Enough of S3 for boto3's ``put_object``, ``head_object`` and ``upload_file``: If-None-Match, a
multipart upload, a LIST that is always empty, DELETE; signatures are not looked at.
"""

from __future__ import annotations

import argparse
import json
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

COUNTS_PATH: Final = "/-/counts"
PROBES: Final = "/_probe/"
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_BUFFER_BYTES: Final = 1 << 20
_SLOW_BYTES: Final = 1 << 14
"""Read at once where the rate is bounded: small, so that the rate is even."""
_EMPTY_LIST: Final = {
    "uploads": b"<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>"
    b"</ListMultipartUploadsResult>",
    "": b"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount>"
    b"</ListBucketResult>",
}
_CREATED: Final = (
    b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
)
_COMPLETED: Final = (
    b"<CompleteMultipartUploadResult><ETag>whole</ETag></CompleteMultipartUploadResult>"
)
_CRC: Final = "x-amz-checksum-crc64nvme"


@dataclass
class Held:
    """What is remembered of an object."""

    size: int
    crc: str
    tag: str


@dataclass
class Pace:
    """Bytes per second, of all connections together. A store that is idle saves nothing up."""

    bytes_per_s: float
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _free_s: float = 0.0
    _never: threading.Event = field(default_factory=threading.Event)

    def take(self, size: int) -> None:
        with self._lock:
            self._free_s = max(self._free_s, time.monotonic()) + size / self.bytes_per_s
            wait_s = self._free_s - time.monotonic()
        if wait_s > 0:
            self._never.wait(wait_s)


class Sink(socketserver.ThreadingTCPServer):
    """The server, and what it has counted."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, pace: Pace | None) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.pace = pace
        self.held: dict[str, Held] = {}
        self.lock = threading.Lock()
        self.tags = 0
        self.requests = 0
        self.body_bytes = 0
        self.first_s = 0.0
        self.last_s = 0.0

    def count(self, size: int) -> None:
        now = time.monotonic()
        with self.lock:
            self.requests += 1
            self.body_bytes += size
            self.last_s = now

    def began(self) -> None:
        now = time.monotonic()
        with self.lock:
            self.first_s = self.first_s or now

    def counts(self) -> bytes:
        """And begin anew."""
        with self.lock:
            found = {
                "requests": self.requests,
                "body_bytes": self.body_bytes,
                "span_s": max(0.0, self.last_s - self.first_s),
            }
            self.requests, self.body_bytes, self.first_s, self.last_s = 0, 0, 0.0, 0.0
            self.held.clear()
        return json.dumps(found).encode()


class Connection(socketserver.BaseRequestHandler):
    """Requests of one client, one after the other."""

    request: socket.socket

    def setup(self) -> None:
        assert isinstance(self.server, Sink)
        self.sink = self.server
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(_BUFFER_BYTES)
        self._rest = b""

    def handle(self) -> None:
        try:
            while head := self._next():
                self._one(head)
        except (ConnectionError, TimeoutError):
            return  # a client that is gone: nothing of its object is remembered

    def _one(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        if headers.get("expect", "").lower() == "100-continue":
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        # What a client tries at its start is no part of its work.
        counted = method == "PUT" and PROBES not in target
        size = self._body(headers, counted)
        if counted:
            self.sink.count(size)
        parts = urlsplit(target)
        answer = getattr(self, f"_{method.lower()}", None)
        if answer is None:
            self._say(HTTPStatus.NOT_IMPLEMENTED)
        elif parts.path == COUNTS_PATH:
            self._say(HTTPStatus.OK, self.sink.counts())
        else:
            answer(parts.path, parts.query, headers, size)

    # --- methods ---

    def _put(self, path: str, query: str, headers: dict[str, str], size: int) -> None:
        if "partNumber" in query:
            self._say(HTTPStatus.OK, headers={"ETag": '"part"'})
            return
        sink = self.sink
        with sink.lock:
            taken = headers.get("if-none-match") == "*" and path in sink.held
            if not taken:
                sink.tags += 1
                sink.held[path] = Held(size, headers.get(_CRC, ""), f'"{sink.tags:032x}"')
            tag = sink.held[path].tag
        if taken:
            self._say(HTTPStatus.PRECONDITION_FAILED, _error("PreconditionFailed"))
        else:
            self._say(HTTPStatus.OK, headers={"ETag": tag})

    def _head(self, path: str, query: str, headers: dict[str, str], size: int) -> None:
        if "/" not in path.strip("/"):
            self._say(HTTPStatus.OK)
            return
        held = self.sink.held.get(path)
        if held is None:
            self._say(HTTPStatus.NOT_FOUND)
            return
        found = {"ETag": held.tag} | ({_CRC: held.crc} if held.crc else {})
        self._say(HTTPStatus.OK, size=held.size, headers=found)

    def _get(self, path: str, query: str, headers: dict[str, str], size: int) -> None:
        if "/" in path.strip("/"):
            self._say(HTTPStatus.NOT_IMPLEMENTED, _error("NotImplemented"))
        else:
            self._say(HTTPStatus.OK, _EMPTY_LIST["uploads" if "uploads" in query else ""])

    def _post(self, path: str, query: str, headers: dict[str, str], size: int) -> None:
        self._say(HTTPStatus.OK, _CREATED if query.startswith("uploads") else _COMPLETED)

    def _delete(self, path: str, query: str, headers: dict[str, str], size: int) -> None:
        with self.sink.lock:
            self.sink.held.pop(path, None)
        self._say(HTTPStatus.NO_CONTENT)

    # --- bytes ---

    def _say(
        self,
        status: HTTPStatus,
        body: bytes = b"",
        *,
        size: int | None = None,
        headers: Mapping[str, str] = NOTHING,
    ) -> None:
        """
        :param size: of what a GET would give, where this is a HEAD.
        """
        lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body) if size is None else size}"]
        self.request.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def _next(self) -> str:
        """The next request without its body; empty when there is none any more."""
        while b"\r\n\r\n" not in self._rest:
            more = self.request.recv(1 << 16)
            if not more:
                return ""
            self._rest += more
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        return head.decode("latin-1")

    def _body(self, headers: dict[str, str], counted: bool) -> int:
        """Read it, and its size."""
        if counted:
            self.sink.began()
        if "chunked" not in headers.get("transfer-encoding", ""):
            return self._exactly(int(headers.get("content-length", 0)), counted)
        whole = 0
        while size := int(self._line().partition(b";")[0], 16):
            whole += self._exactly(size, counted)
            self._line()
        while self._line():
            pass
        return whole

    def _line(self) -> bytes:
        while b"\r\n" not in self._rest:
            more = self.request.recv(1 << 16)
            if not more:
                raise ConnectionError
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\r\n")
        return line

    def _exactly(self, size: int, counted: bool) -> int:
        pace = self.sink.pace if counted else None
        got = min(len(self._rest), size)
        self._rest = self._rest[got:]
        view = memoryview(self._buffer)
        most = _SLOW_BYTES if pace else _BUFFER_BYTES
        if pace and got:
            pace.take(got)
        while got < size:
            read = self.request.recv_into(view[: min(most, size - got)])
            if not read:
                raise ConnectionError
            got += read
            if pace:
                pace.take(read)
        return size


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bytes-per-s", type=float, help="of all bodies together")
    given = parser.parse_args()
    with Sink(Pace(given.bytes_per_s) if given.bytes_per_s else None) as sink:
        thread = threading.Thread(target=sink.serve_forever, daemon=True)
        thread.start()
        print(sink.server_address[1], flush=True)
        sys.stdin.buffer.read()
        sink.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
