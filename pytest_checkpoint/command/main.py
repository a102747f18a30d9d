"""The entry point of ``checkpoint-contracts``.

``list`` and ``explain`` need the contracts alone; ``inspect`` needs Linux, and no pytest either.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TextIO

from pytest_checkpoint.command.exit_codes import ExitCode
from pytest_checkpoint.command.hush import hush
from pytest_checkpoint.command.parser import parsed
from pytest_checkpoint.errors import CheckpointError, HarnessError


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    given = parsed(sys.argv[1:] if arguments is None else arguments)
    try:
        text, code = _answer(given)
    except CheckpointError as error:
        _say(f"checkpoint-contracts: {error}", sys.stderr)
        return ExitCode.INCONCLUSIVE if isinstance(error, HarnessError) else ExitCode.USAGE
    except KeyboardInterrupt:
        _say(
            "checkpoint-contracts: interrupted: the job's processes are ended, and the copy is "
            "removed.",
            sys.stderr,
        )
        return ExitCode.INTERRUPTED
    _say(text, sys.stdout)
    return code


def _answer(given: argparse.Namespace) -> tuple[str, int]:
    if given.command == "list":
        from pytest_checkpoint.command.listed import listed

        return listed(as_json=given.json), ExitCode.GOOD
    if given.command == "explain":
        from pytest_checkpoint.command.explained import explained

        return explained(given.contract), ExitCode.GOOD
    from pytest_checkpoint.command.inspecting.command import inspect

    return inspect(given)


def _say(text: str, stream: TextIO) -> None:
    try:
        # What cannot be shown is escaped: a name with odd bytes must not end in a traceback.
        shown = text.encode(stream.encoding or "utf-8", "backslashreplace")
        print(shown.decode(stream.encoding or "utf-8"), file=stream, flush=True)
    except OSError:
        hush(stream)  # the exit code says what matters


if __name__ == "__main__":
    sys.exit(main())
