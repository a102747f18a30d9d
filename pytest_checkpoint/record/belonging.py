"""Which processes are the job's own, and which others it has tried to signal.

The kit's processes, and everybody else's, are within its reach: a signal to one that is not of the
job's own tree is refused, and told. Only a *bystander*, a process that the kit has put there to see
whether it is left alone, is sent what it is sent.

Between the look at a process and the signal, which the kernel sends, the number could be given to
another process; numbers go round once in tens of thousands.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Final, Never

from pytest_checkpoint.record import family
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.reply import Fails, PassOn

_MOST: Final = 20
"""So many different ones are told."""


@dataclass(slots=True)
class Belonging:
    """Of one execution."""

    spared: Set[int] = family.NOBODY
    """Children of the supervisor that are none of the job's."""
    bystanders: frozenset[int] = frozenset()
    strays: list[str] = field(default_factory=list)
    """``SIGTERM to 4711 (python other.py)``: what was not the job's to signal."""

    def to_process(self, caller: Caller, target: int, number: int) -> Never:
        """The caller signals a process, or a thread of it: always raises."""
        self._require_our_numbers(caller)
        if not os.path.exists(f"/proc/{target}"):
            raise Fails(errno.ESRCH)
        if family.is_below(target, self.spared):
            raise PassOn
        if not os.path.exists(f"/proc/{target}"):  # somebody has waited for it meanwhile
            raise Fails(errno.ESRCH)
        self._note(number, [target])
        self._decide([target])

    def to_group(self, caller: Caller, group: int, number: int) -> Never:
        self._require_our_numbers(caller)
        members = family.group(group)
        if not members:
            raise Fails(errno.ESRCH)
        strangers = [one for one in members if not family.is_below(one, self.spared)]
        strangers = [one for one in strangers if family.is_member(one, group)]  # still
        self._note(number, strangers)
        self._decide(strangers)

    def to_all(self, caller: Caller, number: int) -> Never:
        self._require_our_numbers(caller)
        self._tell(f"{_name(number)} to every process")
        raise Fails(errno.EPERM)

    def _require_our_numbers(self, caller: Caller) -> None:
        """Who has process numbers of its own cannot name anybody but its own."""
        try:
            ours, theirs = (os.readlink(f"/proc/{who}/ns/pid") for who in ("self", caller.thread))
        except OSError:  # it hides that; its numbers are taken for ours
            return
        if ours != theirs:
            raise PassOn

    def _decide(self, strangers: Sequence[int]) -> Never:
        """None, or bystanders alone: it is sent."""
        if self.bystanders.issuperset(strangers):
            raise PassOn
        raise Fails(errno.EPERM)

    def _note(self, number: int, strangers: Sequence[int]) -> None:
        for text in family.names(strangers):
            self._tell(f"{_name(number)} to {text}")

    def _tell(self, text: str) -> None:
        if text not in self.strays and len(self.strays) < _MOST:
            self.strays.append(text)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
