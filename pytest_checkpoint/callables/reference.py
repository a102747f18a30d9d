"""A function of the user's as a command that calls it in a process of its own.

It is named by its file, its module and its name there, and imported anew: nothing of pytest's own
process goes with it, so that it can be killed, recorded, and started again as any program can.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pytest_checkpoint.callables.loading import lookup
from pytest_checkpoint.callables.values import encode
from pytest_checkpoint.errors import UserError

PROGRAM: Final = Path(__file__).with_name("program.py")
WORKSPACE: Final = "{workspace}"
_LONGEST: Final = 100_000
"""Characters of an argument that the kernel takes with room to spare."""
_NOWHERE: Final = ModuleType("nowhere")
_WAY_OUT: Final = (
    "it is called in a process of its own, which imports its file and finds it by its name: move "
    "it to the top level of its module; functools.partial can give it further arguments"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Where another process finds a function, and what it gives it before the workspace."""

    file: Path
    module: str
    name: str
    """Qualified: ``Saver.save`` for a static method."""
    arguments: Any = ()
    """Encoded, as ``values`` does."""
    named: Any = None
    line: int = 0

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)

    def command(self, called_as: str, path: Sequence[str] | None = None) -> tuple[str, ...]:
        """The command, ``{workspace}`` in it.

        ``called_as``: see ``calling``. ``path``: where modules are looked for; None: where this
        process looks.
        """
        plan = {
            "path": list(import_path() if path is None else path),
            "file": str(self.file),
            "module": self.module,
            "name": self.name,
            "arguments": self.arguments,
            "named": self.named,
            "as": called_as,
        }
        text = json.dumps(plan)
        if len(text) > _LONGEST:
            raise UserError(
                f"{self.name}: what it is given is too long for a command line: put it into a "
                "file, and give it the path"
            )
        return (sys.executable, "-P", str(PROGRAM), text, WORKSPACE)


def reference_of(what: str, function: object) -> Reference:
    """``what`` begins the :class:`UserError` of a function that no other process could find.

    Or that could not be called there, or would do nothing when it is.
    """
    arguments: Sequence[object] = ()
    named: dict[str, object] = {}
    inner = function
    if isinstance(function, functools.partial):
        inner, arguments, named = function.func, function.args, function.keywords
    if not callable(inner):
        raise UserError(f"{what}: {function!r} is no function: give one that takes the workspace")
    name = _name(what, inner)
    original = inspect.unwrap(inner)
    space = _space(original)
    try:
        found = lookup(space, name)
    except LookupError:
        found = None
    file = space.get("__file__")
    if found != inner or not isinstance(file, str):
        raise UserError(f"{what}: {name} is not what its module has under that name; {_WAY_OUT}")
    encoded = encode(f"{what}: an argument of {name}", list(arguments))
    encoded_named = encode(f"{what}: an argument of {name}", dict(named))
    _require_fit(f"{what}: {name}", inner, arguments, named)
    return Reference(
        file=Path(file).absolute(),
        module=str(space["__name__"]),
        name=name,
        arguments=encoded,
        named=encoded_named,
        line=getattr(getattr(original, "__code__", None), "co_firstlineno", 0),
    )


def import_path() -> tuple[str, ...]:
    """Where this process looks for modules, from wherever it does so."""
    return tuple(os.path.abspath(entry) for entry in sys.path)


def is_callable_command(command: Sequence[str]) -> bool:
    """Whether it was made of a function."""
    return str(PROGRAM) in command[:3]


def defining_file(command: Sequence[str]) -> Path | None:
    """Of a command that was made of a function: the file that the function stands in."""
    if not is_callable_command(command):
        return None
    plan = command[command.index(str(PROGRAM)) + 1]
    return Path(json.loads(plan)["file"])


def _space(function: object) -> dict[str, Any]:
    """The names of the module that it stands in; none if there is no such module."""
    space = getattr(function, "__globals__", None)
    if isinstance(space, dict):
        return space
    return dict(vars(sys.modules.get(str(getattr(function, "__module__", "")), _NOWHERE)))


def _require_fit(
    who: str, function: Callable[..., object], arguments: Sequence[object], named: dict[str, object]
) -> None:
    """It takes what it will be given, and a call of it runs it."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise UserError(
            f"{who} is async: a call of it runs nothing; give a function that takes the workspace "
            "and runs it, by asyncio.run say"
        )
    if inspect.isgeneratorfunction(function):
        raise UserError(f"{who} has a yield in it: a call of it runs nothing; give a function")
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except ValueError:  # one in C that does not tell what it takes
        return
    try:
        signature.bind(*arguments, WORKSPACE, **named)
    except TypeError as error:
        given = (
            "after what functools.partial gives it" if arguments or named else "and nothing else"
        )
        raise UserError(
            f"{who} is called with the workspace, a pathlib.Path, {given}: {error}; "
            "functools.partial can give it further arguments, which come first"
        ) from None


def _name(what: str, function: Callable[..., object]) -> str:
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        raise UserError(f"{what}: {function!r} is no function: give one that takes the workspace")
    if "<lambda>" in name:
        raise UserError(f"{what}: a lambda has no name to be found by; {_WAY_OUT}")
    if "<locals>" in name:
        own = name.rpartition(".")[2]
        raise UserError(f"{what}: {own} is defined within a function; {_WAY_OUT}")
    return name
