"""How a subject shows that it is alive, as a user wrote it, checked before anything runs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from checkpoint_contracts.heartbeat import HEARTBEAT
from pytest_checkpoint.api import HeartbeatCommand, HeartbeatFile
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import commands, quantities
from pytest_checkpoint.subject import HeartbeatSource

_FILE: Final = "--checkpoint-heartbeat-file"
_COMMAND: Final = "--checkpoint-heartbeat-command"
_STALE: Final = "--checkpoint-stale-after"
_STALLED: Final = "--checkpoint-stalled-after"


def of_options(parts: Mapping[str, list[str]]) -> HeartbeatFile | HeartbeatCommand | None:
    """What the command form says; UserError if a part of it is missing, or one too many is there.

    ``parts``: option → values.
    """
    glob, command = (parts.get(name, [None])[0] for name in (_FILE, _COMMAND))
    stale, stalled = (
        quantities.seconds(name, parts[name][0]) if name in parts else None
        for name in (_STALE, _STALLED)
    )
    if glob is not None and command is not None:
        raise UserError(f"{_FILE} and {_COMMAND} given: choose one")
    if glob is None and command is None:
        if stale is not None or stalled is not None:
            name = _STALE if stale is not None else _STALLED
            raise UserError(f"{name} given without a heartbeat: add {_FILE} GLOB or {_COMMAND} CMD")
        return None
    if stale is None:
        name = _FILE if glob is not None else _COMMAND
        raise UserError(
            f"{name} needs {_STALE} SECONDS: how long after its last beat is a worker stale?"
        )
    if command is not None:
        return HeartbeatCommand(command, stale_after_s=stale, stalled_after_s=stalled)
    if stalled is not None:
        raise UserError(f"{_STALLED}: a file cannot say that a worker is stalled; a command can")
    assert glob is not None
    return HeartbeatFile(glob, stale)


def checked(what: str, given: object, working_directory: Path) -> HeartbeatSource | None:
    """``what`` names it in messages."""
    if given is None:
        return None
    if isinstance(given, HeartbeatFile):
        return HeartbeatSource(
            glob=_glob(what, given.glob),
            stale_after_s=_seconds(f"{what}: stale_after_s", given.stale_after_s),
        )
    if not isinstance(given, HeartbeatCommand):
        raise UserError(
            f"{what} must be HeartbeatFile(glob, stale_after_s) or "
            f"HeartbeatCommand(command, stale_after_s=…), not {given!r}"
        )
    command = commands.split(what, given.command)
    commands.require_program(what, command, working_directory)
    commands.require_workspace(what, command)
    stalled = given.stalled_after_s
    return HeartbeatSource(
        command=command,
        stale_after_s=_seconds(f"{what}: stale_after_s", given.stale_after_s),
        stalled_after_s=None if stalled is None else _seconds(f"{what}: stalled_after_s", stalled),
    )


def with_heartbeat(who: str, capabilities: frozenset[str], *, declared: bool) -> frozenset[str]:
    """``heartbeat`` is declared by naming it."""
    if HEARTBEAT in capabilities and not declared:
        raise UserError(
            f"{who}: the capability {HEARTBEAT!r} is declared by the file or the command that it "
            f"is: heartbeat=…, {_FILE} GLOB or {_COMMAND} CMD, and {_STALE} SECONDS"
        )
    return capabilities | {HEARTBEAT} if declared else capabilities


def _glob(what: str, glob: object) -> str:
    if not isinstance(glob, str) or not glob:
        raise UserError(f"{what}: a glob of files in the workspace, not {glob!r}")
    if os.path.isabs(glob) or ".." in PurePosixPath(glob).parts or commands.WORKSPACE in glob:
        raise UserError(f"{what}: {glob!r} must be relative to the workspace, and stay in it")
    return glob


def _seconds(what: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise UserError(f"{what} must be a number of seconds, not {given!r}")
    if not (math.isfinite(given) and given > 0):
        raise UserError(f"{what} must be a number of seconds above 0, not {given!r}")
    return float(given)
