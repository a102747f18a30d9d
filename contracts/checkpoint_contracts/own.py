"""Contracts of other repositories: one judged experiment by experiment, and judges that may break.

A contract of somebody's own stands beside those of the catalogue and is held to the same rules. But
its judge is code that nobody here has seen: where that raises, or gives what is none, the verdict
is *inconclusive*, with a sentence that names it, and the other contracts are judged all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from checkpoint_contracts.catalogue import CATALOGUE
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Evidence, Experiment, Fault, Reference
from checkpoint_contracts.table import gap
from checkpoint_contracts.verdict import Finding, Outcome, Symptom, Verdict
from checkpoint_contracts.wording import place

Answer = TypeVar("Answer")

_OF_THE_USER: Final = (KeyboardInterrupt, GeneratorExit)
"""What goes on up. All else is the judge's: ``pytest.skip`` and ``sys.exit`` are no Exceptions, and
in a judge they would skip, or end, what every other contract has to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """How one experiment broke the promise, in the words of whoever reads the report."""

    what: str
    """What is lost, after the place of the crash: ``resume exits 1``."""
    expected: str
    seen: str
    likely_cause: str
    """The likely cause and how to mend it, a sentence or two."""


Look = Broken | str | None
"""What one experiment shows: how the promise was broken; a sentence, why nothing may be concluded
from it; None: the promise was kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentContract:
    """A contract of your own, of which one experiment by itself shows whether it was broken.

    ``judge`` is called with every crash state that was resumed and checked, and with the
    undisturbed run. It is pure: it looks at nothing else, and says the same of the same. The rest
    follows from it: a failure counts when it shows again in its replay.
    """

    id: str
    """Lower case, words joined by ``-``; none of the catalogue's."""
    promise: str
    """In plain words, one sentence without a full stop."""
    judge: Callable[[Experiment, Reference], Look]
    explanation: str = ""
    """For people: why it matters, how it is judged, what breaks it, how to keep it."""
    faults: frozenset[Fault] = frozenset({Fault.KILL})
    """Of ``kill``, ``torn`` and ``power-loss``: the crashes after which it is judged."""
    needs: frozenset[str] = frozenset()
    """Capabilities without which it is not applicable; they may be names of your own."""

    @property
    def explores(self) -> bool:
        return True

    def inapplicable(self, evidence: Evidence) -> str | None:
        return None

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return self._broken(evidence, evidence.experiments)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        replays = tuple(replay for replay in evidence.replays if replay.point == finding.point)
        return bool(self._broken(evidence, replays)) if replays else None

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        looks = (self._look(evidence, one) for one in evidence.experiments)
        return tuple(dict.fromkeys(one for one in looks if isinstance(one, str)))

    def too_little(self, evidence: Evidence) -> str | None:
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return ()

    def _look(self, evidence: Evidence, experiment: Experiment) -> Look:
        """Of one that cannot be used nothing is asked: that is told of every contract alike."""
        if evidence.reference is None or gap(experiment) is not None:
            return None
        given: object = self.judge(experiment, evidence.reference)
        if given is None or isinstance(given, Broken | str):
            return given
        raise TypeError(f"it returned {given!r}, which is neither a Broken nor a text nor None")

    def _broken(
        self, evidence: Evidence, experiments: tuple[Experiment, ...]
    ) -> tuple[Finding, ...]:
        return tuple(
            Finding(
                contract=self.id,
                point=experiment.point,
                symptom=Symptom.BROKEN,
                headline=f"{place(experiment.point)}: {look.what}",
                expected=look.expected,
                seen=look.seen,
                likely_cause=look.likely_cause,
            )
            for experiment in experiments
            if isinstance(look := self._look(evidence, experiment), Broken)
        )


def is_own(contract: Contract) -> bool:
    """Whether it is somebody's own: none of the catalogue."""
    return CATALOGUE.get(contract.id) is not contract


def asked(contract: Contract, otherwise: Answer, ask: Callable[[], Answer]) -> Answer:
    """What ``ask`` gives; ``otherwise`` where a contract of somebody's own raises in it."""
    try:
        return ask()
    except BaseException as error:
        if is_own(contract) and not isinstance(error, _OF_THE_USER):
            return otherwise
        raise


def judged(contract: Contract, judge: Callable[[], Verdict]) -> Verdict:
    """The verdict that ``judge`` gives; of somebody's own that raises, an inconclusive one."""
    try:
        verdict = judge()
        for failure in verdict.failures:
            _require_fit(contract, failure.finding)
        return verdict
    except BaseException as error:
        if is_own(contract) and not isinstance(error, _OF_THE_USER):
            return Verdict(
                contract=contract.id,
                outcome=Outcome.INCONCLUSIVE,
                reason=_what_broke(contract, error),
            )
        raise


def _require_fit(contract: Contract, finding: Finding) -> None:
    """What is shown of it is text, and its own."""
    if finding.contract != contract.id:
        raise ValueError(f"a finding of it names the contract {finding.contract!r}")
    for name in ("headline", "expected", "seen", "likely_cause"):
        text: object = getattr(finding, name)
        if not isinstance(text, str):
            raise TypeError(f"{name} of what it found is {text!r}, not a text")


def _what_broke(contract: Contract, error: BaseException) -> str:
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    where = ""
    judge = getattr(getattr(contract, "judge", None), "__code__", None)
    if step is not None and judge is not None and step.tb_frame.f_code.co_filename == __file__:
        # It was raised here: the judge could not be called, or gave what is none. It is named.
        where = f" ({Path(judge.co_filename).name}:{judge.co_firstlineno})"
    elif step is not None:
        where = f" ({Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno})"
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return (
        f"the contract {contract.id} could not be judged: its own code raised {what}{where}; it is "
        "none of the kit's contracts: mend it where it is defined"
    )
