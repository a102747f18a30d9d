"""As much of HTTP/1.1 as it takes to receive a small request and to answer it.

Every answer closes the connection, so a connection carries one request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

MOST: Final = 1 << 20
"""Bytes of a request, head and body."""
_HEAD_END: Final = b"\r\n\r\n"


class Malformed(Exception):
    """No request that can be understood; the text is for whoever sent it."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    body: bytes


def parse(data: bytes) -> Asked | None:
    """The request, or None if its end is still to come. Raises :class:`Malformed`."""
    if len(data) > MOST:
        raise Malformed(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {MOST} bytes")
    head, end, rest = data.partition(_HEAD_END)
    if not end:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    if first.count(" ") != 2:
        raise Malformed(HTTPStatus.BAD_REQUEST, "the first line is no 'METHOD PATH HTTP/1.1'")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    method = first.partition(" ")[0].upper()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = _chunks(rest)
    else:
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise Malformed(HTTPStatus.BAD_REQUEST, f"Content-Length is {length!r}")
        if len(length) > len(str(MOST)) or int(length) > MOST:
            raise Malformed(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {MOST} bytes")
        body = rest[: int(length)] if len(rest) >= int(length) else None
    return None if body is None else Asked(method, body)


def _chunks(rest: bytes) -> bytes | None:
    """A chunked body; None if its end is still to come."""
    body = b""
    while True:
        line, end, rest = rest.partition(b"\r\n")
        if not end:
            return None
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            raise Malformed(HTTPStatus.BAD_REQUEST, "a chunk has no size") from None
        if size < 0:
            raise Malformed(HTTPStatus.BAD_REQUEST, "a chunk has no size")
        if not size:
            return body
        if len(rest) < size + 2:
            return None
        body, rest = body + rest[:size], rest[size + 2 :]


def awaits_go_ahead(data: bytes) -> bool:
    """Whether the sender waits, before it sends the body, to hear that it may."""
    head, end, rest = data.partition(_HEAD_END)
    return bool(end) and not rest and b"\r\nexpect: 100-continue" in head.lower()


GO_AHEAD: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


def answer(status: HTTPStatus, said: object) -> bytes:
    """A whole answer, its body in JSON."""
    body = json.dumps(said).encode() + b"\n"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
