"""The options of ``checkpoint-runtime watch``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.liveness.watcher import DEFAULT_STALE_AFTER_S

_HELP = "say which workers are alive, stale, stalled, finished; act on those that are not alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """What is to be watched, and what is to be done about it."""

    workspaces: tuple[Path, ...]
    stale_after_s: float
    stalled_after_s: float | None
    start_within_s: float | None
    once: bool
    json: bool
    on_stale: tuple[str, ...]
    """A command, its placeholders not filled in; empty: none."""
    restart: tuple[str, ...]
    """The same."""
    restarts: int
    backoff_s: float
    grace_s: float

    @property
    def acts(self) -> bool:
        """Whether something is done about an incident, so that it is worth to go on watching."""
        return bool(self.on_stale or self.restart)


def watch_options(given: argparse.Namespace) -> WatchOptions:
    """
    :raises DefinitionError: options that contradict each other, or are none.
    """
    command, restart = list(given.restart_command), bool(given.restart)
    if restart and not command:
        raise DefinitionError(
            "--restart needs the command that resumes the job: watch … --restart -- COMMAND."
        )
    if command and not restart:
        raise DefinitionError(
            f"{shlex.join(command)} stands behind '--': only --restart takes a command."
        )
    if given.once and (restart or given.on_stale):
        raise DefinitionError("--once only says what it sees: leave --on-stale and --restart out.")
    workspaces = tuple(Path(workspace).absolute() for workspace in given.workspaces)
    if restart and len(workspaces) > 1 and not any("{workspace}" in part for part in command):
        raise DefinitionError(
            "there are several workspaces: the command behind '--' has to say {workspace}, which "
            "is filled in."
        )
    if given.restarts < 1:
        raise DefinitionError(f"--restarts {given.restarts} is no number from 1 on.")
    for name, seconds in (("--backoff", given.backoff), ("--restart-grace", given.restart_grace)):
        if not 0 <= seconds < float("inf"):
            raise DefinitionError(f"{name} {seconds} is no time in seconds.")
    return WatchOptions(
        workspaces=workspaces,
        stale_after_s=given.stale_after,
        stalled_after_s=given.stalled_after or None,
        start_within_s=given.start_within or None,
        once=given.once,
        json=given.json,
        on_stale=_split(given.on_stale),
        restart=tuple(command),
        restarts=given.restarts,
        backoff_s=given.backoff,
        grace_s=given.restart_grace,
    )


def split_restart_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before ``--``, and what behind it."""
    if "--" not in arguments:
        return list(arguments), []
    at = list(arguments).index("--")
    return list(arguments[:at]), list(arguments[at + 1 :])


def add_watch(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    watch = commands.add_parser(
        "watch", help=_HELP, description=_HELP, usage=f"{_USAGE} [--restart … -- COMMAND …]"
    )
    watch.add_argument("workspaces", nargs="+", metavar="WORKSPACE")
    watch.add_argument(
        "--stale-after",
        type=float,
        default=DEFAULT_STALE_AFTER_S,
        metavar="SECONDS",
        help="without a sign of life a worker is stale; not before two beats are overdue "
        "(default: %(default)g)",
    )
    watch.add_argument(
        "--stalled-after",
        type=float,
        metavar="SECONDS",
        help="one that beats without any progress is stalled (default: that is not judged)",
    )
    watch.add_argument(
        "--start-within",
        type=float,
        metavar="SECONDS",
        help="where nobody has beaten at all for so long, the worker is stale (default: that is "
        "waited for)",
    )
    watch.add_argument(
        "--once",
        action="store_true",
        help="watch just long enough to decide, print a word for each worker, and end",
    )
    watch.add_argument("--json", action="store_true", help="a JSON line per change")
    watch.add_argument(
        "--on-stale",
        metavar="COMMAND",
        help="run it, without a shell, once for each time that a worker becomes stale or stalled; "
        "{workspace}, {worker} and {state} in it are filled in",
    )
    watch.add_argument(
        "--restart",
        action="store_true",
        help="end what is left of a stale or stalled job, and run the command behind '--': once "
        "for all workers of a workspace",
    )
    watch.add_argument(
        "--restarts",
        type=int,
        default=3,
        metavar="N",
        help="so many for a workspace (default: 3)",
    )
    watch.add_argument(
        "--backoff",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="after the first restart; it doubles with each, up to a minute (default: 1)",
    )
    watch.add_argument(
        "--restart-grace",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="from SIGTERM to SIGKILL (default: 10)",
    )


_USAGE = "checkpoint-runtime watch WORKSPACE… [options]"


def _split(command: str | None) -> tuple[str, ...]:
    if command is None:
        return ()
    try:
        parts = tuple(shlex.split(command))
    except ValueError as error:
        raise DefinitionError(f"--on-stale {command!r} cannot be split: {error}.") from error
    if not parts:
        raise DefinitionError("--on-stale is empty: name a command.")
    return parts
