"""A file of lines that are whole or do not count, however its writer ends.

Each line is a digest of the rest and the rest, JSON. A line goes to the file in one write before
the next thing is done, so a killed writer loses nothing but what it was writing; a power cut may
take the end of the file, since nothing is synced. Read is what comes before the first line that is
not whole; whoever goes on with the file cuts off the rest first.
"""

from __future__ import annotations

import hashlib
import json
import os
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pytest_checkpoint.errors import HarnessError

_DIGEST: Final = 16
"""Hexadecimal digits."""


class Lines:
    """Appends to such a file while the ``with`` block lasts."""

    def __init__(self, path: Path, whole_bytes: int = 0) -> None:
        """``whole_bytes``: how much of the file counts, as :func:`read_lines` says."""
        self._path: Final = path
        self._whole_bytes: Final = whole_bytes

    def __enter__(self) -> Self:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._file = os.open(self._path, flags, 0o600)
            os.ftruncate(self._file, self._whole_bytes)
        except OSError as error:
            raise unwritable(self._path, error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def append(self, value: Any) -> None:
        """HarnessError if there is no room: what follows half a line would not count."""
        line = line_of(value)
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise unwritable(self._path, error) from error
        if written != len(line):
            raise HarnessError(f"{self._path} takes no more: make room there")


def line_of(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode("ascii")
    return _digest(text) + b" " + text + b"\n"


def read_lines(path: Path, most: int | None = None) -> tuple[list[Any], int]:
    """The values of all whole lines, and how many bytes they are; none if there is no file.

    ``most``: no more lines than that.
    """
    values: list[Any] = []
    whole_bytes = 0
    try:
        with path.open("rb") as file:
            for line in islice(file, most):
                digest, separator, text = line.removesuffix(b"\n").partition(b" ")
                if not (line.endswith(b"\n") and separator and digest == _digest(text)):
                    break
                values.append(json.loads(text))
                whole_bytes += len(line)
    except OSError:
        return [], 0  # as if nothing had been written: whoever asks says so
    return values, whole_bytes


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGEST].encode("ascii")


def unwritable(path: Path, error: OSError) -> HarnessError:
    return HarnessError(
        f"what was judged cannot be written to {path} ({error.strerror}): make room there"
    )
