"""The checksums that a request declares, which the embedded store would take on trust."""

from __future__ import annotations

import base64
import hashlib
import importlib
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from pytest_checkpoint.record.store.http import Malformed, chunks

PREFIX: Final = "x-amz-checksum-"
_MD5: Final = "content-md5"
_SHA256: Final = "x-amz-content-sha256"
_CRC64NVME: Final = 0x9A6C9329AC4BC9B5
"""Reflected polynomials."""
_CRC32C: Final = 0x82F63B78


def decoded(headers: Mapping[str, str], body: bytes) -> tuple[bytes, dict[str, str]]:
    """The object's own bytes, and the headers with what a trailer declared. May raise Malformed.

    S3 clients wrap a body in chunks of their own (``aws-chunked``) to sign it, or to append its
    checksum.
    """
    told = dict(headers)
    encodings = [one.strip() for one in told.get("content-encoding", "").split(",")]
    streamed = told.get(_SHA256, "").startswith("STREAMING-")
    if not streamed and "aws-chunked" not in encodings:
        return body, told
    data, _, trailers = chunks(body)
    if data is None:  # a signed stream without trailers may lack the last line end
        data, _, trailers = chunks(body + b"\r\n")
    if data is None:
        raise Malformed("the aws-chunked body does not end")
    length = told.get("x-amz-decoded-content-length", "")
    if length and length != str(len(data)):
        raise Malformed(f"x-amz-decoded-content-length is {length}, the body has {len(data)} bytes")
    wanted = {name.strip().lower() for name in told.get("x-amz-trailer", "").split(",")}
    told |= {name: value for name, value in trailers.items() if name in wanted}
    left = ",".join(one for one in encodings if one and one != "aws-chunked")
    told.pop("content-encoding", None)
    if left:
        told["content-encoding"] = left
    return data, told


def declared(headers: Mapping[str, str]) -> dict[str, str]:
    """Algorithm → base64: those that a request, or an answer, gives for one whole body."""
    return {
        name.removeprefix(PREFIX): value
        for name, value in headers.items()
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) in _ALGORITHMS
    }


def sums_of(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """The headers of the algorithms that are declared, with the checksums of this body."""
    return {PREFIX + name: _text(_ALGORITHMS[name](body)) for name in declared(headers)}


def wrong(headers: Mapping[str, str], body: bytes) -> str:
    """Which declared checksum is not that of the body, as a header's name; empty: none."""
    md5 = headers.get(_MD5)
    if md5 is not None and md5 != _text(hashlib.md5(body, usedforsecurity=False).digest()):
        return _MD5
    signed = headers.get(_SHA256, "")
    if len(signed) == 64 and signed != hashlib.sha256(body).hexdigest():
        return _SHA256
    for algorithm, value in declared(headers).items():
        if value != _text(_ALGORITHMS[algorithm](body)):
            return PREFIX + algorithm
    return ""


def _text(digest: bytes) -> str:
    return base64.b64encode(digest).decode("ascii")


def _sha1(body: bytes) -> bytes:
    return hashlib.sha1(body, usedforsecurity=False).digest()


def _sha256(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def _crc32(body: bytes) -> bytes:
    return zlib.crc32(body).to_bytes(4, "big")


def _crc32c(body: bytes) -> bytes:
    return _crc(body, "crc32c", _CRC32C, 4)


def _crc64nvme(body: bytes) -> bytes:
    return _crc(body, "crc64nvme", _CRC64NVME, 8)


def _crc(body: bytes, name: str, polynomial: int, size: int) -> bytes:
    """By awscrt where that is installed; by a table otherwise, at some MB a second."""
    fast = _fast(name)
    value = fast(body) if fast is not None else _slow(body, polynomial, size)
    return value.to_bytes(size, "big")


@lru_cache
def _fast(name: str) -> Callable[[bytes], int] | None:
    try:
        found: Callable[[bytes], int] = getattr(importlib.import_module("awscrt.checksums"), name)
    except (ImportError, AttributeError):
        return None
    return found


def _slow(body: bytes, polynomial: int, size: int) -> int:
    table = _table(polynomial)
    everything = (1 << (8 * size)) - 1
    value = everything
    for byte in body:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ everything


@lru_cache
def _table(polynomial: int) -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        table.append(value)
    return tuple(table)


_ALGORITHMS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "crc32": _crc32,
    "crc32c": _crc32c,
    "crc64nvme": _crc64nvme,
    "sha1": _sha1,
    "sha256": _sha256,
}
