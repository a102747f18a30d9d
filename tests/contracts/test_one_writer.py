"""one-writer: what two starts on one workspace show, and a start after the owner's death."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from checkpoint_contracts.evidence import Execution, Trial, TrialKind
from checkpoint_contracts.one_writer import one_writer
from checkpoint_contracts.pair import Pair
from checkpoint_contracts.trial import Shown
from checkpoint_contracts.verdict import Outcome, Symptom
from tests.contracts.builders import EVENTS, checked, ran, seen
from tests.contracts.fault_builders import (
    FETCH,
    HUNG,
    LOUD,
    OTHER,
    SILENT,
    SUM,
    broken,
    evidence_of,
    faulted,
    judged,
    resume,
    run,
)

CONTRACT = one_writer
REFUSED = ran(1, output="another run is active: 123\n")
LATER = (*FETCH[1:], *SUM)


def beside(second: Execution, first: Execution | None = None, **fields: Any) -> Trial:
    """A second start when the first has begun its first stage; the rest is done by the first."""
    trial: dict[str, Any] = {"check": checked()}
    trial |= {name: fields.pop(name) for name in ("check", "shown") if name in fields}
    values: dict[str, Any] = {"before": EVENTS[:1], "later": LATER, "operations_later": 12} | fields
    leg = run(ran() if first is None else first, *EVENTS)
    return faulted(
        TrialKind.SECOND_START,
        "second-start-after",
        leg,
        pair=Pair(second=second, **values),
        **trial,
    )


def did_all(first: Execution | None = None, **fields: Any) -> Trial:
    """The first had not taken the workspace: the second does the whole job."""
    values: dict[str, Any] = {"before": (), "meanwhile": EVENTS, "later": (), "then": checked()}
    values |= {"operations_later": 1}
    return beside(ran(), first, **(values | fields))


def at_once(first: Execution, second: Execution, **fields: Any) -> Trial:
    trial: dict[str, Any] = {"check": fields.pop("check", checked())}
    values: dict[str, Any] = {"together": True, "later": EVENTS, "operations_all": 20} | fields
    leg = run(first, *EVENTS)
    pair = Pair(second=second, **values)
    kind = TrialKind.SAME_INSTANT
    return faulted(kind, "same-instant-1", leg, pair=pair, shown=Shown(step=0), **trial)


def dead(*legs: Any, kind: TrialKind = TrialKind.DEAD_HOLDER, **fields: Any) -> Trial:
    killed = run(ran(None, signal=9), *FETCH, killed=True)
    return faulted(kind, kind.value, killed, *legs, **fields)


def reused(*legs: Any, **fields: Any) -> Trial:
    return dead(*legs, kind=TrialKind.NUMBER_REUSED, **fields)


def judged_cheap(*trials: Trial) -> Outcome:
    """By a reference in which the start of a finished job costs next to nothing."""
    return judged(CONTRACT, *trials, **cheap()).outcome


def cheap() -> dict[str, Any]:
    reference = seen().reference
    assert reference is not None
    costs = dataclasses.replace(
        reference,
        run=dataclasses.replace(reference.run, operations=20),
        finished_resume=dataclasses.replace(reference.finished_resume, operations=1),
    )
    return {"reference": costs}


def broken_cheap(*trials: Trial) -> list[tuple[Symptom, str]]:
    found = [
        (one.symptom, one.headline.split("): ", 1)[1])
        for one in CONTRACT.findings(evidence_of(CONTRACT, *trials, **cheap()))
    ]
    assert judged_cheap(*trials) is Outcome.FAILED
    return found


@pytest.mark.parametrize(
    "trial",
    [
        beside(REFUSED),
        beside(ran(None, signal=6, output="locked\n")),
        did_all(),
        did_all(REFUSED),
        at_once(ran(), REFUSED),
        at_once(LOUD, ran()),
        at_once(ran(), ran(), operations_all=22),
        dead(resume(ran(), *SUM)),
        dead(resume(ran(), *SUM), check=OTHER),
        reused(resume(ran(), *SUM)),
    ],
    ids=range(10),
)
def test_keeps_it(trial: Trial) -> None:
    """A resume after a death may have a wrong result: that is for other contracts to say."""
    assert judged_cheap(trial, beside(REFUSED)) is Outcome.PASSED


def test_waits() -> None:
    ((symptom, text),) = broken(CONTRACT, beside(HUNG, check=None))
    assert (symptom, text) == (Symptom.HANG, "the second start had not ended after 10.0 s")


def test_both_work() -> None:
    trial = beside(ran(), meanwhile=LATER, then=checked(), later=())
    ((symptom, text),) = broken(CONTRACT, trial)
    assert symptom is Symptom.TWO_WRITERS
    assert text == "the second start works too, and writes 'done fetch' and 2 more lines"


def test_works_and_is_refused_later() -> None:
    trial = beside(LOUD, before=(), meanwhile=EVENTS[:1], later=EVENTS)
    ((symptom, text),) = broken(CONTRACT, trial)
    assert symptom is Symptom.TWO_WRITERS
    assert text == "the second start writes 'start fetch', then fails"


def test_the_first_had_done_all_before_it_stood() -> None:
    """It may have let the workspace go: one after the other."""
    trial = beside(ran(), before=EVENTS, meanwhile=EVENTS, later=(), then=checked())
    twice = dataclasses.replace(trial, pair=dataclasses.replace(trial.pair, operations_later=0))  # type: ignore[type-var]
    assert judged_cheap(twice) is Outcome.PASSED


def test_calls_it_success() -> None:
    trial = beside(ran(output="another run is active\n"), then=checked("", 1))
    ((symptom, text),) = broken(CONTRACT, trial)
    assert symptom is Symptom.ERROR_AS_SUCCESS
    assert text.startswith("the second start exits 0 although the job is not done")


def test_refused_without_a_word() -> None:
    assert broken(CONTRACT, beside(SILENT)) == [
        (Symptom.SILENT_STOP, "the second start exits 1 without a word")
    ]


def test_the_first_is_disturbed() -> None:
    assert broken(CONTRACT, beside(REFUSED, LOUD, check=None)) == [
        (Symptom.RESUME_FAILED, "the first run exits 1 although the second start was refused")
    ]
    assert broken(CONTRACT, beside(REFUSED, HUNG, check=None))[0][0] is Symptom.HANG


def test_the_result_is_disturbed() -> None:
    ((symptom, text),) = broken(CONTRACT, beside(REFUSED, check=OTHER))
    assert (symptom, text) == (Symptom.DIFFERENT_RESULT, "in the end another result")


def test_the_first_fails_after_the_second_has_done_all() -> None:
    """With a word it is refused in its turn; without one nobody knows."""
    assert broken_cheap(did_all(SILENT)) == [
        (Symptom.RESUME_FAILED, "the first run exits 1 after the second start has done the job")
    ]


def test_the_first_does_it_all_again() -> None:
    ((symptom, text),) = broken_cheap(did_all(operations_later=12, meanwhile=()))
    assert symptom is Symptom.TWO_WRITERS
    assert text == (
        "the second start does the whole job, and then the first does 12 operations more (the "
        "start of a finished job does 1)"
    )


def test_a_run_that_is_no_resume_may_begin_anew() -> None:
    """One after the other: only a resume goes on from what is there."""
    again: dict[str, Any] = {"same_command": False, "later": EVENTS, "operations_later": 20}
    assert judged_cheap(did_all(**again)) is Outcome.PASSED
    ((symptom, text),) = broken_cheap(did_all(later=EVENTS))
    assert (symptom, text) == (Symptom.TWO_WRITERS, "fetch, sum started twice")


def test_at_once_both_work() -> None:
    lines = ("start fetch", "start fetch", "done fetch", *SUM)
    assert broken_cheap(at_once(ran(), ran(), later=lines)) == [
        (Symptom.TWO_WRITERS, "fetch started twice")
    ]
    ((symptom, text),) = broken_cheap(at_once(ran(), ran(), later=(), operations_all=40))
    assert symptom is Symptom.TWO_WRITERS
    assert text == "both exit 0 after 40 operations together (undisturbed there are 20)"


@pytest.mark.parametrize(
    ("first", "second", "symptom", "text"),
    [
        (REFUSED, REFUSED, Symptom.RESUME_FAILED, "neither of the two works"),
        (ran(), SILENT, Symptom.SILENT_STOP, "one of the two exits 1 without a word"),
        (HUNG, ran(), Symptom.HANG, "one of the two had not ended after 10.0 s"),
    ],
)
def test_at_once(first: Execution, second: Execution, symptom: Symptom, text: str) -> None:
    assert broken(CONTRACT, at_once(first, second)) == [(symptom, text)]


def test_a_dead_owner_is_believed_in() -> None:
    assert broken(CONTRACT, dead(resume(REFUSED), check=None)) == [
        (Symptom.RESUME_FAILED, "the resume exits 1")
    ]
    assert broken(CONTRACT, dead(resume(HUNG), check=None))[0][0] is Symptom.HANG


def test_a_dead_owner_whose_number_is_anothers() -> None:
    works, fails = (resume(ran(), *SUM),), (resume(REFUSED),)
    assert broken(CONTRACT, reused(*fails, unspoilt=works, check=None)) == [
        (Symptom.RESUME_FAILED, "the resume exits 1")
    ]
    # It is the death that it does not get over: the trial without that tells more.
    verdict = judged(CONTRACT, beside(REFUSED), reused(*fails, unspoilt=fails, check=None))
    assert verdict.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "trial",
    [
        beside(REFUSED, shown=Shown()),
        faulted(TrialKind.SECOND_START, "second-start-after", run(ran(), *EVENTS)),
        dead(),
        dead(resume(ran()), shown=Shown()),
        beside(ran(problem="could not be observed")),
        beside(ran(), then=ran(problem="could not be observed"), meanwhile=()),
    ],
)
def test_says_nothing(trial: Trial) -> None:
    verdict = judged(CONTRACT, trial, at_once(ran(), REFUSED))
    assert verdict.outcome is Outcome.INCONCLUSIVE
