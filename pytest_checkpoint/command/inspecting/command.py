"""``inspect``: from the command line to what is printed."""

from __future__ import annotations

import argparse
import sys

from pytest_checkpoint.command.inspecting.inspection import look
from pytest_checkpoint.command.inspecting.report import verdict
from pytest_checkpoint.command.inspecting.shown import as_json, as_text
from pytest_checkpoint.command.inspecting.wanted import wanted_of


def inspect(given: argparse.Namespace) -> tuple[str, int]:
    """The text to print, and the exit code."""
    report = look(wanted_of(given), _say)
    code, _ = verdict(report)
    return (as_json(report) if given.json else as_text(report)), code


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"checkpoint-contracts: {text} …\n")
        sys.stderr.flush()
    except OSError:
        return  # nobody listens; the report is what counts
