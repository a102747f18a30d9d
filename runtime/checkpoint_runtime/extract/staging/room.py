"""Room in the staging: taken before the forward pass, given back when the staged file is gone.

Who asks for room waits while what is used *would pass* the high mark, of any of three things: the
bytes of the file system and its inodes, whoever uses them, and the worker's own budget. It goes on
when that is below the low mark again, or when nothing of ours is left there: what others hold we
cannot free, and the high mark is what counts then. As long as something of ours is there it is on
its way into the store, and the store's own deadline watches over that. When nothing is, and it
does not fit, the staging's deadline runs.

What is taken but not yet in the file system is counted on top of what ``statvfs`` says. A file that
is being written counts twice for that moment: too much, never too little.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from checkpoint_runtime.extract.errors import StagingError
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.usage import Usage, usage_of
from checkpoint_runtime.texts import counted

_LOOKS_EVERY_S: Final = 0.1
"""What others use changes without a word."""


class Reservation:
    """Room for one file."""

    def __init__(self, size_bytes: int) -> None:
        """
        :param size_bytes: in whole blocks.
        """
        self.size_bytes = size_bytes
        self.is_on_disk = False
        """Whether the file system counts it already."""


class Room:
    """Of one worker, in the file system of one directory."""

    def __init__(
        self,
        folder: Path,
        marks: Marks,
        *,
        changed: threading.Condition | None = None,
        check: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda text: None,
        clear: Callable[[], bool] = lambda: False,
        look: Callable[[Path], Usage] = usage_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param changed: notified when room is given back, and by whoever wants ``check`` to be
            called.
        :param check: raises what is to end the waiting.
        :param note: told that it waits, and that it goes on.
        :param clear: asked at the deadline to remove what others could do without; whether
            anything was.
        """
        self._folder = folder
        self._marks = marks
        self._changed = changed or threading.Condition()
        self.check = check
        self._note = note
        self._clear = clear
        self._look = look
        self._clock = clock
        self._held: set[Reservation] = set()
        self._full_s: float | None = None
        """Since when only others could give room back; None: that is not so."""
        self._refused_s: float | None = None
        """Since when the file system takes nothing although there seemed to be room."""
        self.paused_s = 0.0
        self.pauses = 0
        self.peak_bytes = 0
        """The most that was held at once."""

    @property
    def held_bytes(self) -> int:
        with self._changed:
            return sum(one.size_bytes for one in self._held)

    def reserve(self, size_bytes: int) -> Reservation:
        """Wait until a file of that size fits, and take the room.

        :raises StagingError: it never fits, or did not within the deadline.
        """
        begun_s: float | None = None
        limits: set[str] = set()
        """What had to wait for them has to wait until they are low."""
        while True:
            self.check()
            with self._changed:
                usage = self._look(self._folder)
                wanted = Reservation(_in_blocks(size_bytes, usage.block_bytes))
                self._require_possible(wanted, usage)
                passed = self._passed(wanted, usage, limits)
                if passed is None:
                    self._take(wanted)
                    break
                limits.add(passed[0])
                if begun_s is None:
                    begun_s = self._clock()
                    self._pause(passed[1])
                self._require_in_time(wanted.size_bytes, usage, ours=bool(self._held))
                self._changed.wait(_LOOKS_EVERY_S)
        if begun_s is not None:
            self._go_on(self._clock() - begun_s)
        return wanted

    def counted(self, size_bytes: int) -> Reservation:
        """Room that is taken already, by a file that an earlier start left: whatever the marks."""
        with self._changed:
            usage = self._look(self._folder)
            taken = Reservation(_in_blocks(size_bytes, usage.block_bytes))
            taken.is_on_disk = True
            self._take(taken)
        return taken

    def allocated(self, reservation: Reservation) -> None:
        """The file system counts it from now on."""
        with self._changed:
            reservation.is_on_disk = True
            self._full_s = None
            since_s, self._refused_s = self._refused_s, None
        if since_s is not None:
            self._go_on(self._clock() - since_s)

    def refused(self, reservation: Reservation, why: str) -> None:
        """The file system had no room all the same: another tenant was quicker, or has a quota.

        Returns after something was given back, or a while, to try again; the room stays taken.

        :raises StagingError: the deadline has passed.
        """
        self.check()
        with self._changed:
            reservation.is_on_disk = False
            if self._refused_s is None:
                self._refused_s = self._clock()
                self._pause(why)
            usage = self._look(self._folder)
            others = len(self._held - {reservation})
            self._require_in_time(reservation.size_bytes, usage, ours=others > 0)
            self._changed.wait(_LOOKS_EVERY_S)

    def release(self, reservation: Reservation) -> None:
        """Its file is gone. A second time nothing happens."""
        with self._changed:
            self._held.discard(reservation)
            self._changed.notify_all()

    # --- under the lock ---

    def _take(self, wanted: Reservation) -> None:
        self._held.add(wanted)
        self._full_s = None
        self.peak_bytes = max(self.peak_bytes, sum(one.size_bytes for one in self._held))

    def _passed(
        self, wanted: Reservation, usage: Usage, limits: set[str]
    ) -> tuple[str, str] | None:
        """The first limit that keeps it out, and a clause that says so."""
        pending = [one for one in self._held if not one.is_on_disk]
        held = sum(one.size_bytes for one in self._held)
        found = [
            (
                "bytes",
                usage.used_bytes + sum(one.size_bytes for one in pending),
                wanted.size_bytes,
                usage.total_bytes,
            ),
            ("inodes", usage.used_inodes + len(pending), 1, usage.total_inodes),
            ("budget", held, wanted.size_bytes, self._marks.budget_bytes or 0),
        ]
        for name, used, more, total in found:
            if not total:
                continue
            fits = used + more <= self._marks.high * total
            low = used <= self._marks.low * total or not self._held
            if not fits or (name in limits and not low):
                what = "inodes" if name == "inodes" else "bytes"
                of = "the staging's budget of" if name == "budget" else "the file system's"
                return name, (
                    f"{used:,} {what} are taken of {of} {total:,}, {more:,} more are needed, and "
                    f"the high mark is {self._marks.high * 100:g} %"
                )
        return None

    def _require_possible(self, wanted: Reservation, usage: Usage) -> None:
        """
        :raises StagingError: it would not fit into an empty staging.
        """
        for total, what, remedy in (
            (usage.total_bytes, "the file system", "a larger staging"),
            (self._marks.budget_bytes, "--staging-budget", "a larger budget"),
        ):
            if total and wanted.size_bytes > self._marks.high * total:
                raise StagingError(
                    f"{self._folder}: one batch needs {wanted.size_bytes:,} bytes, and "
                    f"{self._marks.high * 100:g} % of {what} are "
                    f"{int(self._marks.high * total):,}: it can never be staged. Take smaller "
                    f"batches (--batch-tokens), {remedy}, or a higher mark (--staging-high)."
                )

    def _require_in_time(self, needed_bytes: int, usage: Usage, *, ours: bool) -> None:
        """
        :param ours: something else of ours is there, which will give room back.
        :raises StagingError: the deadline has passed.
        """
        now_s = self._clock()
        if ours:
            self._full_s = None
            return
        if self._full_s is None:
            self._full_s = now_s
        if now_s - self._full_s >= self._marks.deadline_s:
            if self._clear():
                self._full_s = now_s
                return
            raise StagingError(
                f"{self._folder}: there is no room for the next batch: {needed_bytes:,} bytes are "
                f"needed, {usage.free_bytes:,} bytes and {usage.free_inodes:,} inodes are free, "
                f"and what may be used ends at {self._marks.high * 100:g} %. Nothing of this "
                "worker is left there to be freed: others hold it, and gave nothing back within "
                f"{self._marks.deadline_s:g} s. Make room, then extract again: what is marked is "
                "done."
            )

    def _pause(self, why: str) -> None:
        self.pauses += 1
        held = sum(one.size_bytes for one in self._held)
        self._note(
            f"the staging {self._folder} is full: {why}. Paused: "
            f"{counted(len(self._held), 'file')} of this worker, {held:,} bytes, have "
            "yet to get into the store."
        )

    def _go_on(self, waited_s: float) -> None:
        self.paused_s += waited_s
        usage = self._look(self._folder)
        self._note(
            f"the staging has room again after {waited_s:.1f} s: {usage.free_bytes:,} bytes and "
            f"{usage.free_inodes:,} inodes are free. Going on."
        )


def _in_blocks(size_bytes: int, block_bytes: int) -> int:
    return -(-size_bytes // block_bytes) * block_bytes
