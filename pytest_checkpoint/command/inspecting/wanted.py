"""What ``inspect`` was asked for, checked before anything is read or run."""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.commands import WORKSPACE, require_program, require_workspace, split
from pytest_checkpoint.session.quantities import seconds
from pytest_checkpoint.subject import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    directory: Path
    """Absolute, as it was given: symbolic links are left in it."""
    real: Path
    resume: Command
    check: Command
    events: Path | None
    """Where the job wrote its lines; None: not known, or it wrote none."""
    deadline_s: float
    workdir: Path
    keep: bool
    mount: bool
    """Let the copy stand in the place of the directory, if that is possible."""
    allow_network: bool
    allow_outside: tuple[Path, ...]


def wanted_of(given: argparse.Namespace) -> Wanted:
    """Raises :class:`UserError` with a sentence."""
    if not given.directory:
        raise UserError("DIR is empty: name the directory that holds the job's state")
    directory = Path(os.path.abspath(given.directory))
    real = directory.resolve()
    if not directory.is_dir():
        what = "is not a directory" if os.path.lexists(directory) else "does not exist"
        raise UserError(f"{directory} {what}: name the directory that holds the job's state")
    here = Path.cwd()
    commands = {}
    for option in ("resume", "check"):
        command = split(f"--{option}", getattr(given, option))
        there = (command[0].replace(WORKSPACE, str(directory)), *command[1:])
        require_program(f"--{option}", there, here)
        if given.no_mount:
            require_workspace(f"--{option}", command)
        commands[option] = command
    outside = tuple(Path(os.path.abspath(path)) for path in given.allow_outside if path)
    if len(outside) < len(given.allow_outside):
        raise UserError("--allow-outside needs a path")
    return Wanted(
        directory=directory,
        real=real,
        resume=commands["resume"],
        check=commands["check"],
        events=_events(given.events),
        deadline_s=seconds("--deadline", given.deadline),
        workdir=_workdir(given.workdir, real),
        keep=given.keep,
        mount=not given.no_mount,
        allow_network=given.allow_network,
        allow_outside=outside,
    )


def _events(given: str | None) -> Path | None:
    if given is None:
        known = os.environ.get("CHECKPOINT_EVENTS")
        return Path(known) if known and os.path.isfile(known) else None
    path = Path(given)
    if not path.is_file():
        what = "this is no file" if path.exists() else "there is no such file"
        raise UserError(f"--events {given}: {what}")
    if not os.access(path, os.R_OK):
        raise UserError(f"--events {given}: this file cannot be read")
    return path


def _workdir(given: str | None, real: Path) -> Path:
    if given == "":
        raise UserError("--workdir needs a directory")
    path = Path(given if given is not None else tempfile.gettempdir())
    name = "--workdir" if given is not None else "TMPDIR"
    if not path.is_dir():
        raise UserError(f"{name} {path}: there is no such directory; make it, or name another")
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"{name} {path}: this directory cannot be written to")
    path = path.resolve()
    if path.is_relative_to(real):
        raise UserError(
            f"the copy would lie in {real} itself, which is not to be touched: name a directory "
            "elsewhere by --workdir"
        )
    return path
