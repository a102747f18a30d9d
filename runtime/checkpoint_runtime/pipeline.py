"""Stages in order, each run once: what a done stage returned survives every later crash."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

from checkpoint_runtime import values
from checkpoint_runtime.context import Context
from checkpoint_runtime.errors import DefinitionError, WorkspaceError
from checkpoint_runtime.events import EventFile
from checkpoint_runtime.state import StateLog, read_state

StageFunction = Callable[[Context], Any]
"""Takes the context, returns JSON (:mod:`checkpoint_runtime.values` says what that is)."""
Function = TypeVar("Function", bound=StageFunction)


class Stage(NamedTuple):
    name: str
    function: StageFunction


class Pipeline:
    """A job in stages, run one after another in the order in which they were defined.

    >>> film = Pipeline("film")
    >>> @film.stage
    ... def research(context):
    ...     return {"frames": 3}
    >>> @film.stage
    ... def render(context):
    ...     return [f"frame {number}" for number in range(context["research"]["frames"])]

    ``film.run(workspace)`` keeps the state in ``workspace/state.log``. A stage that was killed half
    way runs again from its start: what it does to files must bear that (write a temporary file,
    then rename it). One process at a time may run a pipeline in one workspace.
    """

    def __init__(self, name: str) -> None:
        self.name = _checked_name(name, "a pipeline")
        self._stages: list[Stage] = []

    @overload
    def stage(self, function: Function, /) -> Function: ...
    @overload
    def stage(self, /, *, name: str | None = None) -> Callable[[Function], Function]: ...
    def stage(
        self, function: Function | None = None, /, *, name: str | None = None
    ) -> Function | Callable[[Function], Function]:
        """Add a function as the next stage: ``@film.stage`` or ``@film.stage(name="…")``.

        The stage has the function's name unless another is given. The function comes back as it is.

        :raises DefinitionError: the name is empty, not printable, or taken.
        """
        if function is not None:
            self._add(name, function)
            return function

        def add(function: Function) -> Function:
            self._add(name, function)
            return function

        return add

    def run(self, workspace: str | os.PathLike[str]) -> Context:
        """Run every stage that is not done yet, and return what all of them returned.

        A stage that raises ends the run with its exception and is not done: the next run starts it
        again. On an existing state this is the same as :meth:`resume`.

        :raises DefinitionError: there are no stages.
        :raises WorkspaceError: the workspace is not a directory.
        :raises StateError: the state log there is damaged, not this pipeline's, or cannot be
            written. Nothing has been run then, or nothing since the last stage that is done.
        :raises StageValueError: a stage returned what cannot be kept; it is not done.
        """
        folder = self._prepared(workspace)
        with (
            EventFile.from_environment() as events,
            StateLog(folder, self.name, self._stage_names) as log,
        ):
            for stage in self._stages[len(log.values) :]:
                _execute(stage, Context(folder, log.values), log, events)
            return Context(folder, log.values)

    def resume(self, workspace: str | os.PathLike[str]) -> Context:
        """Go on after a crash: the stages that are done are skipped, with what they returned.

        The same as :meth:`run`, under the name that says what is meant; without a state it starts
        from the beginning. It cannot tell a stage that failed from one that never ran: both run.
        """
        return self.run(workspace)

    def results(self, workspace: str | os.PathLike[str]) -> Context:
        """What the stages that are done have returned. Runs nothing and changes nothing.

        :raises WorkspaceError, StateError: as :meth:`run`.
        """
        folder = self._prepared(workspace)
        return Context(folder, read_state(folder, self.name, self._stage_names))

    @property
    def _stage_names(self) -> list[str]:
        return [stage.name for stage in self._stages]

    def _add(self, name: str | None, function: StageFunction) -> None:
        # A partial or a callable object has no name of its own: it is asked for one.
        given = getattr(function, "__name__", "") if name is None else name
        checked = _checked_name(given, "a stage")
        if checked in self._stage_names:
            raise DefinitionError(
                f"pipeline {self.name!r} already has a stage {checked!r}: "
                "the name is what its result is found by after a crash."
            )
        self._stages.append(Stage(checked, function))

    def _prepared(self, workspace: str | os.PathLike[str]) -> Path:
        if not self._stages:
            raise DefinitionError(f"pipeline {self.name!r} has no stages: add some with @stage.")
        folder = Path(workspace)
        if not folder.is_dir():
            raise WorkspaceError(f"the workspace {folder} is not a directory: create it first.")
        return folder


def _execute(stage: Stage, context: Context, log: StateLog, events: EventFile) -> None:
    events.start(stage.name)
    if events.wanted:
        events.input(stage.name, values.digest(log.values))
    try:
        log.commit(stage.name, values.encode(stage.function(context), stage.name))
    except Exception:
        events.fail(stage.name)
        raise
    events.done(stage.name)


def _checked_name(name: str, whose: str) -> str:
    if not name or name != name.strip() or not name.isprintable():
        raise DefinitionError(
            f"{name!r} cannot be the name of {whose}: use printable text, not empty, "
            "without spaces around it."
        )
    return name
