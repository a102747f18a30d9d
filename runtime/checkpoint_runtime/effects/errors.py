"""What ends a run at an effect."""

from __future__ import annotations

from checkpoint_runtime.errors import StageError
from checkpoint_runtime.texts import ended


class EffectNotSent(Exception):
    """To be raised by ``send``: the effect has certainly not happened, and may be sent again.

    Anything else that it raises leaves open whether it has: a reply can be lost.
    """


class EffectUncertainError(StageError):
    """An effect may or may not have happened: it is not sent again before that is settled."""

    def __init__(self, stage: str, kind: str, key: str, *, at: str, settle: str) -> None:
        """
        :param at: when it was to be sent.
        :param settle: what says that it has happened.
        """
        super().__init__(
            stage,
            f"stage {stage!r}: effect {kind!r} with key {key!r} may or may not have happened: it "
            f"was about to be sent at {at}, and how that ended is not recorded. Find out, and say "
            f"so: {settle} (or that it did not happen); then resume. A confirm= of context.effect "
            "would be asked instead.",
        )
        self.kind = kind
        self.key = key
        self.at = at


class EffectOutcomeError(StageError):
    """An effect has happened, and what it gave is nothing that a resume could give back."""

    def __init__(
        self, stage: str, kind: str, key: str, *, where: str, problem: str, settle: str
    ) -> None:
        super().__init__(
            stage,
            f"stage {stage!r}: effect {kind!r} with key {key!r} has happened, and what it gave "
            f"cannot be kept: {ended(f'{where} {problem}')} Let send return something that can, "
            f"say that it has happened: {settle}, and resume.",
        )
        self.kind = kind
        self.key = key
        self.where = where
        """The place within the outcome."""
        self.problem = problem
