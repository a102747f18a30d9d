"""What a run with a fault shows warm counts only if it shows with fresh processes too."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CrashPoint, Evidence, Fault, Reference, Trial
from checkpoint_contracts.own import asked
from checkpoint_contracts.tried import Seen, TrialContract, unusable
from pytest_checkpoint.subject import Subject


class DoubtedWarmth(Exception):
    """A failure of a warm start that a fresh one does not show."""

    def __init__(self, where: CrashPoint) -> None:
        super().__init__(where.operation)
        self.where = where


class Doubts:
    """Of one subject."""

    def __init__(
        self, reference: Reference, subject: Subject, contracts: Iterable[Contract]
    ) -> None:
        """``contracts``: all there are."""
        self._reference: Final = reference
        self._subject: Final = subject
        self._contracts: Final = tuple(contracts)
        self._confirmed: Final[set[tuple[str, str, object]]] = set()
        """Causes that showed with fresh processes."""

    def counts(self, trial: Trial) -> bool:
        """Whether it shows what has to be seen with fresh processes too."""
        if unusable(trial) is not None:
            return True
        causes = self._causes(trial)
        return causes is None or not causes <= self._confirmed

    def confirm(self, warm: Trial, fresh: Trial) -> None:
        """DoubtedWarmth if only the warm one shows something."""
        shown, again = self._causes(warm), self._causes(fresh)
        if again is None or unusable(fresh) is not None:
            return  # the same with fresh processes
        if shown is None or unusable(warm) is not None or not shown <= again:
            raise DoubtedWarmth(warm.point)
        self._confirmed.update(again)

    def _causes(self, trial: Trial) -> set[tuple[str, str, object]] | None:
        """Of all that it shows to be broken; None: nothing can be concluded from it."""
        reference, subject = self._reference, self._subject
        known = Evidence(
            subject=subject.name,
            capabilities=subject.capabilities,
            faults=frozenset(Fault),
            reference=reference,
        )
        found: set[tuple[str, str, object]] = set()
        nothing: Seen = ()
        for contract in self._contracts:
            if isinstance(contract, TrialContract) and trial.kind in contract.kinds:
                seen = asked(contract, nothing, partial(contract.look, trial, known, reference))
                if isinstance(seen, str):
                    return None
                found |= {finding.cause for finding in seen}
        return found
