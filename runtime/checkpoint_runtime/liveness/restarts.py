"""Starts a job again: ends what is left of it, then runs its command, within a budget."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from checkpoint_runtime.liveness.presence import Presence
from checkpoint_runtime.liveness.tree import Process, Tree, ended_children
from checkpoint_runtime.liveness.watcher import Judgement
from checkpoint_runtime.processes import start_ticks
from checkpoint_runtime.texts import counted

_SET_CHILD_SUBREAPER: Final = 36
_LONGEST_BACKOFF_S: Final = 60.0


class Restarts:
    """The restarts of one worker. Each is asked for again and again until it is made."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        budget: int,
        backoff_s: float,
        grace_s: float,
        note: Callable[[str], None],
    ) -> None:
        """
        :param command: of the resume; ``{workspace}`` in it is filled in.
        :param budget: so many in all.
        :param backoff_s: between the first and the second; it doubles with each.
        :param grace_s: what is left of the job has so long to end by itself.
        :param note: told what is done, and what is not.
        """
        self._command = command
        self._budget = budget
        self._backoff_s = backoff_s
        self._grace_s = grace_s
        self._note = note
        self._made = 0
        self._not_before_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._started: Process | None = None
        self._sessions: set[int] = set()
        """Of all that were started."""
        self.refused: str | None = None
        """Why it cannot be started again, in a sentence."""

    @property
    def used_up(self) -> bool:
        """Whether there are no more."""
        return self._made >= self._budget

    @property
    def ended_with(self) -> int | None:
        """The exit code of what was started last; None: it runs, or nothing was started."""
        return None if self._process is None else self._process.poll()

    def make(self, judged: Judgement) -> bool:
        """Start the job again, if it is time to; whether that was done.

        Where it must not be, :attr:`refused` says why.
        """
        if self.refused is not None or self.used_up or time.monotonic() < self._not_before_s:
            return False
        tree = self._tree(judged)
        if tree is None or not self._ended(tree):
            self._note(f"{judged.worker} is not started again: {self.refused}")
            return False
        command = [part.replace("{workspace}", str(judged.workspace)) for part in self._command]
        try:
            self._start(command)
        except OSError as error:
            self.refused = f"{command[0]} cannot be started: {error.strerror}."
            self._note(f"{judged.worker} is not started again: {self.refused}")
            return False
        self._made += 1
        self._not_before_s = time.monotonic() + min(
            _LONGEST_BACKOFF_S, self._backoff_s * 2.0 ** min(self._made - 1, 32)
        )
        left = self._budget - self._made
        self._note(
            f"{judged.worker} was {judged.liveness} ({judged.why}): it is started again "
            f"({counted(left, 'restart')} left)."
        )
        return True

    def reap(self) -> None:
        """Wait for what the jobs left behind, and has ended: it came to us."""
        for pid in ended_children(self._sessions):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue  # it has been waited for

    def wait(self, longest_s: float) -> None:
        """For what was started last, so that its exit is not lost."""
        if self._process is not None:
            try:
                self._process.wait(longest_s)
            except subprocess.TimeoutExpired:
                return  # it goes on without us

    def _tree(self, judged: Judgement) -> Tree | None:
        """What is left of the job; None if that is not to be told, or not to be touched."""
        roots: list[Process] = []
        beat = judged.beat
        if beat is not None and not judged.presence.is_dead:
            who = Process(beat.who.pid, beat.who.start_ticks)
            if judged.presence is Presence.UNKNOWN and who != self._started:
                self.refused = (
                    f"it runs on {beat.who.host}, in a place whose processes cannot be seen from "
                    "here. End it there."
                )
                return None
            roots.append(who)
        if beat is None and judged.problem is not None and self._started is None:
            self.refused = "its heartbeat does not say which process it is."
            return None
        if self._started is not None and self._started not in roots:
            roots.append(self._started)
        tree = Tree(tuple(roots), None if self._process is None else self._process.pid)
        if os.getpid() in {process.pid for process in tree.members()}:
            self.refused = "this watch was itself started by that job."
            return None
        return tree

    def _ended(self, tree: Tree) -> bool:
        try:
            survivors = tree.end(self._grace_s)
        except OSError as error:
            self.refused = f"its processes cannot be ended safely: {error.strerror}."
            return False
        finally:
            self.wait(0)
        if survivors:
            pids = ", ".join(str(process.pid) for process in sorted(survivors))
            self.refused = f"its processes {pids} do not end, not by SIGKILL either."
        return not survivors

    def _start(self, command: Sequence[str]) -> None:
        _adopt()
        # A session of its own: what it leaves behind is told by that.
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._sessions.add(self._process.pid)
        ticks = start_ticks(self._process.pid)
        self._started = None if ticks is None else Process(self._process.pid, ticks)


def _adopt() -> None:
    """Orphans of what we start become our children, so that they can be told as its own."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
