"""What is recorded of the effects of a pipeline, for its user to look at and to settle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_runtime import codec
from checkpoint_runtime.effects.keys import idempotency_key
from checkpoint_runtime.effects.recording import Recording
from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.exclusion.lock import WorkspaceLock
from checkpoint_runtime.preemption import Preemption
from checkpoint_runtime.state.effect_records import Effect, EffectName, EffectState, How
from checkpoint_runtime.state.log import StateLog, read_history
from checkpoint_runtime.texts import shortened

_NAMED = 5
_AS_RECORDED: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectStatus:
    """One effect."""

    stage: str
    kind: str
    key: str
    state: EffectState
    how: How | None
    """How that is known; None: it is not."""
    at: str
    """When it was to be sent, or settled: ISO 8601, UTC."""
    idempotency_key: str
    """What its receiver was given to know it by."""
    outcome: str | None
    """What it gave, as JSON, shortened; None: it was not sent, or that is not known."""


class PipelineEffects:
    """The effects of one pipeline in one workspace, in the order in which they were first sent."""

    def __init__(self, pipeline: str, folder: Path) -> None:
        """
        :raises WorkspaceError, StateError: there is a state, and it cannot be read.
        """
        self._pipeline = pipeline
        self._folder = folder
        self._found = read_history(folder, pipeline).effects

    def __iter__(self) -> Iterator[EffectStatus]:
        for name, effect in self._found.items():
            yield self._status(name, effect)

    def __len__(self) -> int:
        return len(self._found)

    def settle(
        self,
        kind: str,
        key: str,
        *,
        happened: bool,
        outcome: object = _AS_RECORDED,
        stage: str | None = None,
    ) -> None:
        """Say whether an effect has happened. One that has not is sent when it is next asked for.

        :param outcome: what the stage is given, if it has happened: what ``send`` would have
            returned. Left out, it is what is recorded already, or else None.
        :param stage: whose effect it is; needed where several stages have one of that name.
        :raises DefinitionError: there is no such effect, or the outcome cannot be kept.
        :raises WorkspaceInUseError: a run is at work here.
        :raises CommitError: it could not be recorded.
        """
        name = self._the_one(kind, key, stage)
        given = None if outcome is _AS_RECORDED else outcome
        encoded = _encoded(given)
        if given is not None and not happened:
            raise DefinitionError(f"effect {kind!r} did not happen, and gave {given!r}?")
        with (
            Preemption.of_this_run(),
            WorkspaceLock(self._folder, lambda text: None),
            StateLog(self._folder, self._pipeline) as log,
        ):
            recording = Recording(self._folder, log)
            known = log.history.effects.get(name)
            kept = known is not None and known.state is EffectState.SENT
            if not happened:
                recording.not_sent(name, How.SETTLED)
            elif not kept or outcome is not _AS_RECORDED:
                recording.sent(name, encoded, How.SETTLED)
            self._found = log.history.effects

    def _the_one(self, kind: str, key: str, stage: str | None) -> EffectName:
        found = [
            name
            for name in self._found
            if (name.kind, name.key) == (kind, key) and stage in (None, name.stage)
        ]
        if len(found) == 1:
            return found[0]
        called = f"effect {kind!r} with key {key!r}"
        if found:
            stages = ", ".join(repr(name.stage) for name in found)
            raise DefinitionError(f"{called} is one of each of the stages {stages}: say which.")
        of = "" if stage is None else f" of stage {stage!r}"
        raise DefinitionError(f"there is no {called}{of}; {self._known_words()}.")

    def _known_words(self) -> str:
        if not self._found:
            return "none is recorded here"
        # Those that are to be settled first.
        ordered = sorted(self._found.items(), key=lambda entry: entry[1].state.value, reverse=True)
        shown = ", ".join(
            f"{name.kind!r} {name.key!r} ({effect.state})" for name, effect in ordered[:_NAMED]
        )
        more = len(ordered) - _NAMED
        return f"there is {shown}" + (f", and {more} more" if more > 0 else "")

    def _status(self, name: EffectName, effect: Effect) -> EffectStatus:
        kept = effect.kept
        return EffectStatus(
            stage=name.stage,
            kind=name.kind,
            key=name.key,
            state=effect.state,
            how=effect.how,
            at=effect.at,
            idempotency_key=idempotency_key(self._pipeline, name),
            outcome=None if kept is None else shortened(json.dumps(kept.value)),
        )


def _encoded(outcome: object) -> codec.Encoded:
    try:
        return codec.encode(outcome)
    except codec.ValueProblem as problem:
        where = problem.where.replace("value", "outcome", 1)
        raise DefinitionError(f"{where} cannot be kept: it {problem.problem}.") from problem
