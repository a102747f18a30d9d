"""Contracts that take their findings from experiments and trials, and from the control run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from checkpoint_contracts.evidence import Evidence, Experiment, Fault, Reference
from checkpoint_contracts.table import gap
from checkpoint_contracts.tried import Seen, TrialContract
from checkpoint_contracts.verdict import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedContract(TrialContract):
    """A contract of trials that every crash state judges too."""

    crashes: frozenset[Fault]
    """The faults of its experiments."""
    look_at: Callable[[Experiment, Reference], Seen]
    """What one experiment shows, all of whose executions are usable."""
    undisturbed: Callable[[Reference], tuple[Finding, ...]]
    """What the undisturbed run shows by itself."""
    undisturbed_again: Callable[[Reference, Finding], bool]
    """Whether the other undisturbed run shows it too."""
    explores: bool = True

    @property
    def faults(self) -> frozenset[Fault]:
        return self.crashes | {kind.fault for kind in self.kinds}

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        reference = evidence.reference
        if reference is None:
            return ()
        seen = (self._look_at(one, reference) for one in evidence.experiments)
        explored = (found for one in seen if not isinstance(one, str) for found in one)
        tried = TrialContract.findings(self, evidence)
        return (*self.undisturbed(reference), *explored, *tried)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        reference = evidence.reference
        if reference is None:
            return None
        if finding in self.undisturbed(reference):
            return self.undisturbed_again(reference, finding)
        if finding.point.fault not in self.crashes:
            return TrialContract.repeated(self, evidence, finding)
        replays = [replay for replay in evidence.replays if replay.point == finding.point]
        if not replays:
            return None
        return any(
            again.symptom.kind is finding.symptom.kind
            for replay in replays
            if not isinstance(seen := self._look_at(replay, reference), str)
            for again in seen
        )

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*TrialContract.gaps(self, evidence), *self._unclear(evidence))))

    def _unclear(self, evidence: Evidence) -> Iterator[str]:
        if evidence.reference is None:
            return
        for experiment in evidence.experiments:
            seen = self._look_at(experiment, evidence.reference)
            if isinstance(seen, str):
                yield seen

    def _look_at(self, experiment: Experiment, reference: Reference) -> Seen:
        if experiment.point.fault not in self.crashes:
            return ()
        return gap(experiment) or self.look_at(experiment, reference)
