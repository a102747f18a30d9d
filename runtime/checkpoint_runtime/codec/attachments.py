"""Parts of a value that go to side files, named within it by what they hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

from checkpoint_runtime.codec.problems import UnreadableValueError

_PIECE_BYTES = 64 * 1024 * 1024
_OWN_NAME = re.compile(r"[0-9a-f]{32}\.(safetensors|bin|txt|json)")


class Attachment:
    """A side file to write.

    The chunks may be views of the value's own memory, so that a tensor is not copied: write them
    before anything changes the value, or the content does not fit the name. Its digest, and with
    that its name, are worked out when they are first asked for, or by :meth:`work_out` before.
    """

    def __init__(self, suffix: str, chunks: Sequence[bytes | memoryview]) -> None:
        """``suffix`` without its dot: ``safetensors``, ``bin``, ``txt`` or ``json``."""
        self.suffix = suffix
        self.data = tuple(chunks)
        """The content, in pieces of any size."""
        self.size_bytes = sum(memoryview(chunk).nbytes for chunk in self.data)

        self._sha256: str | None = None

    @property
    def sha256(self) -> str:
        """Hex, of the whole content."""
        if self._sha256 is None:
            whole = hashlib.sha256()
            for chunk in self.data:
                whole.update(chunk)
            self._sha256 = whole.hexdigest()
        return self._sha256

    def work_out(self, wanted: Callable[[], bool]) -> None:
        """Work out the digest, in a thread say, unless nobody wants it any more.

        :param wanted: is asked again after some tens of milliseconds of work.
        """
        whole = hashlib.sha256()
        for chunk in self.data:
            view = memoryview(chunk)
            for begin in range(0, view.nbytes, _PIECE_BYTES):
                if not wanted():
                    return
                whole.update(view[begin : begin + _PIECE_BYTES])
        self._sha256 = whole.hexdigest()

    @property
    def name(self) -> str:
        """What the value's text calls it: equal content has an equal name."""
        return name_of(self.sha256, self.suffix)

    def content(self) -> bytes:
        """The whole content: a copy."""
        return b"".join(self.data)


def name_of(sha256: str, suffix: str) -> str:
    """The first 32 digits of a SHA-256, and the suffix."""
    return f"{sha256[:32]}.{suffix}"


def in_json(part: object) -> str:
    """How an attachment stands in JSON: for the ``default`` of an encoder.

    :raises TypeError: it is something else.
    """
    return _attachment(part).name


def in_json_later(part: object) -> str:
    """As :func:`in_json`, of the same length, while its content need not be known yet."""
    return name_of("0" * 32, _attachment(part).suffix)


def _attachment(part: object) -> Attachment:
    if not isinstance(part, Attachment):
        raise TypeError(f"{type(part).__name__} has no form in JSON")
    return part


def suffix_of(name: object) -> str:
    """The suffix, without its dot, of a name that a text gives: it may have been tampered with.

    :raises UnreadableValueError: no name of ours, a path say.
    """
    match = _OWN_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise UnreadableValueError(f"{name!r:.100} is not the name of a side file")
    return match[1]
