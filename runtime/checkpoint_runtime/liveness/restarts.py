"""Starts a job again: ends what is left of it, then runs its command, within a budget."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from checkpoint_runtime.liveness.beat import Beat
from checkpoint_runtime.liveness.presence import Presence
from checkpoint_runtime.liveness.tree import Process, Tree, ended_children
from checkpoint_runtime.liveness.watcher import Judgement
from checkpoint_runtime.processes import start_ticks
from checkpoint_runtime.texts import counted

_SET_CHILD_SUBREAPER: Final = 36
_LONGEST_BACKOFF_S: Final = 60.0


class Restarts:
    """The restarts of the job of one workspace, whichever of its workers need one.

    Each is asked for again and again until it is made.
    """

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
        self._replaced: set[str] = set()
        """Workers in whose place something was started."""
        self._beats: dict[str, Beat | None] = {}
        """Of the workers that were no incident yet when it was started last."""
        self._refused: dict[str, str] = {}

    @property
    def used_up(self) -> bool:
        """Whether there are no more."""
        return self._made >= self._budget

    @property
    def ended_with(self) -> int | None:
        """The exit code of what was started last; None: it runs, or nothing was started."""
        return None if self._process is None else self._process.poll()

    def refused(self, worker: str) -> bool:
        """Whether nothing can be started in its place."""
        return worker in self._refused

    def has_replaced(self, worker: str) -> bool:
        """Whether something was started in its place."""
        return worker in self._replaced

    def make(self, judgements: Sequence[Judgement]) -> list[str]:
        """Start the job again, once, if a worker needs it and if it is time to.

        :param judgements: all workers of the workspace.
        :returns: the workers in whose place another one is to be expected now.
        """
        needy = [
            judged
            for judged in judgements
            if judged.liveness.is_incident and judged.worker not in self._refused
        ]
        fallen = [judged for judged in needy if not self._fell_before(judged)]
        if not fallen:
            # What was started has taken the place of these too: they fell with the others.
            return self._take_places(self._ended(needy, anew=False))
        if self.used_up or time.monotonic() < self._not_before_s:
            return []
        ended = self._ended(needy, anew=True)
        if not ended or not self._started_for(ended):
            return []
        self._beats = {judged.worker: judged.beat for judged in judgements if judged not in needy}
        return self._take_places(ended)

    def _fell_before(self, judged: Judgement) -> bool:
        """Whether it has not been seen to beat since the job was started again."""
        return judged.beat is not None and self._beats.get(judged.worker) == judged.beat

    def _take_places(self, judgements: Sequence[Judgement]) -> list[str]:
        workers = [judged.worker for judged in judgements]
        for worker in workers:
            self._beats.pop(worker, None)
        self._replaced.update(workers)
        return workers

    def _started_for(self, judgements: Sequence[Judgement]) -> bool:
        workspace = str(judgements[0].workspace)
        command = [part.replace("{workspace}", workspace) for part in self._command]
        try:
            self._start(command)
        except OSError as error:
            for judged in judgements:
                self._refuse(judged, f"{command[0]} cannot be started: {error.strerror}.")
            return False
        self._made += 1
        self._not_before_s = time.monotonic() + min(
            _LONGEST_BACKOFF_S, self._backoff_s * 2.0 ** min(self._made - 1, 32)
        )
        fates = ", ".join(f"{one.worker} was {one.liveness} ({one.why})" for one in judgements)
        left = counted(self._budget - self._made, "restart")
        self._note(f"{fates}: it is started again ({left} left).")
        return True

    def _refuse(self, judged: Judgement, why: str) -> None:
        self._refused[judged.worker] = why
        self._note(f"{judged.worker} is not started again: {why}")

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

    def _ended(self, judgements: Sequence[Judgement], *, anew: bool) -> list[Judgement]:
        """Those of whom nothing is left, whose places are free.

        :param anew: what was started last has to end too.
        """
        roots = {judged.worker: self._roots(judged) for judged in judgements}
        known = [judged for judged in judgements if roots[judged.worker] is not None]
        if not known:
            return []
        processes = {process for found in roots.values() for process in found or ()}
        if anew and self._started is not None:
            processes.add(self._started)
        session = self._process.pid if anew and self._process is not None else None
        problem = self._end(Tree(tuple(processes), session))
        if problem is None:
            return known
        for judged in known:
            self._refuse(judged, problem)
        return []

    def _roots(self, judged: Judgement) -> list[Process] | None:
        """What the worker's beat says of it; None if that is not to be told, or not to be ended."""
        beat = judged.beat
        if beat is not None and not judged.presence.is_dead:
            who = Process(beat.who.pid, beat.who.start_ticks)
            if judged.presence is Presence.UNKNOWN and who != self._started:
                self._refuse(
                    judged,
                    f"it runs on {beat.who.host}, in a place whose processes cannot be seen from "
                    "here. End it there.",
                )
                return None
            return [who]
        if beat is None and judged.problem is not None and self._started is None:
            self._refuse(judged, "its heartbeat does not say which process it is.")
            return None
        return []

    def _end(self, tree: Tree) -> str | None:
        """Why that cannot be done, in a sentence; None: it was."""
        if os.getpid() in {process.pid for process in tree.members()}:
            return "this watch was itself started by that job."
        try:
            survivors = tree.end(self._grace_s)
        except OSError as error:
            return f"its processes cannot be ended safely: {error.strerror}."
        finally:
            self.wait(0)
        if not survivors:
            return None
        pids = ", ".join(str(process.pid) for process in sorted(survivors))
        return f"its processes {pids} do not end, not by SIGKILL either."

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
