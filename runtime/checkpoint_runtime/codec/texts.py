"""Text, bytes, and what is a text with a type: paths and UUIDs."""

from __future__ import annotations

import binascii
import re
from pathlib import PosixPath, PurePosixPath
from typing import Any

from checkpoint_runtime.codec.attachments import suffix_of
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.writer import Writer

LARGEST_INLINE_BYTES = 64 * 1024
"""Longer text (as UTF-8) and bytes go to a side file."""
SURELY_INLINE = LARGEST_INLINE_BYTES // 4
"""So many characters are never more bytes than that."""

_TO_ESCAPE = re.compile("[\\\\\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|ud[89a-f][0-9a-f]{2})|\\")


def write_str(writer: Writer, value: str) -> object:
    if len(value) > SURELY_INLINE:
        content = value.encode("utf-8", "surrogatepass")
        if len(content) > LARGEST_INLINE_BYTES:
            return writer.attach("txt", content, value)
    if is_unicode(value):
        return value
    # JSON's own escapes would not do: it joins two halves of a pair that Python keeps apart.
    return {"$str": _TO_ESCAPE.sub(_escape, value)}


def is_unicode(text: str) -> bool:
    """Whether it holds no surrogates: whether it can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_str(reader: Reader, body: Body) -> str:
    return _ESCAPED.sub(_unescape, expect(str, body["$str"], "$str"))


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}"


def _unescape(match: re.Match[str]) -> str:
    if match[1] is None:
        raise UnreadableValueError("$str has a backslash that escapes nothing")
    return "\\" if match[1] == "\\" else chr(int(match[1][1:], 16))


def write_bytes(writer: Writer, value: bytes) -> object:
    if len(value) > LARGEST_INLINE_BYTES:
        return writer.attach("bin", value, value)
    return {"$bytes": to_base64(value)}


def read_bytes(reader: Reader, body: Body) -> bytes:
    return from_base64(body["$bytes"], "$bytes")


def write_bytearray(writer: Writer, value: bytearray) -> object:
    # A copy: a bytearray that is viewed cannot change its length.
    content = bytes(value)
    if len(content) > LARGEST_INLINE_BYTES:
        return {"$bytearray": writer.attach("bin", content, value)}
    return {"$bytearray": to_base64(content)}


def read_bytearray(reader: Reader, body: Body) -> bytearray:
    found = body["$bytearray"]
    return bytearray(found if type(found) is bytes else from_base64(found, "$bytearray"))


def read_file(reader: Reader, body: Body) -> object:
    """What a side file holds: text or bytes."""
    name = body["$file"]
    if suffix_of(name) == "txt":
        return reader.text(name, "txt")
    return bytes(reader.content(name, "bin"))


def to_base64(content: bytes | memoryview) -> str:
    return binascii.b2a_base64(content, newline=False).decode("ascii")


def from_base64(text: object, what: str) -> bytes:
    return binascii.a2b_base64(expect(str, text, what), strict_mode=True)


def write_path(writer: Writer, value: PurePosixPath) -> object:
    tag = "$path" if type(value) is PosixPath else "$purepath"
    return {tag: write_str(writer, str(value))}


def read_path(reader: Reader, body: Body) -> PosixPath:
    return PosixPath(expect(str, body["$path"], "$path"))


def read_purepath(reader: Reader, body: Body) -> PurePosixPath:
    return PurePosixPath(expect(str, body["$purepath"], "$purepath"))


def write_uuid(writer: Writer, value: Any) -> object:
    safety = value.is_safe.value
    return {"$uuid": str(value)} if safety is None else {"$uuid": str(value), "safe": safety}


def read_uuid(reader: Reader, body: Body) -> object:
    from uuid import UUID, SafeUUID

    return UUID(expect(str, body["$uuid"], "$uuid"), is_safe=SafeUUID(body.get("safe")))
