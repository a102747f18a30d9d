"""A contract of somebody's own: judged like the others, and broken without harm to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from checkpoint_contracts import (
    CATALOGUE,
    Broken,
    Evidence,
    Experiment,
    ExperimentContract,
    Finding,
    Outcome,
    Reference,
    Symptom,
    TrialKind,
    judge,
    judge_all,
    replays_needed,
    trials_wanted,
)
from checkpoint_contracts.own import Look, is_own
from checkpoint_contracts.tried import TrialContract
from tests.contracts.builders import (
    SOUND,
    checked,
    killed,
    ran,
    seen,
    torn,
    tried,
)

SILENT = Broken(
    what="resume does not say where it goes on",
    expected="resuming after …",
    seen="nothing",
    likely_cause="Nothing is printed.",
)


def says_where(experiment: Experiment, reference: Reference) -> Look:
    assert reference.check.output == checked().output
    if experiment.resume.output == "?\n":
        return "what it said cannot be read"
    return None if "resuming after" in experiment.resume.output else SILENT


CONTRACT = ExperimentContract(
    id="resume-says-where", promise="a resume says where it goes on", judge=says_where
)
LOUD, QUIET, UNREADABLE = ran(output="resuming after 1\n"), ran(), ran(output="?\n")


def test_it_is_kept() -> None:
    verdict = judge(seen(tried(killed(3), LOUD), tried(killed(4), LOUD)), CONTRACT)

    assert (verdict.outcome, verdict.states_explored) == (Outcome.PASSED, 2)


def test_it_is_broken_where_it_shows_again() -> None:
    quiet = tried(killed(3), QUIET)
    evidence = seen(quiet, tried(killed(4, "rename a"), LOUD))

    assert replays_needed(evidence, [CONTRACT]) == (killed(3),)
    assert judge(evidence, CONTRACT).outcome is Outcome.INCONCLUSIVE
    verdict = judge(replace(evidence, replays=(quiet,)), CONTRACT)

    assert verdict.outcome is Outcome.FAILED
    (failure,) = verdict.failures
    assert failure.finding.symptom is Symptom.BROKEN
    assert failure.finding.headline == (
        "killed at step 3 (write state.json): resume does not say where it goes on"
    )
    assert (failure.finding.expected, failure.finding.seen) == (SILENT.expected, SILENT.seen)
    assert verdict.faults_failed == ("kill",)


def test_what_does_not_show_again_accuses_nobody() -> None:
    evidence = seen(tried(killed(3), QUIET), replays=(tried(killed(3), LOUD),))

    verdict = judge(evidence, CONTRACT)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("flaky subject: ")


def test_a_sentence_is_inconclusive() -> None:
    verdict = judge(seen(tried(killed(3), UNREADABLE), tried(killed(4), LOUD)), CONTRACT)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "what it said cannot be read"


def test_it_is_asked_only_of_its_faults_and_of_what_can_be_used() -> None:
    refused = tried(killed(5), ran(refusal="it tried to connect to 10.0.0.1"))
    evidence = seen(tried(killed(3), LOUD), tried(torn(4), QUIET), refused)

    verdict = judge(evidence, CONTRACT)

    assert (verdict.outcome, verdict.reason) == (
        Outcome.INCONCLUSIVE,
        "it tried to connect to 10.0.0.1",
    )
    assert not verdict.failures


def test_what_it_needs_may_have_a_name_of_its_own() -> None:
    contract = replace(CONTRACT, needs=frozenset({"ledger"}))
    evidence = seen(tried(killed(3), LOUD))

    verdict = judge(evidence, contract)

    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == "the subject does not declare the capability ledger"
    declared = replace(evidence, capabilities=evidence.capabilities | {"ledger"})
    assert judge(declared, contract).outcome is Outcome.PASSED


def bad_judge(experiment: Experiment, reference: Reference) -> Look:
    raise KeyError("total")


def odd_judge(experiment: Experiment, reference: Reference) -> Look:
    return cast("Look", [SILENT])


def lone_judge(experiment: Experiment) -> Look:
    return SILENT


def textless_judge(experiment: Experiment, reference: Reference) -> Look:
    return replace(SILENT, seen=cast("str", None))


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (replace(CONTRACT, judge=bad_judge), "KeyError: 'total' (test_own.py:"),
        (
            replace(CONTRACT, judge=cast("Callable[[Experiment, Reference], Look]", lone_judge)),
            "TypeError: lone_judge() takes 1 positional argument but 2 were given (test_own.py:",
        ),
        (
            replace(CONTRACT, judge=odd_judge),
            "TypeError: it returned [Broken(",
        ),
        (
            replace(CONTRACT, judge=textless_judge),
            "TypeError: seen of what it found is None, not a text (test_own.py:",
        ),
    ],
)
def test_one_that_breaks_is_inconclusive_and_the_others_are_judged(
    broken: ExperimentContract, what: str
) -> None:
    evidence = seen(*SOUND, replays=SOUND)
    sound = judge_all(evidence)

    verdicts = judge_all(evidence, [*CATALOGUE.values(), broken])

    assert dict(sound) == {name: one for name, one in verdicts.items() if name != broken.id}
    verdict = verdicts[broken.id]
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith(
        f"the contract resume-says-where could not be judged: its own code raised {what}"
    )
    replays_needed(evidence, [broken])


class NeverSure(ExperimentContract):
    """It finds something, and never says whether it showed again."""

    __slots__ = ()

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        return None


class Skipped(BaseException):
    """As those of pytest: no Exception."""


@pytest.mark.parametrize("raised", [Skipped, SystemExit])
def test_a_judge_that_skips_or_exits_speaks_for_itself_alone(raised: type[BaseException]) -> None:
    """``pytest.skip`` in it would skip the subject's items, every contract's: exit code 0."""

    def skips(experiment: Experiment, reference: Reference) -> Look:
        raise raised("no GPU")

    contract = replace(CONTRACT, judge=skips)
    evidence = seen(*SOUND)

    assert replays_needed(evidence, [contract]) == ()
    verdict = judge(evidence, contract)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert f"its own code raised {raised.__name__}: no GPU" in verdict.reason


def test_ctrl_c_in_a_judge_is_ctrl_c() -> None:
    def interrupted(experiment: Experiment, reference: Reference) -> Look:
        raise KeyboardInterrupt

    contract = replace(CONTRACT, judge=interrupted)
    for ask in (
        lambda: judge(seen(*SOUND), contract),
        lambda: replays_needed(seen(*SOUND), [contract]),
    ):
        with pytest.raises(KeyboardInterrupt):
            ask()


class Inventing(ExperimentContract):
    """It finds something where nothing was tried, and under another's name."""

    __slots__ = ()

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        (first, *_) = super().findings(evidence)
        return (replace(first, point=killed(77), contract="state-never-corrupt"),)

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        return None


def test_nothing_is_replayed_for_ever() -> None:
    quiet = tried(killed(3), QUIET)
    evidence = seen(quiet, replays=(quiet,))
    contract = NeverSure(id=CONTRACT.id, promise=CONTRACT.promise, judge=CONTRACT.judge)

    assert replays_needed(replace(evidence, replays=()), [contract]) == (killed(3),)
    assert replays_needed(evidence, [contract]) == ()
    assert judge(evidence, contract).outcome is Outcome.INCONCLUSIVE


def test_nothing_is_replayed_that_was_not_tried() -> None:
    contract = Inventing(id=CONTRACT.id, promise=CONTRACT.promise, judge=CONTRACT.judge)
    evidence = seen(tried(killed(3), QUIET))

    assert replays_needed(evidence, [contract]) == ()
    assert judge(evidence, contract).outcome is Outcome.INCONCLUSIVE


def test_trials_of_ones_own() -> None:
    def look(*anything: object) -> str:
        raise ZeroDivisionError("planted")

    contract = TrialContract(
        id="full-disk-is-told",
        promise="a full disk is told",
        explanation="",
        kinds=(TrialKind.NO_SPACE,),
        needs=frozenset(),
        look=look,
    )
    evidence = seen(*SOUND)

    assert trials_wanted(evidence, [contract]) == {TrialKind.NO_SPACE}
    verdict = judge(evidence, contract)
    assert "its own code raised ZeroDivisionError: planted" in verdict.reason


def test_a_fault_of_the_kits_own_contract_is_not_hidden() -> None:
    contract = CATALOGUE["resume-equals-uninterrupted"]
    assert not is_own(contract)

    with pytest.raises(AttributeError):
        judge(None, contract)  # type: ignore[arg-type]
