"""A server between a client and a store that fails as it is told to, and tells what it has seen."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from checkpoint_runtime.extract.crc import as_base64, crc64nvme

CRC_HEADER = "x-amz-checksum-crc64nvme"


@dataclass
class Fault:
    """What happens to the next requests that it fits. The kinds are branches of ``_faulted``."""

    kind: str
    method: str = "PUT"
    within: str = ""
    """A part of the path."""
    times: int = 1
    body: Callable[[bytes], bytes] = field(default=lambda body: body)
    """What the store is given instead."""
    status: int = 503
    code: str = "SlowDown"

    def fits(self, method: str, path: str) -> bool:
        apart = "/_probe/" in path and "_probe" not in self.within
        return self.times > 0 and method == self.method and self.within in path and not apart


class FaultyStore:
    """As a context manager. ``computes``: it checks and tells checksums as a real store does."""

    def __init__(self, behind: str, *, computes: bool = False) -> None:
        self.behind = urlsplit(behind)
        self.computes = computes
        self.faults: list[Fault] = []
        self.seen: list[tuple[str, str]] = []
        """Method and path of each request."""
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"store": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.hung = threading.Event()

    def __enter__(self) -> FaultyStore:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.hung.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def again(self) -> FaultyStore:
        """For the next test."""
        with self.lock:
            self.faults.clear()
            self.seen.clear()
        return self

    def fault(self, kind: str, **given: Any) -> Fault:
        found = Fault(kind, **given)
        self.faults.append(found)
        return found

    def count(self, method: str, within: str = "") -> int:
        return sum(one == method and within in path for one, path in self.seen)

    def next_fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            self.seen.append((method, path))
            for fault in self.faults:
                if fault.fits(method, path):
                    fault.times -= 1
                    return fault
        return None

    def forwarded(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.behind.hostname or "", self.behind.port)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store: FaultyStore

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Nothing is told."""

    def _serve(self) -> None:
        fault = self.store.next_fault(self.command, self.path)
        if fault is not None and fault.kind == "reset":
            self.close_connection = True
            return
        if fault is not None and fault.kind == "hang":
            self.store.hung.wait(20)
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers.pop("expect", None)
        if fault is not None:
            self._faulted(fault, headers, body)
            return
        told = headers.get(CRC_HEADER)
        checked = self.store.computes and self.command == "PUT" and told is not None
        if checked and told != as_base64(crc64nvme(body)):
            self._refuse(400, "BadDigest")
            return
        self._answer(*self._forwarded(headers, body))

    def _faulted(self, fault: Fault, headers: dict[str, str], body: bytes) -> None:
        if fault.kind == "answer":
            self._refuse(fault.status, fault.code)
        elif fault.kind == "silent":
            self._answer(200, {"ETag": '"0"'}, b"")
        elif fault.kind == "page":
            self._answer(200, {"Content-Type": "text/html"}, b"<p>Welcome to this <b>airport")
        elif fault.kind == "altered":
            headers["content-length"] = str(len(fault.body(body)))
            self._answer(*self._forwarded(headers, fault.body(body)))
        elif fault.kind == "lost reply":
            self._forwarded(headers, body)
            self.close_connection = True
        elif fault.kind == "cut":
            status, told, content = self._forwarded(headers, body)
            self._answer(status, told, content, sent=len(content) // 2)
            self.close_connection = True
        else:
            raise AssertionError(fault.kind)

    def _forwarded(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        found = self.store.forwarded(self.command, self.path, headers, body)
        if self.store.computes and self.command == "HEAD" and found[0] == 200:
            # moto repeats what it was told: a store that computes tells of what it holds.
            content = self.store.forwarded("GET", self.path, headers, b"")[2]
            found[1][CRC_HEADER] = as_base64(crc64nvme(content))
        return found

    def _refuse(self, status: int, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>injected</Message></Error>".encode()
        self._answer(status, {"Content-Type": "application/xml"}, text)

    def _answer(
        self, status: int, headers: dict[str, str], body: bytes, sent: int | None = None
    ) -> None:
        self.send_response_only(status)
        length = headers.get("Content-Length", str(len(body)))
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:sent])

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _serve  # noqa: N815 - as the base class has it
