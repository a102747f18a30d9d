"""``checkpoint-runtime reconcile``: what the store holds against what the markers say."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.extract.errors import ExtractInputError

if TYPE_CHECKING:
    from checkpoint_runtime.extract.reconcile.findings import Report

_SHARD = "reconcile"


def add_reconcile(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's own arguments."""
    help_text = "compare what extract has stored with its markers, and mend the difference"
    command = commands.add_parser("reconcile", help=help_text, description=help_text)
    command.add_argument(
        "--destination",
        required=True,
        metavar="URL",
        help="s3://bucket/prefix or file:///directory",
    )
    command.add_argument(
        "--markers",
        required=True,
        metavar="DIR",
        help="STATE/markers of extract; or `bucket`: beside the objects (--markers-in-bucket)",
    )
    either = command.add_mutually_exclusive_group(required=True)
    either.add_argument("--dry-run", action="store_true", help="say it, and change nothing")
    either.add_argument("--apply", action="store_true", help="do what follows from it")
    command.add_argument(
        "--deep", action="store_true", help="read the bytes of marked objects, not only their size"
    )
    command.add_argument(
        "--all-lost",
        action="store_true",
        help="with --apply: go on although nothing is there of what is marked",
    )
    command.add_argument("--json", action="store_true", help="as one JSON object")
    command.add_argument(
        "--endpoint-url", metavar="URL", help="of another store than AWS (or AWS_ENDPOINT_URL)"
    )
    command.add_argument(
        "--store-deadline",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="how long one request is tried again (default: %(default)g)",
    )


def reconcile(given: argparse.Namespace) -> ExitCode:
    """Do what the command line says.

    :raises ExtractError: the store or the markers cannot be used.
    """
    report = _report(given)
    from checkpoint_runtime.extract.reconcile.shown import print_report, report_as_json

    try:
        if given.json:
            print(report_as_json(report, applied=given.apply))  # noqa: T201 - what was asked for
        else:
            print_report(report, applied=given.apply)
        sys.stdout.flush()
    except BrokenPipeError:
        hush(sys.stdout)
    differs = report.left if given.apply else report.to_do
    return ExitCode.DIFFERS if differs else ExitCode.DONE


def _report(given: argparse.Namespace) -> Report:
    from checkpoint_runtime.extract.markers.local import LookedAtMarkers
    from checkpoint_runtime.extract.markers.opening import IN_THE_BUCKET, open_markers
    from checkpoint_runtime.extract.reconcile.applying import applied, looked
    from checkpoint_runtime.extract.store.opening import destination_of
    from checkpoint_runtime.extract.store.options import StoreOptions

    deadline_s = given.store_deadline
    if not (math.isfinite(deadline_s) and deadline_s > 0):
        raise ExtractInputError(f"--store-deadline {deadline_s:g} is no time in seconds.")
    if not given.markers:
        raise ExtractInputError("--markers is empty: is a variable not set?")
    options = StoreOptions(endpoint_url=given.endpoint_url, budget_s=deadline_s)
    destination = destination_of(given.destination, options, note=_say)
    destination.check()
    if given.dry_run and given.markers != IN_THE_BUCKET:
        # Without the lock, and so without a file that it makes.
        seen = LookedAtMarkers(Path(given.markers).absolute(), destination.url)
        return looked(destination, seen, deep=given.deep)
    opened = open_markers(given.markers, destination, shard=_SHARD, note=_say)
    with opened as markers:
        if given.apply:
            return applied(destination, markers, deep=given.deep, all_lost=given.all_lost)
        return looked(destination, markers, deep=given.deep)


def _say(text: str) -> None:
    try:
        print(f"checkpoint-runtime: {text}", file=sys.stderr, flush=True)  # noqa: T201 - for the user
    except OSError:
        hush(sys.stderr)
