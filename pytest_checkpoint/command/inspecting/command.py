"""``inspect``: from the command line to what is printed."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_checkpoint.command.inspecting.inspection import look
from pytest_checkpoint.command.inspecting.report import verdict
from pytest_checkpoint.command.inspecting.shown import as_json, as_text
from pytest_checkpoint.command.inspecting.wanted import wanted_of


def inspect(given: argparse.Namespace) -> tuple[str, int]:
    """The text to print, and the exit code."""
    with _ended_as_by_ctrl_c():
        report = look(wanted_of(given), _say)
    code, _ = verdict(report)
    return (as_json(report) if given.json else as_text(report)), code


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM, and a terminal that goes away, end it with a sentence too; not below nohup."""
    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"checkpoint-contracts: {text} …\n")
        sys.stderr.flush()
    except OSError:
        return  # nobody listens; the report is what counts
