"""What other repositories' hooks return, a plugin at a time: so a mistake has a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.registration import Declaration

SUBJECTS: Final = "pytest_checkpoint_subjects"
CONTRACTS: Final = "pytest_checkpoint_contracts"


@dataclass(frozen=True, slots=True)
class Returned:
    """What one implementation of a hook returned."""

    hook: str
    value: object
    path: Path
    line: int

    @property
    def who(self) -> str:
        """Begins every message."""
        return f"{self.hook} ({self.path}:{self.line})"


def implementations(config: pytest.Config, hook: str) -> frozenset[str]:
    """The names of the plugins that have one by now."""
    caller = getattr(config.hook, hook)
    return frozenset(one.plugin_name for one in caller.get_hookimpls())


def returned(config: pytest.Config, hook: str) -> Iterator[Returned]:
    """In the order in which the plugins were registered. Raises UserError for one that raises."""
    manager = config.pluginmanager
    implementing = list(getattr(config.hook, hook).get_hookimpls())
    for one in implementing:
        others = [other.plugin for other in implementing if other.plugin is not one.plugin]
        code = getattr(one.function, "__code__", None)
        path = Path(code.co_filename) if code is not None else Path(one.plugin_name)
        line = code.co_firstlineno if code is not None else 1
        try:
            values = manager.subset_hook_caller(hook, others)(config=config)
        except Exception as error:
            raise UserError(
                f"{hook} ({path}:{line}): it raised {type(error).__name__}: {error}"
            ) from error
        if not values and not (one.hookwrapper or getattr(one, "wrapper", False)):
            # pluggy leaves None out: a forgotten ``return`` would be no contract, and no word.
            raise UserError(
                f"{hook} ({path}:{line}): it returned nothing: return what there is, or an empty "
                "list"
            )
        for value in values:
            yield Returned(hook, value, path, line)


def subjects_of_hooks(config: pytest.Config) -> Iterator[Declaration]:
    """Every subject that a hook returned, as if a function stood there. Raises UserError."""
    for one in returned(config, SUBJECTS):
        given = one.value
        pairs: object = given.items() if isinstance(given, Mapping) else given
        try:
            entries = list(pairs)  # type: ignore[call-overload]
        except TypeError:
            raise UserError(f"{one.who}: it must return {_WANTED}, not {given!r}") from None
        for entry in entries:
            if not isinstance(entry, tuple) or len(entry) != 2:
                raise UserError(f"{one.who}: it must return {_WANTED}; {entry!r} is no such pair")
            name, subject = entry
            if not isinstance(name, str):
                raise UserError(f"{one.who}: a subject's name must be a word, not {name!r}")
            yield Declaration(name, _returning(name, subject), one.path, one.line)


_WANTED: Final = "a mapping of names to subjects, or (name, subject) pairs"


def _returning(name: str, subject: object) -> Callable[[], object]:
    def function() -> object:
        return subject

    function.__name__ = name
    return function
