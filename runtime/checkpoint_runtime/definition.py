"""How a pipeline is defined: its stages, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from checkpoint_runtime.stages import (
    ItemFunction,
    Items,
    StageFunction,
    Stages,
    checked_items,
    checked_name,
)

Function = TypeVar("Function", bound=StageFunction)


class Definition:
    """What is known of a pipeline before it is run."""

    def __init__(self, name: str) -> None:
        """
        :raises DefinitionError: the name is empty or not printable.
        """
        self.name = checked_name(name, "a pipeline")
        self._stages = Stages(self.name)

    @overload
    def stage(self, function: Function, /) -> Function: ...
    @overload
    def stage(
        self,
        /,
        *,
        name: str | None = None,
        after: Sequence[str] | None = None,
        attempts: int | None = None,
        backoff_s: float = 1.0,
        version: str = "1",
    ) -> Callable[[Function], Function]: ...
    def stage(
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        after: Sequence[str] | None = None,
        attempts: int | None = None,
        backoff_s: float = 1.0,
        version: str = "1",
    ) -> Function | Callable[[Function], Function]:
        """Add a function as the next stage: ``@film.stage`` or ``@film.stage(after=["research"])``.

        The function comes back as it is.

        :param name: the function's own name, if none is given.
        :param after: the stages whose values it is given; the one defined before, if not given.
        :param attempts: how often it is tried in all, exceptions and deaths of the process counted;
            one that raises is tried again in the same run. Not given: 10 in all, and a stage that
            raises ends the run; the next resume tries it again.
        :param backoff_s: the wait after the first attempt, if that raises; it doubles with each, up
            to a minute.
        :param version: changes when what the stage does changes; results of another version are
            not taken as done.
        :raises DefinitionError: the name is unusable or taken, an input is not known.
        """

        def add(function: Function) -> Function:
            self._stages.add(
                _name_of(function) if name is None else name,
                function,
                after=after,
                attempts=attempts,
                backoff_s=backoff_s,
                version=version,
            )
            return function

        return add if function is None else add(function)

    def map(
        self,
        function: ItemFunction,
        items: Items,
        *,
        name: str | None = None,
        after: Sequence[str] | None = None,
        attempts: int | None = None,
        backoff_s: float = 1.0,
        version: str = "1",
    ) -> None:
        """Add a stage that does ``function(context, item)`` for each item, each committed alone.

        Its value is the list of what each item gave, in the order of the items. After a crash the
        items that are done are skipped; one that has changed at its place is done again. Values of
        inputs too large for the log are read once for all items: change nothing in them.

        :param items: the items in their order, or a function that makes them of the context. They
            must be values that can be kept.

        The others are as for :meth:`stage`; the attempts count anew with each item that is done.
        """
        name = _name_of(function) if name is None else name
        self._stages.add(
            name,
            function,
            after=after,
            attempts=attempts,
            backoff_s=backoff_s,
            version=version,
            items=checked_items(items, name),
        )


def _name_of(function: Callable[..., Any]) -> str:
    # A partial or a callable object has no name of its own: it is asked for one.
    return getattr(function, "__name__", "")
