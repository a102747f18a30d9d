"""What the stages of one run are given: the values of their inputs, parameters, scratch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from checkpoint_runtime.beating import Advance
from checkpoint_runtime.context import Context
from checkpoint_runtime.effects.ledger import Ledger
from checkpoint_runtime.errors import StateError
from checkpoint_runtime.stages import Stage, Stages
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.scratch import Scratch
from checkpoint_runtime.stored import Stored, decoded_parameters, digest_of, encoded_value


class Inputs:
    """Makes the context of each attempt, or item."""

    def __init__(
        self,
        stages: Stages,
        workspace: Path,
        history: History,
        stored: Stored,
        scratch: Scratch,
        *,
        parameters_digest: str,
        advance: Advance,
        ledger: Ledger,
    ) -> None:
        self._names = [stage.name for stage in stages]
        self._workspace = workspace
        self._history = history
        self._stored = stored
        self._scratch = scratch
        self._parameters_digest = parameters_digest
        self._advance = advance
        self._ledger = ledger
        self.unreadable: StateError | None = None
        """What reading an input raised: the state's fault, not the stage's."""

    def context(self, stage: Stage, large: dict[str, Any] | None = None) -> Context:
        """
        :param large: values that the items of a mapped stage share, once one has asked for them.
        """

        def load(name: str) -> Any:
            if large is None or not self._stored.is_large(name):
                return self._value(name)
            if name not in large:
                large[name] = self._value(name)
            return large[name]

        return Context(
            stage=stage.name,
            attempt=self._history.attempts[stage.name],
            inputs=stage.after,
            stages=self._names,
            load=load,
            # Anew, as the inputs' values are: what one stage does to them no other one sees.
            parameters=decoded_parameters(self._history.parameters, self._history.path),
            workspace=self._workspace,
            scratch=lambda: self._scratch.directory(stage.name),
            advance=self._advance,
            effect=self._ledger.effect,
        )

    def digest(self, stage: Stage) -> str:
        """Of what the stage is really given, not of what the state says of it.

        :raises StateError: it cannot be read.
        """
        digests = {
            name: digest_of(encoded_value(self._value(name), name).text) for name in stage.after
        }
        digests[" parameters"] = self._parameters_digest
        return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()

    def _value(self, stage: str) -> Any:
        try:
            return self._stored.value(stage)
        except StateError as error:
            self.unreadable = error
            raise
