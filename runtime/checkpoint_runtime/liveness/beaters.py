"""Who beats for a worker while it works: a process, and another one when that is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from checkpoint_runtime.liveness.beat import Who
from checkpoint_runtime.liveness.beater_process import BeaterProcess
from checkpoint_runtime.liveness.page import Page

Counts = tuple[int, int, int]
"""Progress, done, total; -1: there is no such number."""
_STARTS: Final = 5
"""So many of them in one run: what ends them is the OOM killer, at most."""


class Beaters:
    """The beaters of one worker, one at a time. None is started before it is looked for."""

    def __init__(self, path: Path, interval_s: float, say: Callable[[str], None]) -> None:
        """
        :param say: told what is wrong; the same thing more than once.
        """
        self._path = path
        self._interval_s = interval_s
        self._say = say
        self._page: Page | None = None
        self._beater: BeaterProcess | None = None
        self._started = 0

    def stage(self, stage: bytes) -> None:
        """Where the worker is, in JSON, for the next beats."""
        if self._page is not None:
            self._page.stage(stage)

    def count(self, progress: int, done: int, total: int) -> None:
        """How far it is; -1: there is no such number."""
        if self._page is not None:
            self._page.count(progress, done, total)

    def look_after(
        self, who: Who, text: bytes, stage: bytes, counts: Counts, *, number: int, since_s: float
    ) -> bool:
        """See to it that one is there; False: there is none, and will be none.

        :param text: who beats, in JSON; ``stage``: where it is.
        :param since_s: how long ago the worker itself beat; ``number``: which beat that was.
        """
        if self._page is not None and self._page.problem:
            self._say(unwritten_words(self._path, self._page.problem))
        if self._beater is not None and not self._beater.is_there:
            self._beater.forget()
            self._beater = None
            self._say("the process that beats is gone (killed?): another one is started.")
        if self._beater is None and self._started < _STARTS:
            self._start(who, text, stage, counts, number, since_s)
        return self._beater is not None

    def number(self, number: int) -> int:
        """Of the last beat, if one of them beat."""
        return number if self._page is None else max(number, self._page.number)

    def end(self, number: int) -> int:
        """None beats any more from now on; the number of the last beat.

        :param number: of the worker's own last beat.
        """
        if self._page is not None:
            self._page.turn(0)
        if self._beater is not None:
            self._beater.end()
        number = self.number(number)
        if self._page is not None:
            self._page.close()
        self._beater = self._page = None
        self._started = _STARTS
        return number

    def _start(
        self, who: Who, text: bytes, stage: bytes, counts: Counts, number: int, since_s: float
    ) -> None:
        self._started += 1
        # One that takes over is late already.
        first_at_s = self._interval_s - since_s if self._started == 1 else 0.0
        try:
            if self._page is None:
                self._page = Page(number, text, stage)
                self._page.count(*counts)
            self._page.turn(self._started)
            self._beater = BeaterProcess.started(
                self._page,
                who,
                self._path,
                turn=self._started,
                interval_s=self._interval_s,
                first_at_s=time.monotonic() + first_at_s,
            )
        except OSError as error:
            self._started = _STARTS
            self._say(
                f"no process can be started that beats ({error.strerror or error}): there are only "
                "beats between stages, and where a stage advances."
            )


def unwritten_words(path: Path, code: int | None) -> str:
    """That a beat could not be written.

    :param code: of the error.
    """
    why = os.strerror(code) if code else "for an unknown reason"
    return f"the heartbeat {path} cannot be written: {why}. The job goes on."
