"""A subject of functions, as the subject of commands that it comes to."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pytest_checkpoint.api import CallableSubject, CommandSubject
from pytest_checkpoint.callables.calling import JOB, RESULT, VALUE
from pytest_checkpoint.callables.reference import import_path, reference_of
from pytest_checkpoint.subject import Command


def by_commands(who: str, given: CallableSubject) -> CommandSubject:
    """``who`` begins the UserError of a function that no other process could call."""
    told: dict[str, Any] = {
        one.name: getattr(given, one.name) for one in dataclasses.fields(CallableSubject)
    }
    for name, called_as in (("run", JOB), ("resume", JOB), ("setup", JOB), ("check", RESULT)):
        function = told[name]
        if function is not None or name in ("run", "check"):
            told[name] = _command(f"{who}: {name}", function, called_as)
    if callable(given.handoff):
        told["handoff"] = _command(f"{who}: handoff", given.handoff, VALUE)
    changed = told["changed"]  # what is no list is refused where commands are
    if isinstance(changed, Collection) and not isinstance(changed, str | bytes | Mapping):
        told["changed"] = [
            _command(f"{who}: changed[{number}]", one, JOB) if callable(one) else one
            for number, one in enumerate(changed)
        ]
    return CommandSubject(**told)


def _command(what: str, function: object, called_as: str) -> Command:
    reference = reference_of(what, function)
    return reference.command(called_as, _path_of(reference.file))


@functools.cache
def _path_of(file: Path) -> tuple[str, ...]:
    """The first time counts: a subject that is met again is to be the same one, whatever pytest has
    put into the path meanwhile."""
    return import_path()
