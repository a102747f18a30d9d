"""What a job prints: read while it runs, the last part kept."""

from __future__ import annotations

import os
from typing import Final

MOST: Final = 1 << 20
"""Bytes that are kept of what a job prints."""
MOST_OF_A_REPORT: Final = 1 << 28
"""And of what the launcher tells, of which nothing may be lacking."""


class Output:
    """One stream of the job's; our end of its pipe."""

    def __init__(self, descriptor: int, most: int = MOST) -> None:
        self.descriptor = descriptor
        self._most = most
        self._kept = bytearray()
        os.set_blocking(descriptor, False)

    def read(self) -> bool:
        """Take what is there now; False if that is its end."""
        try:
            data = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return True
        self._kept += data
        if len(self._kept) > 2 * self._most:
            del self._kept[: -self._most]
        return bool(data)

    @property
    def anything(self) -> bool:
        """Whether there was any so far."""
        return bool(self._kept)

    def drain(self) -> None:
        """Take all that is there, when nobody writes any more."""
        size = -1
        while size != len(self._kept):
            size = len(self._kept)
            self.read()

    @property
    def text(self) -> str:
        return self._kept[-self._most :].decode(errors="surrogateescape")
