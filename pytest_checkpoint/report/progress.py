"""Shows how far an examination has come: a live line on a terminal, now and then a plain one.

pytest captures output while an item runs, so every write lifts the capture for a moment. With
``-q`` only the estimate is shown, with ``-qq`` nothing; in an xdist worker there is no terminal.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from pytest_checkpoint.examination import Progress

LINE_EVERY_S = 10.0
LINE_EVERY_SHARE = 0.1
LINES_APART_S = 2.0
"""However fast the shares go by."""
LIVE_EVERY_S = 0.2


class Screen(Protocol):
    """What progress is written to."""

    live: bool

    def line(self, text: str) -> None:
        """A line that stays."""

    def rewrite(self, text: str) -> None:
        """A line in place of the last rewritten one; empty: clear it."""


class SilentProgress:
    """Shows nothing."""

    def phase(self, text: str) -> None:
        """A new phase begins."""

    def estimate(self, text: str) -> None:
        """What is ahead."""

    def advance(self, done: int, total: int) -> None:
        """So many states have been explored."""


class ShownProgress:
    """Progress of one subject on a screen."""

    def __init__(
        self,
        subject: str,
        screen: Screen,
        *,
        brief: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._subject = subject
        self._screen = screen
        self._brief = brief
        self._clock = clock
        self._last_s = clock()
        self._last_share = 0.0

    def phase(self, text: str) -> None:
        if self._screen.live:
            self._screen.rewrite(f"{self._subject}: {text}")
        elif not self._brief:
            self._screen.line(f"{self._subject}: {text}")
        self._last_s = self._clock()

    def estimate(self, text: str) -> None:
        self._screen.line(f"{self._subject}: {text}")
        self._last_s = self._clock()
        self._last_share = 0.0

    def advance(self, done: int, total: int) -> None:
        now_s = self._clock()
        share = done / total if total else 1.0
        if not self._due(now_s - self._last_s, share - self._last_share):
            return
        self._last_s, self._last_share = now_s, share
        text = f"{self._subject}: {done} of {total} states explored"
        if self._screen.live:
            self._screen.rewrite(f"{text} ({share:.0%})")
        elif not self._brief:
            self._screen.line(text)

    def _due(self, passed_s: float, gained: float) -> bool:
        if self._screen.live:
            return passed_s >= LIVE_EVERY_S
        return passed_s >= LINE_EVERY_S or (
            gained >= LINE_EVERY_SHARE and passed_s >= LINES_APART_S
        )


class TerminalScreen:
    """pytest's own terminal reporter, reached through its capture."""

    def __init__(self, config: pytest.Config, reporter: pytest.TerminalReporter) -> None:
        self.live = bool(reporter.isatty) and os.environ.get("TERM") != "dumb"
        self._config = config
        self._reporter = reporter
        self._wrote = False
        self._dirty = False

    def line(self, text: str) -> None:
        with self._uncaptured():
            self._clear()
            self._reporter.write_line(text)
            self._reporter.flush()  # into a file or a pipe it might come much later

    def rewrite(self, text: str) -> None:
        with self._uncaptured():
            self._clear()
            self._reporter.rewrite(text, erase=True)
            self._reporter.flush()
            self._dirty = True

    def close(self, nodeid: str) -> None:
        """Leave the cursor where pytest expects it: behind the item's prefix."""
        if not self._wrote:
            return
        with self._uncaptured():
            self._clear()
            if self._config.get_verbosity() == 0:
                self._reporter.write_fspath_result(nodeid, "")

    @contextlib.contextmanager
    def _uncaptured(self) -> Iterator[None]:
        manager = self._config.pluginmanager.get_plugin("capturemanager")
        with contextlib.ExitStack() as stack:
            if manager is not None:
                stack.enter_context(manager.global_and_fixture_disabled())
            if not self._wrote:
                self._reporter.ensure_newline()
                self._wrote = True
            yield

    def _clear(self) -> None:
        if self._dirty:
            self._reporter.rewrite("", erase=True)
            self._reporter.rewrite("")
            self._dirty = False


@contextlib.contextmanager
def show_progress(config: pytest.Config, subject: str, nodeid: str) -> Iterator[Progress]:
    """Progress for ``subject``, while the item ``nodeid`` runs."""
    reporter: pytest.TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput") or config.get_verbosity() < -1:
        yield SilentProgress()
        return
    screen = TerminalScreen(config, reporter)
    try:
        yield ShownProgress(subject, screen, brief=config.get_verbosity() < 0)
    finally:
        screen.close(nodeid)
