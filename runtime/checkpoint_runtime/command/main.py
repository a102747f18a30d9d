"""The entry point of ``checkpoint-runtime``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any

from checkpoint_runtime.command.effects import effects
from checkpoint_runtime.command.exit_codes import ExitCode, exit_code_of
from checkpoint_runtime.command.hush import hush
from checkpoint_runtime.command.load import load_pipeline
from checkpoint_runtime.command.parser import parsed
from checkpoint_runtime.command.progress_shown import shown_progress
from checkpoint_runtime.command.reconcile import reconcile
from checkpoint_runtime.command.show import print_status, status_as_json
from checkpoint_runtime.errors import CheckpointRuntimeError, DefinitionError
from checkpoint_runtime.pipeline import Pipeline
from checkpoint_runtime.preemption import Preempted
from checkpoint_runtime.remedies import Commands
from checkpoint_runtime.status import StageState, Status


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    given = parsed(sys.argv[1:] if arguments is None else arguments)
    try:
        if given.command == "watch":
            from checkpoint_runtime.command.watching import watch

            return watch(given)
        if given.command == "extract":
            from checkpoint_runtime.command.extract import extract

            return extract(given)
        if given.command == "reconcile":
            return reconcile(given)
        pipeline = load_pipeline(given.pipeline)
        pipeline.remedies = Commands(given.pipeline, given.workspace)
        if given.command == "status":
            return _status(pipeline, given)
        if given.command == "effects":
            return effects(pipeline, given)
        return _run(pipeline, given)
    except CheckpointRuntimeError as error:
        _say_why(str(error), error)
        return exit_code_of(error)
    except (Preempted, KeyboardInterrupt) as preempted:
        _say_why(_preempted_words(preempted), preempted)
        return ExitCode.PREEMPTED
    except SystemExit as ended:
        # The runner has added which stage it was.
        _say_why(None, ended)
        return ExitCode.STAGE_FAILED


def _run(pipeline: Pipeline, given: argparse.Namespace) -> int:
    with shown_progress(pipeline.name) as progress:
        if given.command == "rerun":
            pipeline.rerun(
                given.workspace,
                given.target,
                forget_effects=given.forget_effects,
                progress=progress,
                heartbeat_s=given.heartbeat,
                grace_s=given.grace,
            )
            return ExitCode.DONE
        go_on = pipeline.run if given.command == "run" else pipeline.resume
        go_on(
            given.workspace,
            parameters=_parameters(given.parameter),
            accept_changed=given.accept_changed,
            rerun_from=given.rerun_from,
            keep_going=given.keep_going,
            progress=progress,
            heartbeat_s=given.heartbeat,
            grace_s=given.grace,
        )
    return ExitCode.DONE


def _status(pipeline: Pipeline, given: argparse.Namespace) -> int:
    status = pipeline.status(given.workspace)
    try:
        if given.json:
            print(status_as_json(status))  # noqa: T201 - this is what was asked for
        else:
            print_status(status)
        sys.stdout.flush()
    except BrokenPipeError:
        hush(sys.stdout)
    return _code_of(status)


def _code_of(status: Status) -> ExitCode:
    if status.finished:
        return ExitCode.DONE
    if status.refused:
        return ExitCode.STATE_REFUSED
    if status.count(StageState.POISONED):
        return ExitCode.POISONED
    return ExitCode.STAGE_FAILED if status.count(StageState.FAILED) else ExitCode.UNFINISHED


def _parameters(given: Sequence[str] | None) -> dict[str, Any] | None:
    if not given:
        return None
    parameters: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise DefinitionError(f"--parameter {text!r} is not NAME=VALUE.")
        if name in parameters:
            raise DefinitionError(f"--parameter {name} is given twice: which of the two is meant?")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    return parameters


def _preempted_words(preempted: Preempted | KeyboardInterrupt) -> str:
    number = preempted.signal if isinstance(preempted, Preempted) else signal.SIGINT
    words = f"preempted ({number.name}); what is done is kept, resume goes on."
    # It came while a failure was being recorded: both are told.
    failed = preempted.__context__
    return f"{failed}\n{words}" if isinstance(failed, CheckpointRuntimeError) else words


def _say_why(text: str | None, error: BaseException) -> None:
    for line in ([] if text is None else [text]) + getattr(error, "__notes__", []):
        _say(f"checkpoint-runtime: {line}")


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - for whoever started it
    except OSError:
        hush(sys.stderr)  # the exit code says what matters


if __name__ == "__main__":
    sys.exit(main())
