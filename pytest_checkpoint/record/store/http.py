"""As much of HTTP/1.1 as an S3 client speaks: requests with large bodies, answers, kept alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

MOST_BODY: Final = 1 << 30
"""Bytes: more is no test object."""
MOST_HEAD: Final = 1 << 16
GO_AHEAD: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_HEAD_END: Final = b"\r\n\r\n"


class Malformed(Exception):
    """No request that can be understood; the text is for whoever sent it."""


class TooLarge(Malformed):
    """More than is taken."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line and the headers of a request."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Lower-case names; of several with one name all, joined by commas."""
    is_old: bool = False
    """HTTP/1.0: the connection is closed after the answer."""

    @property
    def closes(self) -> bool:
        """Whether the sender wants no further answer on this connection."""
        wanted = self.headers.get("connection", "").lower()
        return "close" in wanted or (self.is_old and "keep-alive" not in wanted)

    @property
    def awaits_go_ahead(self) -> bool:
        """Whether it waits, before it sends the body, to hear that it may."""
        return self.headers.get("expect", "").lower() == "100-continue"

    @property
    def is_chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "").lower().endswith("chunked")

    @property
    def length(self) -> int:
        """Bytes of a body that is not chunked."""
        text = self.headers.get("content-length", "0")
        if not text.isascii() or not text.isdigit():
            raise Malformed(f"Content-Length is {text!r}")
        if len(text) > len(str(MOST_BODY)) or int(text) > MOST_BODY:
            raise TooLarge(f"more than {MOST_BODY} bytes")
        return int(text)


def take_head(received: bytearray) -> Head | None:
    """Take the head off what was received; None: its end is still to come. May raise Malformed."""
    end = received.find(_HEAD_END)
    if end < 0:
        if len(received) > MOST_HEAD:
            raise Malformed("the head of the request does not end")
        return None
    first, *lines = bytes(received[:end]).decode("latin-1").split("\r\n")
    del received[: end + len(_HEAD_END)]
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Malformed("the first line is no 'METHOD TARGET HTTP/1.1'")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return Head(words[0].upper(), words[1], headers, words[2] == "HTTP/1.0")


def take_body(head: Head, received: bytearray) -> bytes | None:
    """Take the body off what was received; None: its end is still to come. May raise Malformed."""
    if head.is_chunked:
        body, taken, _ = chunks(received)
        if body is None:
            if len(received) > MOST_BODY:
                raise TooLarge(f"more than {MOST_BODY} bytes")
            return None
        del received[:taken]
        return body
    length = head.length
    if len(received) < length:
        return None
    body = bytes(memoryview(received)[:length])
    del received[:length]
    return body


def chunks(data: bytes | bytearray) -> tuple[bytes | None, int, Mapping[str, str]]:
    """A chunked body: its bytes (None: unfinished), how many it takes up, and its trailers."""
    pieces: list[bytes] = []
    place = 0
    while True:
        end = data.find(b"\r\n", place)
        if end < 0:
            return None, 0, {}
        size = _chunk_size(bytes(data[place:end]))
        place = end + 2
        if not size:
            break
        if len(data) < place + size + 2:
            return None, 0, {}
        pieces.append(bytes(data[place : place + size]))
        place += size + 2
    trailers: dict[str, str] = {}
    while True:
        end = data.find(b"\r\n", place)
        if end < 0:
            return None, 0, {}
        line = bytes(data[place:end]).decode("latin-1")
        place = end + 2
        if not line:
            return b"".join(pieces), place, trailers
        name, _, value = line.partition(":")
        trailers[name.strip().lower()] = value.strip()


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    try:
        size = int(digits, 16)
    except ValueError:
        raise Malformed("a chunk has no size") from None
    if size < 0 or size > MOST_BODY:
        raise Malformed("a chunk has no size")
    return size


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to a request."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    """Without those of the connection."""
    body: bytes = b""

    def header(self, name: str) -> str:
        """The first of this name; empty: there is none."""
        return next((value for one, value in self.headers if one.lower() == name), "")

    def without(self, *names: str) -> tuple[tuple[str, str], ...]:
        return tuple(pair for pair in self.headers if pair[0].lower() not in names)

    def dump(self, *, is_head: bool = False, closes: bool = False) -> bytes:
        """As it goes over the line. ``is_head``: it answers HEAD, and has no body."""
        length = self.header("content-length") if is_head else ""
        lines = [f"HTTP/1.1 {self.status} {_phrase(self.status)}"]
        lines += [f"{name}: {value}" for name, value in self.without("content-length")]
        if self.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            lines.append(f"Content-Length: {length or len(self.body)}")
        lines.append(f"Connection: {'close' if closes else 'keep-alive'}")
        head = "\r\n".join(lines).encode("latin-1", "replace") + _HEAD_END
        return head if is_head else head + self.body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
