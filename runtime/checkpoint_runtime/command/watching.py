"""``checkpoint-runtime watch``: looks until there is nothing left to wait for."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.incidents import Incidents
from checkpoint_runtime.command.watch_options import WatchOptions, watch_options
from checkpoint_runtime.command.watch_shown import Shown, shown_watch
from checkpoint_runtime.liveness.judgement import Liveness
from checkpoint_runtime.liveness.looking import Looking
from checkpoint_runtime.liveness.watcher import Judgement

_CODES = (
    (Liveness.STALE, ExitCode.STALE),
    (Liveness.STALLED, ExitCode.STALLED),
    (Liveness.WAITING, ExitCode.WAITING),
    (Liveness.FAILED, ExitCode.STAGE_FAILED),
    (Liveness.PREEMPTED, ExitCode.PREEMPTED),
)
"""Of several workers the worst counts: the first that is found."""


class _Interrupted(Exception):
    """SIGTERM, or Ctrl-C."""


def watch(given: argparse.Namespace) -> ExitCode:
    """Watch as the command line says; the exit code.

    :raises DefinitionError: options that are none.
    """
    options = watch_options(given)
    looking = Looking(
        options.workspaces,
        stale_after_s=options.stale_after_s,
        stalled_after_s=options.stalled_after_s,
        start_within_s=options.start_within_s,
    )
    try:
        with _interruptible(), shown_watch(options) as shown:
            if options.once:
                return _code_of(_decided(looking, shown))
            return _watched(options, looking, shown)
    except _Interrupted:
        return ExitCode.INTERRUPTED


def _decided(looking: Looking, shown: Shown) -> list[Judgement]:
    """Look until it is clear what to say of each."""
    judgements = looking.look()
    while not all(judged.decided for judged in judgements):
        _wait(looking.every_s)
        judgements = looking.look()
    shown.decided(judgements)
    return judgements


def _watched(options: WatchOptions, looking: Looking, shown: Shown) -> ExitCode:
    incidents = Incidents(options, looking.watcher, shown.note)
    try:
        while True:
            judgements = incidents.corrected(looking.look())
            shown.now(judgements)
            started = incidents.see_to(judgements)
            if not started and all(incidents.is_settled(judged) for judged in judgements):
                if any(incidents.used_up(judged) for judged in judgements):
                    shown.note("there are no more restarts.")
                    return ExitCode.RESTARTS_USED_UP
                return _code_of(judgements)
            _wait(looking.every_s)
    finally:
        incidents.close()


def _code_of(judgements: Sequence[Judgement]) -> ExitCode:
    found = {judged.liveness for judged in judgements}
    return next((code for liveness, code in _CODES if liveness in found), ExitCode.DONE)


def _wait(time_s: float) -> None:
    # An event that nobody sets: a wait, which a signal ends.
    threading.Event().wait(time_s)


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and Ctrl-C end it in order; a second one at once."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        let_go()
        raise _Interrupted

    def let_go() -> None:
        while previous:
            signal.signal(*previous.popitem())

    previous: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            previous[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        let_go()
