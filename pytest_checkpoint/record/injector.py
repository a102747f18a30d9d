"""What is about to be done, and whether trouble with the device lets it.

A handler says with an :class:`Intent` what its call would do, just before it does it. Every
:class:`Trouble` of the run is asked: it answers with the number of bytes that may be written, or
denies the call. When an operation has been recorded it is told that as well.
"""

from __future__ import annotations

import enum
import errno
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Protocol

from pytest_checkpoint.record.faults import Identity, Injection, identity_of_call
from pytest_checkpoint.record.operations import Effect, Event, Sent, Stored
from pytest_checkpoint.tree.image import NodeId

_SECTOR: Final = 512


class Deed(enum.Enum):
    """What a call would do to the recorded tree."""

    MAKE = "make"
    """A new inode: open, mkdir, symlink, mknod, bind."""
    LINK = "link"
    """One more name."""
    MOVE = "move"
    REMOVE = "remove"
    WRITE = "write"
    """Puts ``length`` bytes into ``node`` from ``start`` on, or as many of them as it may."""
    RESIZE = "resize"
    """Sets the size of ``node`` to ``length``: truncate, open with O_TRUNC."""
    ALLOCATE = "allocate"
    """Sets ``length`` bytes of ``node`` aside from ``start`` on, all or none."""
    CLEAR = "clear"
    """Punches a hole there."""
    ATTRIBUTES = "attributes"
    SYNC = "sync"
    MAP = "map"
    CLOSE = "close"
    OPEN = "open"
    """Opens for writing what is there, and changes nothing: no operation of the recording."""
    LOOK = "look"
    """The same, for reading."""


UNRECORDED: Final = frozenset({Deed.OPEN, Deed.LOOK})


@dataclass(frozen=True, slots=True)
class Intent:
    """One call just before it is carried out. Paths as an Operation has them; sizes in bytes."""

    call: str
    path: bytes
    target_path: bytes
    deed: Deed
    node: NodeId | None
    """The inode concerned, where there is one already."""
    start: int
    length: int


class Denied(Exception):
    """The call fails with this error. ``fires``: that is the trouble which was asked for."""

    def __init__(self, error: int, *, fires: bool = True) -> None:
        super().__init__(error)
        self.error = error
        self.fires = fires


class Trouble(Protocol):
    """What may keep calls from being carried out."""

    def before(self, intent: Intent) -> int:
        """How many of ``intent.length`` bytes may be written, at least one; raises Denied."""
        ...

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        """An operation has been recorded; of a failed one there are no effects."""
        ...


_ROOM: Final = frozenset({Deed.MAKE, Deed.LINK, Deed.WRITE, Deed.ALLOCATE})
_CHANGES: Final = frozenset(Deed) - {Deed.SYNC, Deed.CLOSE, Deed.LOOK}
_LASTING: Final = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: _CHANGES,
    errno.EIO: frozenset(Deed),
}
"""Error → which deeds the same trouble hits from then on."""
_TABLE_FULL: Final = (errno.EMFILE, errno.ENFILE)
_OPENS: Final = ("open", "openat", "openat2", "creat")


@dataclass(slots=True)
class Injector:
    """Carries an :class:`Injection` out. Exact, since all calls come here in one order."""

    injection: Injection
    _met: Counter[Identity] = field(default_factory=Counter)
    """Operations recorded so far."""
    _fired: bool = False

    def before(self, intent: Intent) -> int:
        if self._fired:
            return self._later(intent)
        if intent.deed in UNRECORDED or not self._is_meant(intent):
            return intent.length
        if not self.injection.short:
            self._fired = True
            raise Denied(self.injection.error)
        if intent.length < 2:
            return intent.length
        self._fired = True
        return _half(intent.length)

    def _is_meant(self, intent: Intent) -> bool:
        injection = self.injection
        if intent.call != injection.call:
            return False
        identity = identity_of_call(intent.call, intent.path, intent.target_path)
        return identity == injection.identity and self._met[identity] + 1 == injection.occurrence

    def _later(self, intent: Intent) -> int:
        if self.injection.lasting and self._hits(intent):
            raise Denied(self.injection.error)
        return intent.length

    def _hits(self, intent: Intent) -> bool:
        error = self.injection.error
        if error in _TABLE_FULL:
            return intent.call in _OPENS
        deeds = _LASTING.get(error)
        return intent.call == self.injection.call if deeds is None else intent.deed in deeds

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        if call == self.injection.call and not _is_event(effects):
            self._met[identity_of_call(call, path, target_path)] += 1


def _is_event(effects: tuple[Effect, ...]) -> bool:
    return bool(effects) and isinstance(effects[0], (Event, Sent, Stored))


def _half(length: int) -> int:
    """The first half; in whole sectors where there are some, as descriptors with O_DIRECT want."""
    half = length // 2
    return half - half % _SECTOR if not length % _SECTOR and half >= _SECTOR else half
