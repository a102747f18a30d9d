"""The call itself, and what is told of it. Standard library only."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from pytest_checkpoint.callables.canonical import NotCanonical, canonical
from pytest_checkpoint.callables.loading import load, lookup
from pytest_checkpoint.callables.values import decode

JOB: Final = "job"
"""What it returns does not matter."""
VALUE: Final = "value"
"""What it returns is all that stands on standard output, in canonical form."""
RESULT: Final = "result"
"""As a value, and there has to be one: a function that only prints it has said nothing."""
TRIAL: Final = "trial"
"""How it ended is told at the end of standard output, after :data:`OUTCOME`."""
OUTCOME: Final = "\x1echeckpoint-outcome "
_NO_RESULT: Final = (
    "{name}: it returned nothing: what it returns is the result, and what it prints does not "
    "count; return the result (or True, where it raises if the result is wrong)"
)


def call(plan: Mapping[str, Any], workspace: str, process: int) -> None:
    """Call the function of the plan with the workspace. What it raises goes through.

    ``process``: a child that the function forks, and that comes back from it, tells nothing.
    """
    is_asked = plan["as"] in (VALUE, RESULT)
    with _printing_elsewhere(asked=is_asked) as output:
        if plan["as"] == TRIAL:
            _try(partial(_called, plan, workspace), process)
            return
        value = _called(plan, workspace)
        if value is None and plan["as"] == RESULT:
            sys.exit(_NO_RESULT.format(name=plan["name"]))
        if is_asked and os.getpid() == process:
            _tell(output, _canonical(plan["name"], value) + "\n")


def _called(plan: Mapping[str, Any], workspace: str) -> object:
    function = lookup(load(plan["module"], Path(plan["file"])), plan["name"])
    arguments, named = decode(plan["arguments"]), decode(plan["named"])
    return function(*arguments, Path(workspace), **named)


def _canonical(name: str, value: object) -> str:
    try:
        return canonical(value)
    except NotCanonical as why:
        sys.exit(f"{name}: {why}")


def _try(function: Callable[[], object], process: int) -> None:
    try:
        function()
    except Exception as error:  # noqa: BLE001 - told to whoever asked, whatever it is
        traceback.print_exc()
        if os.getpid() == process:
            number = getattr(error, "errno", None)
            told = {
                "type": _name_of(type(error)),
                "text": str(error),
                "errno": number if isinstance(number, int) else None,
            }
            _tell(1, f"{OUTCOME}{json.dumps(told)}\n")
        sys.exit(1)


def _name_of(kind: type[BaseException]) -> str:
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


@contextmanager
def _printing_elsewhere(*, asked: bool) -> Iterator[int]:
    """Inside, where ``asked``, standard output goes to the error output; gives where it went."""
    if not asked:
        yield 1
        return
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield output
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


def _tell(output: int, text: str) -> None:
    sys.stdout.flush()
    rest = text.encode("utf-8", "backslashreplace")
    while rest:
        rest = rest[os.write(output, rest) :]
