"""Which commands can start warm: a Python interpreter, options that are understood, a script."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STARTS_ONE: Final = (
    "not an interpreter itself but a script that starts one: name the interpreter, or that of a "
    "virtual environment"
)
_NAME: Final = re.compile(r"python(\d(\.\d+)?t?)?")
_ELF: Final = b"\x7fELF"
_LONGEST: Final = 100_000
"""Bytes of arguments that fit into one message with room to spare."""
_LETTERS: Final = frozenset("bBEIOPqsSu")
"""Options without an argument that a warm start need not care about: both ways have them."""
_X: Final = frozenset(
    {"dev", "utf8", "faulthandler", "frozen_modules", "int_max_str_digits", "no_debug_ranges",
     "pycache_prefix", "warn_default_encoding", "disable_remote_debug"}
)  # fmt: skip
_UNLIKE: Final = (
    "PYTHONINSPECT", "PYTHONVERBOSE", "PYTHONDEBUG", "PYTHONTRACEMALLOC", "PYTHONMALLOCSTATS",
    "PYTHONPROFILEIMPORTTIME", "PYTHONPERFSUPPORT", "PYTHONDUMPREFS", "PYTHONDUMPREFSFILE",
)  # fmt: skip
"""Variables with which a process differs by what happens while it starts, or at its very end."""


class Fresh(Exception):
    """Why a command is started as a new process; a clause without a full stop."""


class NotPython(Fresh):
    """It is no Python program at all: there is nothing to be said about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCommand:
    """A command that can start warm."""

    interpreter: tuple[str, ...]
    """Its program as it is to be called, and its options."""
    executable: str
    """Where that program is."""
    script: str | None
    """As written on the command line; None: a module is run."""
    module: str | None
    arguments: tuple[str, ...]
    """What follows the script or the module."""
    name: str
    """The process' name: that of the file that is executed."""

    @property
    def original(self) -> tuple[str, ...]:
        """The whole command line, as the interpreter sees it."""
        what = ("-m", self.module) if self.module is not None else (self.script or "",)
        return (*self.interpreter, *what, *self.arguments)

    @property
    def argv(self) -> tuple[str, ...]:
        """What ``sys.argv`` is when the script (or runpy) begins."""
        first = "-m" if self.module is not None else self.script or ""
        return (first, *self.arguments)


def python_command(
    command: Sequence[str], environment: Mapping[str, str], directory: Path
) -> PythonCommand:
    """Raises :class:`Fresh` with the reason if this command cannot start warm."""
    path = environment.get("PATH", os.defpath)
    program = _found(command[0], path, directory)
    rest = tuple(command[1:])
    called, name = command[0], os.path.basename(command[0])
    shebang = _shebang(program)
    if shebang is not None:
        called, *options = _env_resolved(shebang, path)
        if called is not shebang[0]:
            name = called  # which env executes in its own place
        rest = (*options, str(program), *rest)
        program = _found(called, path, directory)
    if not _NAME.fullmatch(program.name) and not _NAME.fullmatch(program.resolve().name):
        raise _not_python(command[0])
    if program.resolve().name.endswith("t"):
        raise Fresh("Python without its global lock has never been tried")
    if _head(program.resolve(), len(_ELF)) != _ELF:
        raise Fresh(f"{called} is {_STARTS_ONE}")
    options, rest = _split(rest)
    if "-E" not in options and not any("I" in o for o in options if _plain(o)):
        for variable in _UNLIKE:
            if environment.get(variable):
                raise Fresh(f"{variable} is set")
    if sum(len(word) + 1 for word in rest) > _LONGEST:
        raise Fresh("its arguments are too long")
    module = script = None
    if rest[0] == "-m":
        if len(rest) == 1:
            raise Fresh("-m has no module")
        module, arguments = rest[1], rest[2:]
    else:
        script, arguments = rest[0], rest[1:]
        _require_script(directory / script)
    return PythonCommand(
        interpreter=(called, *options),
        executable=str(program),
        script=script,
        module=module,
        arguments=tuple(arguments),
        name=name,
    )


def _not_python(called: str) -> Fresh:
    """What stands under a name of Python's all the same starts one: pyenv has such scripts."""
    if _NAME.fullmatch(os.path.basename(called)):
        return Fresh(f"{called} is {_STARTS_ONE}")
    return NotPython(f"{called} is not Python")


def _found(program: str, path: str, directory: Path) -> Path:
    if os.sep in program:
        return directory / program
    found = shutil.which(program, path=path)
    if found is None:
        raise NotPython(f"{program} was not found")
    return directory / found


def _head(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _shebang(program: Path) -> list[str] | None:
    """The words of its first line; None if the kernel executes it directly."""
    line = _head(program, 256)
    if not line.startswith(b"#!") or b"\n" not in line:
        return None
    words = os.fsdecode(line[2:].partition(b"\n")[0].strip()).split(None, 1)
    return words or None


def _env_resolved(words: list[str], path: str) -> list[str]:
    if os.path.basename(words[0]) == "env" and len(words) == 2:
        if words[1].startswith("-") or " " in words[1]:
            raise NotPython("its first line is not a plain one")
        return [words[1]]
    return words


def _plain(option: str) -> bool:
    return option[:1] == "-" and option[1:2] not in ("W", "X", "")


def _split(words: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """The interpreter's options, and what comes after them."""
    options: list[str] = []
    left = list(words)
    while left:
        word = left[0]
        if word == "-m" or not word.startswith("-"):
            return options, tuple(left)
        options.append(left.pop(0))
        if word[:2] in ("-W", "-X"):
            value = word[2:]
            if not value:
                if not left:
                    break
                value = left.pop(0)
                options.append(value)
            if word[:2] == "-X" and value.partition("=")[0] not in _X:
                raise Fresh(f"its option -X {value} is not one that a warm start can keep")
        elif word == "-" or not set(word[1:]) <= _LETTERS:
            raise Fresh(f"its option {word} is not one that a warm start can keep")
    raise Fresh("it runs no script")


def _require_script(path: Path) -> None:
    """A plain text file: folders and archives are run in another way, by the interpreter itself."""
    if not path.is_file():
        raise Fresh(f"{path} is not a plain file")
    if path.suffix == ".pyc" or _head(path, 2) == b"PK":
        raise Fresh(f"{path} is not a text")
