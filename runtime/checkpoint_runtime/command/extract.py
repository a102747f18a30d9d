"""``checkpoint-runtime extract``: one worker, from its options to its exit code."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from checkpoint_runtime.command.exit_codes import ExitCode, exit_code_of
from checkpoint_runtime.command.extract_options import extract_wishes
from checkpoint_runtime.command.extract_shown import shown_extraction
from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.errors import CheckpointRuntimeError
from checkpoint_runtime.preemption import Preempted


def extract(given: argparse.Namespace) -> int:
    """Extract as the command line says; the exit code.

    Does not return where a thread hangs in a request: then the process ends here, with that code.
    """
    from checkpoint_runtime.extract.run import Outcome, extract_shard

    outcome = Outcome()
    code = ExitCode.DONE
    try:
        wishes = extract_wishes(given)
        with shown_extraction(wishes.worker) as shown:
            extract_shard(wishes, shown, outcome)
    except CheckpointRuntimeError as error:
        _say("\n".join([str(error), *getattr(error, "__notes__", [])]))
        code = exit_code_of(error)
    except (Preempted, KeyboardInterrupt) as preempted:
        number = preempted.signal if isinstance(preempted, Preempted) else signal.SIGINT
        _say(
            f"preempted ({number.name}); what is marked is done, and the same command goes on "
            "from there."
        )
        code = ExitCode.PREEMPTED
    if outcome.left_behind:
        sys.stdout.flush()
        os._exit(code)
    return code


def _say(text: str) -> None:
    try:
        for line in text.splitlines():
            print(f"checkpoint-runtime: {line}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        hush(sys.stderr)  # the exit code says what matters
