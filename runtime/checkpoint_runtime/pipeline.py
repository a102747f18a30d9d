"""Stages, each run once: that a stage is done, and what it returned, survive every later crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from checkpoint_runtime.clearing import Clearing, checked_target, from_stage, of_target
from checkpoint_runtime.context import Results
from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.progress import Progress, Silent
from checkpoint_runtime.remedies import Calls, Remedies
from checkpoint_runtime.run import Wishes, go_on, results_of
from checkpoint_runtime.stages import (
    ItemFunction,
    Items,
    StageFunction,
    Stages,
    checked_items,
    checked_name,
)
from checkpoint_runtime.state.log import read_history
from checkpoint_runtime.state.records import History
from checkpoint_runtime.status import Status, status_of
from checkpoint_runtime.stored import encoded_parameters
from checkpoint_runtime.workspace import AnyPath, existing, made

Function = TypeVar("Function", bound=StageFunction)


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
        """
        :raises DefinitionError: the name is empty or not printable.
        """
        self.name = checked_name(name, "a pipeline")
        self._stages = Stages(self.name)
        self.remedies: Remedies = Calls()
        """How errors, the status and the handoff say what to do; the command has its own."""

    # --- definition ---

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

    # --- running ---

    def run(
        self,
        workspace: AnyPath,
        *,
        parameters: Mapping[str, Any] | None = None,
        accept_changed: bool = False,
        rerun_from: str | None = None,
        keep_going: bool = False,
        progress: Progress | None = None,
    ) -> Results:
        """Run every stage that is not done yet, and return what all of them returned.

        A stage that has failed in an earlier run is not tried again: :meth:`resume` does that.

        :param workspace: a directory; it is made if it is missing.
        :param parameters: what the stages find in ``context.parameters``. Not given: as before.
        :param accept_changed: what is done stays done although the pipeline has changed since.
        :param rerun_from: this stage and all that are built on it are run again.
        :param keep_going: after a failure, go on with the stages that are not built on it.
        :raises DefinitionError: there are no stages, or no such stage.
        :raises WorkspaceError: the workspace is not a directory, or may not be looked into.
        :raises StateError: the state there is damaged, lost, or another pipeline's.
        :raises ChangedPipelineError: what is done there was done by another form of this pipeline.
        :raises FailedBeforeError: a stage had failed. In all these cases nothing has been run.
        :raises StageFailedError, StageValueError, PoisonedStageError: a stage failed now, returned
            what cannot be kept, or has used up its attempts.
        :raises ContextError: a stage asked for what it does not name as an input.
        :raises CommitError: something could not be written: nothing is recorded of it.
        :raises Preempted: a SIGTERM came, in the main thread, and nobody else handles it.
        """
        return self._go_on(
            workspace,
            parameters,
            self._from(rerun_from),
            accept_changed=accept_changed,
            keep_going=keep_going,
            progress=progress,
            retry_failed=False,
        )

    def resume(
        self,
        workspace: AnyPath,
        *,
        parameters: Mapping[str, Any] | None = None,
        accept_changed: bool = False,
        rerun_from: str | None = None,
        keep_going: bool = False,
        progress: Progress | None = None,
    ) -> Results:
        """Go on after a crash or a failure: what is done is skipped, what failed is tried again.

        As :meth:`run`, but that a stage which has failed is no reason to refuse. Without a state it
        starts from the beginning.
        """
        return self._go_on(
            workspace,
            parameters,
            self._from(rerun_from),
            accept_changed=accept_changed,
            keep_going=keep_going,
            progress=progress,
            retry_failed=True,
        )

    def rerun(
        self, workspace: AnyPath, target: str, *, progress: Progress | None = None
    ) -> Results:
        """Run a stage again although it is done, or stuck, and go on from there.

        Of a stage that is done the value is cleared, and so are all stages that are built on it.
        One that is not done gets its attempts anew, and keeps the items that are done.

        :param target: the name of a stage; or of an item, ``"embed[3]"``: that item is cleared, and
            all that is built on its stage.
        :raises DefinitionError: there is no such stage or item. The others are those of
            :meth:`resume`.
        """
        checked_target(self._stages, target)
        existing(workspace)
        return self._go_on(
            workspace,
            None,
            lambda history: of_target(self._stages, history, target),
            accept_changed=False,
            keep_going=False,
            progress=progress,
            retry_failed=True,
        )

    # --- looking ---

    def results(self, workspace: AnyPath) -> Results:
        """What the stages that are done have returned. Runs nothing and changes nothing.

        :raises WorkspaceError, StateError: as :meth:`run`.
        """
        folder = existing(workspace)
        return results_of(read_history(folder, self.name), folder, self.remedies)

    def status(self, workspace: AnyPath) -> Status:
        """What is done, what is next, what failed, what a resume would refuse.

        Runs nothing and changes nothing.

        :raises WorkspaceError, StateError: as :meth:`run`.
        """
        folder = existing(workspace)
        return status_of(self._stages, read_history(folder, self.name), folder, self.remedies)

    # --- the story of a run ---

    def _go_on(
        self,
        workspace: AnyPath,
        parameters: Mapping[str, Any] | None,
        clearing: Callable[[History], Clearing],
        *,
        accept_changed: bool,
        keep_going: bool,
        progress: Progress | None,
        retry_failed: bool,
    ) -> Results:
        wishes = Wishes(
            parameters=None if parameters is None else encoded_parameters(parameters),
            clearing=clearing,
            accept_changed=accept_changed,
            keep_going=keep_going,
            retry_failed=retry_failed,
            progress=progress or Silent(),
            remedies=self.remedies,
        )
        if not len(self._stages):
            raise DefinitionError(f"pipeline {self.name!r} has no stages: add some with @stage.")
        return go_on(self.name, self._stages, made(workspace), wishes)

    def _from(self, stage: str | None) -> Callable[[History], Clearing]:
        clearing = Clearing() if stage is None else from_stage(self._stages, stage)
        return lambda history: clearing


def _name_of(function: Callable[..., Any]) -> str:
    # A partial or a callable object has no name of its own: it is asked for one.
    return getattr(function, "__name__", "")
