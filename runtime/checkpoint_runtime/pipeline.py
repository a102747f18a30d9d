"""Stages, each run once: that a stage is done, and what it returned, survive every later crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from checkpoint_runtime.clearing import Clearing, checked_target, from_stage, of_target
from checkpoint_runtime.context import Results
from checkpoint_runtime.definition import Definition
from checkpoint_runtime.effects.view import PipelineEffects
from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.grace import checked_grace
from checkpoint_runtime.liveness.checks import checked_interval
from checkpoint_runtime.liveness.heartbeat import DEFAULT_INTERVAL_S
from checkpoint_runtime.progress import Progress, Silent
from checkpoint_runtime.remedies import Calls, Remedies
from checkpoint_runtime.run import Wishes, go_on, results_of
from checkpoint_runtime.state.log import read_history
from checkpoint_runtime.state.records import History
from checkpoint_runtime.status import Status, status_of
from checkpoint_runtime.stored import encoded_parameters
from checkpoint_runtime.workspace import AnyPath, existing, made


class Pipeline(Definition):
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
    then rename it). One run at a time works in a workspace.
    """

    def __init__(self, name: str) -> None:
        """
        :raises DefinitionError: the name is empty or not printable.
        """
        super().__init__(name)
        self.remedies: Remedies = Calls()
        """How errors, the status and the handoff say what to do; the command has its own."""

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
        heartbeat_s: float | None = DEFAULT_INTERVAL_S,
        grace_s: float = 0.0,
    ) -> Results:
        """Run every stage that is not done yet, and return what all of them returned.

        A stage that has failed in an earlier run is not tried again: :meth:`resume` does that.

        :param workspace: a directory; it is made if it is missing.
        :param parameters: what the stages find in ``context.parameters``. Not given: as before.
        :param accept_changed: what is done stays done although the pipeline has changed since.
        :param rerun_from: this stage and all that are built on it are run again.
        :param keep_going: after a failure, go on with the stages that are not built on it.
        :param heartbeat_s: how often it beats (:mod:`~checkpoint_runtime.liveness`); 0: never.
        :param grace_s: how long the stage under way, or its item, may go on after a signal that
            ends the run; then it is abandoned.
        :raises DefinitionError: there are no stages, or no such stage.
        :raises WorkspaceError: the workspace is not a directory, or may not be looked into.
        :raises WorkspaceInUseError: another run is at work there.
        :raises StateError: the state there is damaged, lost, or another pipeline's.
        :raises ChangedPipelineError: what is done there was done by another form of this pipeline.
        :raises FailedBeforeError: a stage had failed. In all these cases nothing has been run.
        :raises StageFailedError, StageValueError, PoisonedStageError: a stage failed now, returned
            what cannot be kept, or has used up its attempts.
        :raises ContextError: a stage asked for what it does not name as an input.
        :raises EffectUncertainError: what a stage was to send may or may not have happened.
        :raises CommitError: something could not be written: nothing is recorded of it.
        :raises TakenOverError: another run has taken the workspace over since this one began.
        :raises Preempted: SIGTERM or SIGUSR1 came, to the main thread, and nobody else handles it.
        """
        return self._go_on(
            workspace,
            parameters,
            self._from(rerun_from),
            accept_changed=accept_changed,
            keep_going=keep_going,
            progress=progress,
            heartbeat_s=heartbeat_s,
            grace_s=grace_s,
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
        heartbeat_s: float | None = DEFAULT_INTERVAL_S,
        grace_s: float = 0.0,
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
            heartbeat_s=heartbeat_s,
            grace_s=grace_s,
            retry_failed=True,
        )

    def rerun(
        self,
        workspace: AnyPath,
        target: str,
        *,
        forget_effects: bool = False,
        progress: Progress | None = None,
        heartbeat_s: float | None = DEFAULT_INTERVAL_S,
        grace_s: float = 0.0,
    ) -> Results:
        """Run a stage again although it is done, or stuck, and go on from there.

        Of a stage that is done the value is cleared, and so are all stages that are built on it.
        One that is not done gets its attempts anew, and keeps the items that are done.

        :param target: the name of a stage; or of an item, ``"embed[3]"``: that item is cleared, and
            all that is built on its stage.
        :param forget_effects: what these stages have sent is sent again. Not given: it is not, and
            they are given what it gave then. What may or may not have happened has to be settled.
        :raises DefinitionError: there is no such stage or item; effects of one item are to be
            forgotten. The others are those of :meth:`resume`.
        """
        checked_target(self._stages, target, forget_effects=forget_effects)
        existing(workspace)
        return self._go_on(
            workspace,
            None,
            lambda history: of_target(self._stages, history, target, forget_effects=forget_effects),
            accept_changed=False,
            keep_going=False,
            progress=progress,
            heartbeat_s=heartbeat_s,
            grace_s=grace_s,
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

    def effects(self, workspace: AnyPath) -> PipelineEffects:
        """What its stages have sent (``context.effect``), to be gone through and to be settled.

        :raises WorkspaceError, StateError: as :meth:`run`.
        """
        return PipelineEffects(self.name, existing(workspace))

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
        heartbeat_s: float | None,
        grace_s: float,
        retry_failed: bool,
    ) -> Results:
        wishes = Wishes(
            parameters=None if parameters is None else encoded_parameters(parameters),
            clearing=clearing,
            accept_changed=accept_changed,
            keep_going=keep_going,
            retry_failed=retry_failed,
            progress=progress or Silent(),
            heartbeat_s=checked_interval(heartbeat_s) if heartbeat_s else None,
            grace_s=checked_grace(grace_s),
            remedies=self.remedies,
        )
        if not len(self._stages):
            raise DefinitionError(f"pipeline {self.name!r} has no stages: add some with @stage.")
        return go_on(self.name, self._stages, made(workspace), wishes)

    def _from(self, stage: str | None) -> Callable[[History], Clearing]:
        clearing = Clearing() if stage is None else from_stage(self._stages, stage)
        return lambda history: clearing
