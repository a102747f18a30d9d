"""One run of a pipeline in one workspace: what is done is skipped, the rest is done and committed.

For each stage that is not done, in order: its attempt is recorded → it runs → what it returned and
that it is done are recorded, in one act → the handoff says so → ``done`` is acknowledged. The
attempt at the next stage is recorded together with that commit: a stage costs one sync.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkpoint_runtime.commits import Commits
from checkpoint_runtime.context import Context
from checkpoint_runtime.errors import (
    CheckpointRuntimeError,
    PoisonedStageError,
    StageError,
    StageFailedError,
    StageValueError,
    StateError,
)
from checkpoint_runtime.events import EventFile
from checkpoint_runtime.mapped import keys_of, listed
from checkpoint_runtime.plan import Plan
from checkpoint_runtime.progress import Progress
from checkpoint_runtime.stage_faults import StageFaults
from checkpoint_runtime.stages import Stage, Stages, item_name
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.scratch import Scratch
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import Stored, decoded_parameters, digest_of, encoded_value

_LONGEST_ERROR = 2000


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
        parameters_digest: str,
        keep_going: bool,
        progress: Progress,
    ) -> None:
        self._stages = stages
        self._workspace = workspace
        self._history: History = log.history
        self._events = events
        self._parameters_digest = parameters_digest
        self._keep_going = keep_going
        self._progress = progress
        self._stored = Stored(log.history, SideFiles(workspace))
        self._plan = Plan(stages, log.history)
        self._commits = Commits(workspace, log, self._plan, parameters_digest=parameters_digest)
        self._scratch = Scratch(workspace)
        self._faults = StageFaults.from_environment()
        self._process = os.getpid()
        self._unreadable: StateError | None = None
        """What reading an input raised: the state's fault, not the stage's."""

    def run(self) -> None:
        """
        :raises StageError: a stage failed, or has used up its attempts.
        :raises StateError: what a stage was to be given cannot be read.
        :raises CommitError: something could not be recorded.
        """
        self._commits.open()
        self._scratch.sweep()
        self._progress.planned(len(self._stages), self._plan.done)
        first: StageError | None = None
        for stage in self._plan:
            try:
                self._bring_to_an_end(stage)
            except StageError as error:
                if not self._keep_going:
                    raise
                first = first or error
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
            except KeyboardInterrupt:
                self._commits.release(stage)
                raise
            except CheckpointRuntimeError:
                self._events.fail(stage.name)
                raise
            wait_s = self._failed(stage, error)
            if isinstance(error, SystemExit) and error.code:
                raise error
            if wait_s is None:
                tried = self._history.attempts[stage.name]
                raise StageFailedError(
                    stage.name, words_of(error), tried=tried, attempts=stage.budget
                ) from error
            self._scratch.empty()
            # An event that nobody sets: a wait, which an interrupt ends.
            threading.Event().wait(wait_s)

    def _begin(self, stage: Stage) -> None:
        """Record an attempt before it is made."""
        if self._commits.begun != stage.name:
            tried = self._history.attempts.get(stage.name, 0)
            if tried >= stage.budget:
                failure = self._history.failures.get(stage.name)
                raise PoisonedStageError(
                    stage.name, attempts=tried, last_error=failure and failure.error
                )
        self._commits.attempt(stage)
        self._progress.begun(stage.name, self._history.attempts[stage.name], stage.budget)

    def _attempt(self, stage: Stage) -> None:
        context = self._context(stage)
        begun = time.monotonic()
        self._events.start(stage.name)
        if self._events.wanted:
            self._events.input(stage.name, self._input_digest(stage))
        try:
            if stage.items is None:
                value = self._called(stage.name, stage.function, context)
                self._commits.stage(stage, value, time.monotonic() - begun)
            else:
                self._do_items(stage, context)
                self._commits.mapped(stage, time.monotonic() - begun)
        except StageValueError as error:
            self._commits.failure(stage, str(error))
            raise
        self._scratch.empty()
        self._events.done(stage.name)
        self._progress.done(stage.name, time.monotonic() - begun)

    def _called(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the user's own function returns; what it raises is told from what we raise."""
        try:
            self._faults.strike(name)
            value = function(*arguments)
        except (Exception, SystemExit) as error:
            # A child that the stage forked has nothing to record here: that is its parent's.
            if error is self._unreadable or os.getpid() != self._process:
                raise
            raise _StageRaised(error) from error
        if os.getpid() != self._process:
            raise SystemExit(
                f"checkpoint-runtime: a child process came back from stage {name!r}: after "
                "os.fork() the child has to end with os._exit()."
            )
        return value

    def _failed(self, stage: Stage, error: Exception | SystemExit) -> float | None:
        """Record that an attempt failed; how long to wait before the next one, None: none."""
        words = words_of(error)
        self._commits.failure(stage, words)
        self._events.fail(stage.name)
        tried = self._history.attempts[stage.name]
        # Who calls sys.exit() wants the process to end: a handler of SIGTERM, say.
        again = (
            stage.attempts is not None
            and tried < stage.budget
            and not isinstance(error, SystemExit)
        )
        wait_s = stage.wait_s(tried) if again else None
        self._progress.failed(stage.name, words, wait_s)
        return wait_s

    # --- mapped stages ---

    def _do_items(self, stage: Stage, context: Context) -> None:
        items = self._called(stage.name, listed, stage.items, context)
        keys = keys_of(stage.name, items)
        known = self._history.items.get(stage.name, {})
        changed = [
            index for index, item in known.items() if index >= len(keys) or item.key != keys[index]
        ]
        self._commits.drop_items(stage, changed)
        large: dict[str, Any] = {}
        for index, item in enumerate(items):
            if index not in self._history.items.get(stage.name, {}):
                name = item_name(stage.name, index)
                self._events.start(name)
                context = self._context(stage, large)
                value = self._called(name, stage.function, context, item)
                self._commits.item(stage, index, keys[index], value)
                self._events.done(name)
            self._progress.advanced(stage.name, index + 1, len(items))

    # --- what a stage is given ---

    def _context(self, stage: Stage, large: dict[str, Any] | None = None) -> Context:
        """
        :param large: values that the items of a mapped stage share, once one has asked for them.
        """

        def load(name: str) -> Any:
            if large is None or not self._stored.is_large(name):
                return self._input(name)
            if name not in large:
                large[name] = self._input(name)
            return large[name]

        return Context(
            stage=stage.name,
            attempt=self._history.attempts[stage.name],
            inputs=stage.after,
            load=load,
            # Anew, as the inputs' values are: what one stage does to them no other one sees.
            parameters=decoded_parameters(self._history.parameters, self._history.path),
            workspace=self._workspace,
            scratch=lambda: self._scratch.directory(stage.name),
        )

    def _input(self, stage: str) -> Any:
        try:
            return self._stored.value(stage)
        except StateError as error:
            self._unreadable = error
            raise

    def _input_digest(self, stage: Stage) -> str:
        # Of what the stage is really given, not of what the state says of it.
        digests = {
            name: digest_of(encoded_value(self._input(name), name).text) for name in stage.after
        }
        digests[" parameters"] = self._parameters_digest
        return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def words_of(error: BaseException) -> str:
    """The kind and the text of an exception, in one line that can be printed anywhere."""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception as another:  # noqa: BLE001 - the stage's own code: it may raise anything
        text = f"(its text cannot be had: {type(another).__name__})"
    if len(text) > _LONGEST_ERROR:
        text = f"{text[:_LONGEST_ERROR]}…"
    # Control characters and lone surrogates: not every terminal or file takes them.
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return f"{kind}: {shown}" if shown else kind
