"""Descriptors of recorded directories, kept open from call to call.

A path is resolved anew at every call, because a name on it may mean something else by then. But
what it leads to is known by its numbers, and as long as we have a directory open no other one can
have the same. So one that is open already need not be opened again.
"""

from __future__ import annotations

import os
from typing import Final

from pytest_checkpoint.record.tracked import Identity

_MOST: Final = 64


class Directories:
    """(st_dev, st_ino) → an O_PATH descriptor of that directory."""

    def __init__(self) -> None:
        self._open: dict[Identity, int] = {}

    def get(self, identity: Identity) -> int | None:
        return self._open.get(identity)

    def keep(self, identity: Identity, descriptor: int) -> bool:
        """Take a descriptor over, if there is place for it."""
        if identity in self._open or len(self._open) >= _MOST:
            return False
        self._open[identity] = descriptor
        return True

    def drop(self, identity: Identity) -> None:
        """It has been removed, or has left: then we must not be who still holds it."""
        descriptor = self._open.pop(identity, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
