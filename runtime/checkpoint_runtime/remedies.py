"""What to type, or to call, to get on: filled in for whoever started the run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Protocol


class Remedies(Protocol):
    """How errors, the status and the handoff say what to do."""

    def resume(self) -> str:
        """To go on."""
        ...

    def rerun(self, target: str) -> str:
        """To clear a stage or an item, and go on."""
        ...

    def settle(self, stage: str, kind: str, key: str) -> str:
        """To say that an effect has happened."""
        ...


@dataclass(frozen=True, slots=True)
class Calls:
    """For whoever calls the pipeline from Python."""

    def resume(self) -> str:
        return "pipeline.resume(workspace)"

    def rerun(self, target: str) -> str:
        return f"pipeline.rerun(workspace, {target!r})"

    def settle(self, stage: str, kind: str, key: str) -> str:
        return (
            f"pipeline.effects(workspace).settle({kind!r}, {key!r}, stage={stage!r}, happened=True)"
        )


@dataclass(frozen=True, slots=True)
class Commands:
    """For whoever started ``checkpoint-runtime``: to be pasted into the same shell."""

    pipeline: str
    """``MODULE:PIPELINE``, as it was given."""
    workspace: str

    def resume(self) -> str:
        return shlex.join(self._begun("resume"))

    def rerun(self, target: str) -> str:
        return shlex.join([*self._begun("rerun"), target])

    def settle(self, stage: str, kind: str, key: str) -> str:
        named = [f"--stage={stage}", "--happened", "--", kind, key]
        return shlex.join([*self._begun("effects", "settle"), *named])

    def _begun(self, *command: str) -> list[str]:
        return ["checkpoint-runtime", *command, self.pipeline, "--workspace", self.workspace]
