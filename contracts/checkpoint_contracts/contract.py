"""What a contract is: a promise, what it needs to be judged, and a pure judge.

A contract never runs anything and never looks at anything but evidence. Whether its findings hold
(they must show again when they are replayed) and what the verdict is, is decided in
:mod:`checkpoint_contracts.replay` and :mod:`checkpoint_contracts.judgement`, for all alike.
"""

from __future__ import annotations

from typing import Protocol

from checkpoint_contracts.evidence import Evidence, Fault
from checkpoint_contracts.verdict import Finding


class Contract(Protocol):
    """One promise of a resumable job."""

    @property
    def id(self) -> str:
        """Stable: ``resume-keeps-work``."""
        ...

    @property
    def promise(self) -> str:
        """The promise in plain words, one sentence without a full stop."""
        ...

    @property
    def explanation(self) -> str:
        """For people: why it matters, how it is judged, what breaks it, how to keep it."""
        ...

    @property
    def faults(self) -> frozenset[Fault]:
        """The faults it looks at; none: the control run says it all.

        It is judged on those of them that were asked for.
        """
        ...

    @property
    def explores(self) -> bool:
        """Whether it is judged by experiments.

        If not, by the control run and the recording alone, or by trials of its own
        (:class:`~checkpoint_contracts.tried.TrialContract`): then no experiment that went wrong
        concerns it, and, but for trials, no budget, and nothing is replayed for it.
        """
        ...

    @property
    def needs(self) -> frozenset[str]:
        """Capabilities without which it is not applicable."""
        ...

    def inapplicable(self, evidence: Evidence) -> str | None:
        """Why the undisturbed run alone shows that it does not apply. There is a reference."""
        ...

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        """Every way in which the promise was broken, the most telling first: that is replayed."""
        ...

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        """Whether a finding showed again in its replay; None if it has yet to be replayed.

        One that :attr:`explores` nothing says whether it showed again in the control run, and None
        if that did not look twice.
        """
        ...

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        """What only this contract could not conclude, a sentence each: inconclusive."""
        ...

    def too_little(self, evidence: Evidence) -> str | None:
        """Why there was too little to judge by, although all was explored: not applicable."""
        ...

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        """What is worth telling whatever the verdict."""
        ...
