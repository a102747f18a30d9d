"""A job's own processes: found, and ended. Nobody else's is ever sent a signal.

A process is told by its number and its start. A signal goes through a descriptor of the process
(pidfd) that was found to be of that start: the number cannot become another one's meanwhile.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from checkpoint_runtime.liveness import beater
from checkpoint_runtime.processes import start_ticks

_LOOKS_EVERY_S = 0.1
_KILLED_WITHIN_S = 10.0
"""A process in an uninterruptible call outlives its SIGKILL."""


class Process(NamedTuple):
    """One process, told from a later one of the same number."""

    pid: int
    start_ticks: int

    @property
    def is_there(self) -> bool:
        """Whether it still runs, or could."""
        found = beater.look(self.pid)
        return found is not None and found[1] == self.start_ticks and found[0] not in beater.ENDED


class _Entry(NamedTuple):
    parent: int
    session: int
    process: Process


@dataclass(frozen=True, slots=True)
class Tree:
    """A job's processes: those that are known of it, and all that descend from them."""

    roots: tuple[Process, ...]
    session: int | None
    """Of a job that this process has started: what it left behind came to us, and is in there."""

    def members(self) -> set[Process]:
        """Those that are there now."""
        return _with_descendants(self.roots, self.session)

    def end(self, grace_s: float) -> set[Process]:
        """SIGTERM to the roots, or to what they left; to all there after the grace, SIGKILL.

        :returns: those that are still there.
        :raises OSError: this system cannot send a signal safely; nothing more was sent.
        """
        known = self.members()
        for process in known.intersection(self.roots) or known:
            # A stopped one has to go on to hear of it.
            for number in (signal.SIGTERM, signal.SIGCONT):
                _send(process, number)
        deadline_s = time.monotonic() + grace_s
        while known and (left_s := deadline_s - time.monotonic()) > 0:
            _wait(known, min(left_s, _LOOKS_EVERY_S))
            known = _with_descendants(known, self.session)
        return _kill(known, self.session)


def ended_children(sessions: Collection[int]) -> list[int]:
    """Children of this process that have ended, and came to it as orphans of these sessions."""
    return [
        pid
        for pid, entry in _entries(ended=True).items()
        if entry.parent == os.getpid() and entry.session in sessions and pid not in sessions
    ]


def _kill(known: set[Process], session: int | None) -> set[Process]:
    deadline_s = time.monotonic() + _KILLED_WITHIN_S
    while known and time.monotonic() < deadline_s:
        # Stopped, none starts another that nobody would know of.
        before: set[Process] = set()
        while known != before:
            for process in known - before:
                _send(process, signal.SIGSTOP)
            before, known = known, _with_descendants(known, session)
        for process in known:
            _send(process, signal.SIGKILL)
        _wait(known, _LOOKS_EVERY_S)
        known = _with_descendants(known, session)
    return known


def _send(process: Process, number: signal.Signals) -> None:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if start_ticks(process.pid) == process.start_ticks:
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return  # it is gone
    finally:
        os.close(descriptor)


def _wait(known: Iterable[Process], longest_s: float) -> None:
    """Until one of them is gone."""
    descriptors: list[int] = []
    try:
        for process in known:
            try:
                descriptors.append(os.pidfd_open(process.pid))
            except ProcessLookupError:
                return
        select.select(descriptors, [], [], longest_s)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _with_descendants(known: Iterable[Process], session: int | None) -> set[Process]:
    entries = _entries()
    # Still there: its number in the table may be another one's.
    found = {
        process.pid
        for process in known
        if process.pid in entries and entries[process.pid].process == process
    }
    if session is not None:
        ours = _below({os.getpid()}, entries) - {os.getpid()}
        found |= {pid for pid in ours if entries[pid].session == session}
    return {entries[pid].process for pid in _below(found, entries)}


def _below(roots: set[int], entries: dict[int, _Entry]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, entry in entries.items():
        children.setdefault(entry.parent, []).append(pid)
    found, ahead = set[int](), list(roots)
    while ahead:
        pid = ahead.pop()
        if pid not in found:
            found.add(pid)
            ahead += children.get(pid, [])
    return found


def _entries(*, ended: bool = False) -> dict[int, _Entry]:
    """Every process that is there and that we may see, by number; or those that have ended."""
    found: dict[int, _Entry] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (entry := _entry(int(name), ended)) is not None:
            found[int(name)] = entry
    return found


def _entry(pid: int, ended: bool) -> _Entry | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        if (fields[0].decode() in beater.ENDED) is not ended:
            return None
        return _Entry(int(fields[1]), int(fields[3]), Process(pid, int(fields[19])))
    except (OSError, ValueError, IndexError):
        return None  # it has gone meanwhile
