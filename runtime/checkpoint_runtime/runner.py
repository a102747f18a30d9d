"""One run of a pipeline in one workspace: what is done is skipped, the rest is done and committed.

For each stage that is not done, in order: its attempt is recorded → it runs → what it returned and
that it is done are recorded, in one act → the handoff says so → ``done`` is acknowledged. The
attempt at the next stage is recorded together with that commit: a stage costs one sync.

An attempt counts if the stage's own code was at work and did not get to its end: it raised, or the
process died. One that ended for another reason is released: an interrupt, a full disk, an input
that cannot be read.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkpoint_runtime.beating import Advance
from checkpoint_runtime.commits import Commits
from checkpoint_runtime.context import Context
from checkpoint_runtime.effects.ledger import Ledger
from checkpoint_runtime.effects.recording import Recording
from checkpoint_runtime.errors import (
    CheckpointRuntimeError,
    ContextError,
    PoisonedStageError,
    StageError,
    StageFailedError,
    StageValueError,
    used_up_words,
)
from checkpoint_runtime.events import EventFile
from checkpoint_runtime.inputs import Inputs
from checkpoint_runtime.mapped import keys_of, listed
from checkpoint_runtime.plan import Plan
from checkpoint_runtime.preemption import Preempted, Preemption
from checkpoint_runtime.progress import FailedAttempt, Progress
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.stage_faults import StageFaults
from checkpoint_runtime.stages import Stage, Stages, item_name
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.scratch import Scratch
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import Stored
from checkpoint_runtime.texts import told, words_of
from checkpoint_runtime.tracebacks import traceback_of, where_of


class _StageRaised(Exception):
    """Carries what a stage's own function raised."""

    def __init__(self, error: Exception | SystemExit) -> None:
        super().__init__()
        self.error = error


class Runner:
    """Runs what is not done. Made for one run; the state stands open and fits the pipeline."""

    def __init__(
        self,
        stages: Stages,
        workspace: Path,
        log: StateLog,
        events: EventFile,
        *,
        faults: StageFaults,
        preemption: Preemption,
        parameters_digest: str,
        keep_going: bool,
        progress: Progress,
        advance: Advance,
        remedies: Remedies,
    ) -> None:
        self._stages = stages
        self._history: History = log.history
        self._events = events
        self._faults = faults
        self._preemption = preemption
        self._keep_going = keep_going
        self._progress = progress
        self._remedies = remedies
        self._plan = Plan(stages, log.history)
        self._commits = Commits(
            workspace, log, self._plan, parameters_digest=parameters_digest, remedies=remedies
        )
        self._scratch = Scratch(workspace, log.token)
        stored = Stored(log.history, SideFiles(workspace), remedies)
        self._ledger = Ledger(log.history, Recording(workspace, log), stored, preemption, remedies)
        self._inputs = Inputs(
            stages,
            workspace,
            log.history,
            stored,
            self._scratch,
            parameters_digest=parameters_digest,
            advance=advance,
            ledger=self._ledger,
        )
        self._process = os.getpid()
        self._index: int | None = None
        """Of the item that is under way."""

    def run(self) -> None:
        """
        :raises StageError: a stage failed, or has used up its attempts.
        :raises ContextError: a stage asked for what it does not name.
        :raises StateError: what a stage was to be given cannot be read.
        :raises CommitError: something could not be recorded.
        """
        self._commits.open()
        self._scratch.sweep(self._commits.own)
        before = self._plan.done
        self._progress.planned(len(self._stages), before)
        try:
            self._do_all()
        except (Exception, KeyboardInterrupt, Preempted) as error:
            # What a stage raised is recorded by now, and counts.
            if not self._commits.release():
                error.add_note("that this attempt does not count could not be recorded: it counts.")
            raise
        self._progress.finished(len(self._stages), self._plan.done - before)

    def _do_all(self) -> None:
        first: StageError | None = None
        for stage in self._plan:
            try:
                self._bring_to_an_end(stage)
            except StageError as error:
                if not self._keep_going:
                    raise
                self._commits.release()  # if it may be tried again unchanged
                if first is None:
                    first = error
                else:
                    first.add_note(str(error))
                self._plan.give_up(stage.name)
        if first is not None:
            raise first

    # --- one stage ---

    def _bring_to_an_end(self, stage: Stage) -> None:
        """Try it until it is done, or may not be tried again."""
        while True:
            self._begin(stage)
            try:
                self._attempt(stage)
                return
            except _StageRaised as raised:
                error = raised.error
            except CheckpointRuntimeError:
                self._events.fail(stage.name)
                raise
            failed = self._failed(stage, error)
            if isinstance(error, SystemExit) and error.code:
                error.add_note(self._exit_words(stage, error, failed))
                raise error
            if failed.wait_s is None:
                raise StageFailedError(
                    stage.name,
                    failed.error,
                    tried=self._history.attempts[stage.name],
                    attempts=stage.budget,
                    rerun=self._remedies.rerun(stage.name),
                    item=failed.item,
                    where=failed.where,
                    kept_going=self._keep_going,
                ) from error
            self._scratch.empty()
            # An event that nobody sets: a wait, which an interrupt ends.
            with self._preemption.heeded():
                threading.Event().wait(failed.wait_s)

    def _begin(self, stage: Stage) -> None:
        """Record an attempt before it is made."""
        if self._plan.is_stuck(stage):
            failure = self._history.failures.get(stage.name)
            index = failure.item if failure else None
            raise PoisonedStageError(
                stage.name,
                attempts=self._history.attempts[stage.name],
                last_error=failure.error if failure else None,
                rerun=self._remedies.rerun(stage.name),
                item=None if index is None else item_name(stage.name, index),
                where=failure.where if failure else None,
            )
        self._commits.attempt(stage)
        self._progress.begun(stage.name, self._history.attempts[stage.name], stage.budget)

    def _attempt(self, stage: Stage) -> None:
        self._index = None
        context = self._inputs.context(stage)
        begun = time.monotonic()
        self._events.start(stage.name)
        if self._events.wanted:
            self._events.input(stage.name, self._inputs.digest(stage))
        try:
            if stage.items is None:
                value = self._called(stage.name, stage.function, context)
                self._commits.stage(stage, value, time.monotonic() - begun)
            else:
                self._do_items(stage, context)
                self._commits.mapped(stage, time.monotonic() - begun)
        except StageValueError as error:
            self._commits.failure(stage, str(error), index=self._index)
            error.used_up = self._plan.is_stuck(stage)
            if error.used_up:
                rerun = self._remedies.rerun(stage.name)
                error.add_note(f"{used_up_words(stage.budget)}: once it is mended: {rerun}")
            raise
        self._scratch.empty()
        self._events.done(stage.name)
        self._progress.done(stage.name, time.monotonic() - begun)

    def _called(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the user's own function returns; what it raises is told from what we raise."""
        try:
            with self._preemption.heeded(work=True):
                self._faults.strike(name)
                value = function(*arguments)
        except (Preempted, ContextError):
            raise
        except (Exception, SystemExit) as error:
            # A child that the stage forked has nothing to record here: that is its parent's.
            ours = error is self._inputs.unreadable or error is self._ledger.refused
            if ours or os.getpid() != self._process:
                raise
            raise _StageRaised(error) from error
        if os.getpid() != self._process:
            raise SystemExit(
                f"checkpoint-runtime: a child process came back from stage {name!r}: after "
                "os.fork() the child has to end with os._exit()."
            )
        return value

    def _failed(self, stage: Stage, error: Exception | SystemExit) -> FailedAttempt:
        """Record that an attempt failed; what is to be told of it."""
        words, where = words_of(error), where_of(error)
        self._commits.failure(stage, words, index=self._index, where=where)
        self._events.fail(stage.name)
        tried = self._history.attempts[stage.name]
        # Who calls sys.exit() wants the process to end: a handler of SIGTERM, say.
        again = (
            stage.attempts is not None
            and tried < stage.budget
            and not isinstance(error, SystemExit)
        )
        failed = FailedAttempt(
            stage=stage.name,
            item=None if self._index is None else item_name(stage.name, self._index),
            error=words,
            where=where,
            traceback=None if isinstance(error, SystemExit) else traceback_of(error),
            wait_s=stage.wait_s(tried) if again else None,
        )
        self._progress.failed(failed)
        return failed

    def _exit_words(self, stage: Stage, error: SystemExit, failed: FailedAttempt) -> str:
        tried = self._history.attempts[stage.name]
        if self._plan.is_stuck(stage):
            ahead = f"{used_up_words(stage.budget)}: {self._remedies.rerun(stage.name)}"
        else:
            ahead = f"resume tries it again ({tried} of {stage.budget} attempts used)."
        ended_by = told(f"sys.exit({error.code!r})", failed.item, failed.where)
        return f"stage {stage.name!r} ended the program: {ended_by}. {ahead}"

    # --- mapped stages ---

    def _do_items(self, stage: Stage, context: Context) -> None:
        items = self._called(stage.name, listed, stage.items, context)
        keys = keys_of(stage.name, items)
        known = self._history.items.get(stage.name, {})
        changed = [
            index for index, item in known.items() if index >= len(keys) or item.key != keys[index]
        ]
        self._commits.drop_items(stage, changed)
        done = len(self._history.items.get(stage.name, {}))
        self._progress.going_through(stage.name, done, len(items))
        large: dict[str, Any] = {}
        for index, item in enumerate(items):
            if index in self._history.items.get(stage.name, {}):
                continue
            self._index = index
            name = item_name(stage.name, index)
            self._events.start(name)
            context = self._inputs.context(stage, large)
            value = self._called(name, stage.function, context, item)
            self._commits.item(stage, index, keys[index], value, of=len(items))
            self._events.done(name)
            done += 1
            self._progress.advanced(stage.name, done, len(items))
        self._index = None
