"""The command line of ``checkpoint-runtime``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from checkpoint_runtime.command.effects import add_effects
from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.extract_options import add_extract
from checkpoint_runtime.command.reconcile import add_reconcile
from checkpoint_runtime.command.watch_options import add_watch, split_restart_command
from checkpoint_runtime.liveness.heartbeat import DEFAULT_INTERVAL_S


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line says. What is wrong with it is said, and ends the program.

    :param arguments: without the program's name.
    """
    if arguments[:1] != ["watch"]:
        return _parser().parse_args(arguments)
    # What stands behind it may look like options of ours.
    ours, command = split_restart_command(arguments)
    given = _parser().parse_args(ours)
    given.restart_command = command
    return given


def _parser() -> argparse.ArgumentParser:
    meanings = "\n".join(f"  {code.value:3}  {code.meaning}" for code in ExitCode)
    found = argparse.ArgumentParser(
        prog="checkpoint-runtime",
        description="Run pipelines that survive crashes.",
        epilog=f"exit codes:\n{meanings}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--version", action=_Version, nargs=0, help="say which version this is")
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = _command(commands, "run", "run what is not done; refuse if a stage has failed")
    resume = _command(commands, "resume", "skip what is done, try again what failed, run the rest")
    for command in (run, resume):
        _add_running_options(command)
    status = _command(commands, "status", "say what is done, what is next, what failed")
    status.add_argument("--json", action="store_true", help="as one JSON object")
    rerun = _command(
        commands,
        "rerun",
        "clear a stage and what is built on it, or the attempts of one that is stuck, then resume",
    )
    rerun.add_argument("target", metavar="STAGE", help="or STAGE[NUMBER]: one item of it")
    rerun.add_argument(
        "--forget-effects",
        action="store_true",
        help="what these stages have sent is sent again (default: it is not, ever)",
    )
    for command in (run, resume, rerun):
        _add_liveness_options(command)
    add_watch(commands)
    add_effects(commands)
    add_extract(commands)
    add_reconcile(commands)
    return found


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=help_text, description=help_text)
    command.add_argument("pipeline", metavar="MODULE:PIPELINE", help="or FILE.py:PIPELINE")
    command.add_argument("--workspace", required=True, metavar="DIR")
    return command


def _add_running_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--parameter",
        action="append",
        metavar="NAME=VALUE",
        help="for context.parameters; VALUE is JSON, or else text (repeatable)",
    )
    command.add_argument(
        "--accept-changed",
        action="store_true",
        help="what is done stays done although the pipeline has changed",
    )
    command.add_argument(
        "--rerun-from", metavar="STAGE", help="run it and what is built on it again"
    )
    command.add_argument(
        "--keep-going",
        action="store_true",
        help="after a failure, go on with the stages that are not built on it",
    )


def _add_liveness_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--heartbeat",
        type=float,
        default=DEFAULT_INTERVAL_S,
        metavar="SECONDS",
        help="between two beats in heartbeats/main.json; 0: none (default: %(default)g)",
    )
    command.add_argument(
        "--grace",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="after SIGTERM, SIGINT or SIGUSR1 the stage under way, or its item, has so long to "
        "get to its end (default: it is abandoned at once)",
    )


class _Version(argparse.Action):
    """Looks the version up when it is asked for: that reads files."""

    def __call__(self, parser: argparse.ArgumentParser, *others: Any, **named: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("checkpoint-contracts")
        except PackageNotFoundError:
            found = "of an unknown version: it is not installed"
        print(f"checkpoint-runtime {found}")  # noqa: T201 - this is what was asked for
        parser.exit()
