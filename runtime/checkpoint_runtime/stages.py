"""What a pipeline is made of: stages, and what each of them is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from checkpoint_runtime.context import Context
from checkpoint_runtime.errors import DefinitionError

StageFunction = Callable[[Context], Any]
"""Takes the context, returns a value that can be kept (:mod:`checkpoint_runtime.codec`)."""
ItemFunction = Callable[[Context, Any], Any]
"""The same for one item of a mapped stage."""
Items = Collection[Any] | Callable[[Context], Collection[Any]]
"""What a mapped stage goes through: known beforehand, or made of what its inputs returned."""

DEFAULT_ATTEMPTS = 10
"""How often a stage may be begun without getting anywhere, where it does not say."""
LONGEST_BACKOFF_S = 60.0
_ITEM = re.compile(r"([^\[]+)\[([0-9]{1,18})\]")
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage, as it was defined."""

    name: str
    function: Callable[..., Any]
    after: tuple[str, ...]
    """The stages whose values it is given."""
    attempts: int | None = None
    """How often it is tried in all, deaths counted; one that raises is tried again within the run.
    None: :data:`DEFAULT_ATTEMPTS` in all, and one that raises ends the run."""
    backoff_s: float = 1.0
    """The wait after the first attempt, if that raises; it doubles with each, up to a minute."""
    version: str = "1"
    items: Items | None = None
    """Of a mapped stage."""

    @property
    def budget(self) -> int:
        return DEFAULT_ATTEMPTS if self.attempts is None else self.attempts

    def wait_s(self, tried: int) -> float:
        """How long to wait after so many attempts."""
        return min(LONGEST_BACKOFF_S, self.backoff_s * 2.0 ** min(tried - 1, 32))


class Stages:
    """The stages of one pipeline, in the order of their definition.

    A stage can only name stages before it, so this order is one in which they can run.
    """

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self._known: dict[str, Stage] = {}
        self._last: str | None = None
        _defined.add(self)

    def add(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        after: Sequence[str] | None,
        attempts: int | None,
        backoff_s: float,
        version: str,
        items: Items | None = None,
    ) -> None:
        """
        :raises DefinitionError: a name, an input, or a number that cannot be.
        """
        checked_name(name, "a stage")
        if name in self._known:
            raise DefinitionError(
                f"pipeline {self._pipeline!r} already has a stage {name!r}: "
                "the name is what its result is found by after a crash."
            )
        if attempts is not None and not (type(attempts) is int and attempts > 0):
            raise DefinitionError(
                f"stage {name!r}: attempts={attempts!r} is not a number from 1 on."
            )
        if not 0 <= backoff_s < float("inf"):
            raise DefinitionError(f"stage {name!r}: backoff_s={backoff_s!r} is no time to wait.")
        if type(version) is not str:
            raise DefinitionError(f"stage {name!r}: version={version!r} is not text.")
        self._known[name] = Stage(
            name=name,
            function=function,
            after=self._inputs(name, after),
            attempts=attempts,
            backoff_s=backoff_s,
            version=version,
            items=items,
        )
        self._last = name

    def __getitem__(self, name: str) -> Stage:
        try:
            return self._known[name]
        except KeyError:
            raise DefinitionError(
                f"pipeline {self._pipeline!r} has no stage {name!r}; it has "
                f"{', '.join(map(repr, self._known)) or 'none'}."
            ) from None

    def has(self, name: str) -> bool:
        """Whether that is a stage, or could be an item of a mapped one."""
        item = item_of(name)
        if item is None:
            return name in self._known
        stage = self._known.get(item[0])
        return stage is not None and stage.items is not None

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def from_on(self, name: str) -> list[str]:
        """A stage and all that are built on it, in order."""
        found = [self[name].name]
        built = set(found)
        for stage in self:
            if stage.name not in built and built.intersection(stage.after):
                built.add(stage.name)
                found.append(stage.name)
        return found

    def _inputs(self, name: str, after: Sequence[str] | None) -> tuple[str, ...]:
        if after is None:
            return () if self._last is None else (self._last,)
        if isinstance(after, str):
            raise DefinitionError(
                f"stage {name!r}: after={after!r} is text; write after=[{after!r}]."
            )
        inputs = tuple(after)
        for other in inputs:
            if other not in self._known:
                raise DefinitionError(
                    f"stage {name!r} comes after {other!r}, which is no stage defined before it."
                )
        if len(set(inputs)) < len(inputs):
            raise DefinitionError(f"stage {name!r} names an input twice: {list(inputs)!r}.")
        return inputs


def checked_name(name: str, whose: str) -> str:
    """
    :raises DefinitionError: no name that can stand in a line of events or on a command line.
    """
    if type(name) is not str or not name or name != name.strip() or not name.isprintable():
        raise DefinitionError(
            f"{name!r} cannot be the name of {whose}: use printable text, not empty, "
            "without spaces around it."
        )
    if "[" in name or "/" in name:
        raise DefinitionError(
            f"{name!r} cannot be the name of {whose}: '[' and '/' stand in the names of items and "
            "of folders."
        )
    if len(name) > _LONGEST_NAME:
        raise DefinitionError(
            f"the name {name[:30]!r}… of {whose} has {len(name)} characters; {_LONGEST_NAME} are "
            "the limit."
        )
    return name


def checked_items(items: Items, stage: str) -> Items:
    """
    :raises DefinitionError: nothing that a stage could go through.
    """
    problem = None if callable(items) else unusable_items(items)
    if problem is not None:
        raise DefinitionError(f"stage {stage!r}: {problem}.")
    return items


def unusable_items(items: object) -> str | None:
    """What is wrong with the items of a mapped stage, or None."""
    if isinstance(items, set | frozenset):
        return "its items are a set, whose order differs between processes: give a list"
    if not isinstance(items, Collection) or isinstance(items, str | bytes | bytearray | Mapping):
        return f"its items are of type {type(items).__name__}: give a list"
    return None


def item_name(stage: str, index: int) -> str:
    """What events and the handoff call one item of a mapped stage: ``render[3]``."""
    return f"{stage}[{index}]"


def item_of(name: str) -> tuple[str, int] | None:
    """Stage and index of the name of an item; None: no item has such a name."""
    found = _ITEM.fullmatch(name)
    return (found[1], int(found[2])) if found else None


def known_anywhere(name: str) -> bool:
    """Whether that is a stage or an item of any pipeline that this process has defined by now."""
    return any(stages.has(name) for stages in _defined)


_defined: WeakSet[Stages] = WeakSet()
