"""Effects: what a stage sends, publishes or deploys, which a crash does not take back.

No program can do something elsewhere and record that in one act: it can die in between. So that it
is about to be sent is durable before it is (the intent), and what it gave is after (the outcome).

================= ============================= ===================================================
what is recorded  what is known                 what happens when the stage asks for the effect
================= ============================= ===================================================
nothing, or       it has not happened           intent, ``send``, outcome
"not sent"
the outcome       it has happened               the outcome is returned, nothing is sent
the intent alone  nothing: the process died or  ``confirm`` is asked; without it the run stops, and
                  the reply was lost            the user has to say (``effects settle``)
================= ============================= ===================================================

The key that ``send`` is given is the same each time: a receiver that keeps keys drops what it has
had, even where a run that was taken over sends beside a newer one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from checkpoint_runtime import codec
from checkpoint_runtime.effects.errors import (
    EffectNotSent,
    EffectOutcomeError,
    EffectUncertainError,
)
from checkpoint_runtime.effects.keys import checked_effect, idempotency_key
from checkpoint_runtime.effects.recording import Recording
from checkpoint_runtime.errors import (
    CheckpointRuntimeError,
    CommitError,
    DefinitionError,
)
from checkpoint_runtime.preemption import Preemption
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.state.effect_records import EffectName, EffectState, How
from checkpoint_runtime.state.records import History
from checkpoint_runtime.stored import Stored

Send = Callable[[str], Any]
"""Given the idempotency key; what it returns is the outcome, and must be a value that can be kept.
"""
Confirm = Callable[[str], Any]
"""Given the idempotency key: the outcome of an effect that has happened, or None if it has not."""


class Ledger:
    """The effects of one run."""

    def __init__(
        self,
        history: History,
        recording: Recording,
        stored: Stored,
        preemption: Preemption,
        remedies: Remedies,
    ) -> None:
        self._history = history
        self._recording = recording
        self._stored = stored
        self._preemption = preemption
        self._remedies = remedies
        self._one_at_a_time = threading.Lock()
        """Held while something is looked up or recorded: a stage may have threads of its own."""
        self._under_way: Final[set[EffectName]] = set()
        self.refused: CheckpointRuntimeError | None = None
        """What was raised here last, and is no failure of the stage."""
        self._theirs: BaseException | None = None
        """What ``send`` or ``confirm`` raised last: that is one."""

    def effect(self, stage: str, kind: str, key: str, send: Send, confirm: Confirm | None) -> Any:
        """As :meth:`checkpoint_runtime.context.Context.effect`."""
        try:
            name = checked_effect(stage, kind, key)
            with self._reserved(name):
                return self._outcome(name, send, confirm)
        except CheckpointRuntimeError as error:
            if error is not self._theirs:
                self.refused = error
            raise

    @contextmanager
    def _reserved(self, name: EffectName) -> Iterator[None]:
        with self._one_at_a_time:
            if name in self._under_way:
                raise DefinitionError(
                    f"stage {name.stage!r}: effect {name.kind!r} with key {name.key!r} is being "
                    "sent at this moment, by another thread or by this one: ask for it once."
                )
            self._under_way.add(name)
        try:
            yield
        finally:
            self._under_way.discard(name)

    def _outcome(self, name: EffectName, send: Send, confirm: Confirm | None) -> Any:
        known = self._history.effects.get(name)
        if known is not None and known.kept is not None:
            return self._stored.outcome(name, known.kept)
        key = idempotency_key(self._history.pipeline, name)
        if known is None or known.state is not EffectState.UNSETTLED:
            return self._sent(name, key, send, intended=False)
        if confirm is None:
            settle = self._remedies.settle(*name)
            raise EffectUncertainError(*name, at=known.at, settle=settle)
        found = self._called(confirm, key)
        if found is not None:
            return self._kept(name, found, How.CONFIRMED)
        return self._sent(name, key, send, intended=True)

    def _sent(self, name: EffectName, key: str, send: Send, *, intended: bool) -> Any:
        """
        :param intended: that it may be sent is recorded already.
        """
        called = False
        try:
            if not intended:
                with self._undisturbed():
                    self._recording.intend(name)
            called = True
            outcome = self._called(send, key)
        except EffectNotSent:
            with self._undisturbed():
                self._recording.not_sent(name, How.REPLIED)
            raise
        except BaseException:
            # A signal that had to wait for the intent: then it is known that nothing was sent.
            if not called and self._is_unsettled(name):
                with self._undisturbed():
                    self._recording.not_sent(name, How.WITHDRAWN)
            raise
        return self._kept(name, outcome, How.REPLIED)

    def _kept(self, name: EffectName, outcome: object, how: How) -> Any:
        """Record what it gave; that, read back."""
        with self._undisturbed():  # a signal here would throw away what is known
            self._record(name, outcome, how)
        kept = self._history.effects[name].kept
        assert kept is not None
        return self._stored.outcome(name, kept)

    def _record(self, name: EffectName, outcome: object, how: How) -> None:
        settle = self._remedies.settle(*name)
        try:
            encoded = codec.encode(outcome)
        except codec.ValueProblem as problem:
            raise EffectOutcomeError(
                *name, where=problem.where, problem=problem.problem, settle=settle
            ) from problem
        try:
            self._recording.sent(name, encoded, how)
        except CommitError as error:
            error.add_note(
                f"effect {name.kind!r} with key {name.key!r} of stage {name.stage!r} has happened, "
                f"and that is not recorded. Say so before you resume: {settle}"
            )
            raise

    def _called(self, function: Callable[[str], Any], key: str) -> Any:
        try:
            return function(key)
        except BaseException as error:
            self._theirs = error
            raise

    def _is_unsettled(self, name: EffectName) -> bool:
        known = self._history.effects.get(name)
        return known is not None and known.state is EffectState.UNSETTLED

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        with self._preemption.held(), self._one_at_a_time:
            yield
