"""One command of a subject, as given by a user, checked before anything runs."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.subject import Command

WORKSPACE = "{workspace}"


def split(what: str, given: object) -> Command:
    """A string or a list of arguments as arguments. ``what`` names it in messages."""
    if isinstance(given, str):
        try:
            words: Sequence[object] = shlex.split(given)
        except ValueError as error:
            raise UserError(f"{what} cannot be split into words ({error}): {given}") from None
    elif isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        words = given
    else:
        raise UserError(f"{what} must be a string or a list of strings, not {given!r}")
    odd = [word for word in words if not isinstance(word, str | os.PathLike)]
    if odd:
        raise UserError(f"{what} must be a list of strings; {odd[0]!r} is none")
    command = tuple(os.fspath(word) for word in words if isinstance(word, str | os.PathLike))
    if not command or not command[0]:
        raise UserError(f"{what} is empty: give the command, as in 'python job.py {WORKSPACE}'")
    if any("\0" in word for word in command):
        raise UserError(f"{what} has a NUL byte in it, which no command can take")
    return command


def require_workspace(what: str, command: Command) -> None:
    if not any(WORKSPACE in word for word in command):
        raise UserError(
            f"{what} has no {WORKSPACE}: write it where the command takes the directory that "
            f"holds the job's state, as in 'python job.py {WORKSPACE}'; now it is: "
            f"{shlex.join(command)}"
        )


def require_program(what: str, command: Command, working_directory: Path) -> None:
    """The program must be there and executable; one inside the workspace cannot be known yet."""
    program = command[0]
    if WORKSPACE in program:
        return
    if os.sep not in program:
        if shutil.which(program) is None:
            raise UserError(f"{what}: command not found: {program} (it is nowhere on PATH)")
        return
    path = working_directory / program
    if not path.exists():
        raise UserError(f"{what}: command not found: {path}")
    if path.is_dir() or not os.access(path, os.X_OK):
        raise UserError(f"{what}: {path} is not an executable file")


def stem_of_first_script(command: Command, working_directory: Path) -> str:
    """The default name: ``etl`` for ``python -u etl.py {workspace}`` or ``./etl.sh``."""
    arguments = command[1:]
    for position, word in enumerate(arguments):
        if WORKSPACE in word or word == "-c":
            break
        if word == "-m" and position + 1 < len(arguments):
            return arguments[position + 1].rpartition(".")[2]
        if not word.startswith("-") and (working_directory / word).is_file():
            return Path(word).stem
    return Path(command[0]).stem
