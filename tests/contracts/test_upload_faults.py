"""upload-faults-are-survived: fails once, fails for good, is refused."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts.bucket import StoredObject, StoreRequest, Verb
from checkpoint_contracts.evidence import Execution, Reference, Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.upload_faults import upload_faults_are_survived
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts import fault_builders
from tests.contracts.builders import HUNG, checked, ran
from tests.contracts.fault_builders import LOUD, OTHER, SILENT, point
from tests.contracts.store_builders import A, B, put, stored

ONCE, ALWAYS, REFUSED = (
    TrialKind.STORE_FAILS_ONCE,
    TrialKind.STORE_FAILS,
    TrialKind.STORE_REFUSES,
)
CONTRACT = upload_faults_are_survived
ALL = (put("out/a"), put("out/b"))


def tries(count: int, *, apart_s: float = 0.1, status: int = 503) -> tuple[StoreRequest, ...]:
    return tuple(
        put("out/a", status=status, fault="slow-down", at_s=number * apart_s)
        for number in range(count)
    )


def leg(
    execution: Execution,
    *objects: StoredObject,
    requests: tuple[StoreRequest, ...] = (*tries(1), *ALL),
    command: Command = Command.RUN,
) -> Leg:
    return Leg(command=command, execution=execution, objects=objects, requests=requests)


def resume(execution: Execution, *objects: StoredObject) -> Leg:
    return leg(execution, *objects, requests=ALL, command=Command.RESUME)


def trial(kind: TrialKind, *legs: Leg, variant: str = "slow-down", **fields: Any) -> Trial:
    check = checked() if legs[-1].execution.succeeded else None
    values: dict[str, Any] = {"check": check, "shown": Shown(step=7), **fields}
    return Trial(point=point(kind, f"{kind}-{variant}"), kind=kind, legs=legs, **values)


SURVIVED = trial(ONCE, leg(ran(), A, B))
GIVEN_UP = trial(ALWAYS, leg(LOUD, requests=tries(4)), resume(ran(), A, B))
HEEDED = trial(REFUSED, leg(LOUD, requests=tries(1, status=403)), resume(ran(), A, B))
SOUND = {ONCE: SURVIVED, ALWAYS: GIVEN_UP, REFUSED: HEEDED}


def judged(*trials: Trial, reference: Reference | None = None) -> Verdict:
    """With a sound one of each other kind."""
    kinds = {one.kind for one in trials}
    others = (one for kind, one in SOUND.items() if kind not in kinds)
    return fault_builders.judged(CONTRACT, *trials, *others, reference=reference or stored())


def broken(*trials: Trial) -> list[tuple[Symptom, str]]:
    verdict = judged(*trials)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline.split("): ", 1)[1]) for one in found]


def test_kept() -> None:
    verdict = judged(SURVIVED, GIVEN_UP, HEEDED)
    assert (verdict.outcome, verdict.reason, verdict.notes) == (Outcome.PASSED, "", ())


def test_once_is_enough_to_end_it() -> None:
    ((symptom, words),) = broken(trial(ONCE, leg(LOUD, requests=tries(1))))
    assert symptom is Symptom.NOT_RETRIED
    assert words.startswith("that once is enough: the run exits 1 and says last: ")
    assert words.endswith(", after 1 attempt")


@pytest.mark.parametrize("kind", [ONCE, ALWAYS, REFUSED])
def test_exit_0_without_the_object(kind: TrialKind) -> None:
    swallowed = trial(kind, leg(ran(), B, requests=tries(1)))
    assert broken(swallowed) == [
        (Symptom.ERROR_AS_SUCCESS, "the run exits 0, and out/a is not in the bucket")
    ]
    other = trial(kind, leg(ran(), A, B, requests=(*tries(1), *ALL)), check=OTHER)
    assert broken(other) == [(Symptom.ERROR_AS_SUCCESS, "the run exits 0 with another result")]


@pytest.mark.parametrize("kind", [ONCE, ALWAYS, REFUSED])
def test_a_run_that_does_not_end(kind: TrialKind) -> None:
    assert broken(trial(kind, leg(HUNG, requests=tries(1)))) == [
        (Symptom.HANG, "the run had not ended after 10.0 s")
    ]


def test_one_that_still_waits_for_an_answer_is_told_of() -> None:
    verdict = judged(trial(ONCE, leg(HUNG, requests=tries(1, status=0)), variant="hang"))
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes[0].startswith("where the store did not answer the job still waited")


@pytest.mark.parametrize("end", [LOUD, HUNG])
def test_without_end(end: Execution) -> None:
    assert broken(trial(ALWAYS, leg(end, requests=tries(101)), resume(ran(), A, B))) == [
        (Symptom.ENDLESS_RETRY, "PUT s3://bucket/out/a is tried again and again, 101 times")
    ]
    bounded = trial(ALWAYS, leg(LOUD, requests=tries(100)), resume(ran(), A, B))
    assert judged(bounded).outcome is Outcome.PASSED


def test_each_upload_has_a_budget_of_its_own() -> None:
    many = tuple(
        put(f"out/{number}", status=503, fault="slow-down", at_s=number) for number in range(200)
    )
    assert (
        judged(trial(ALWAYS, leg(LOUD, requests=many), resume(ran(), A, B))).outcome
        is Outcome.PASSED
    )


def test_without_a_pause() -> None:
    def made(count: int, apart_s: float) -> Trial:
        return trial(ALWAYS, leg(LOUD, requests=tries(count, apart_s=apart_s)), resume(ran(), A, B))

    assert broken(made(10, 0.019)) == [
        (Symptom.NO_PAUSE, "PUT s3://bucket/out/a is tried 10 times with hardly a pause")
    ]
    assert judged(made(10, 0.021)).outcome is Outcome.PASSED
    assert judged(made(9, 0.0)).outcome is Outcome.PASSED


def test_a_refusal_that_is_tried_again() -> None:
    assert broken(trial(REFUSED, leg(LOUD, requests=tries(3)), resume(ran(), A, B))) == [
        (Symptom.REFUSAL_RETRIED, "PUT s3://bucket/out/a is tried 3 times, although it is refused")
    ]
    twice = trial(REFUSED, leg(LOUD, requests=tries(2)), resume(ran(), A, B))
    assert judged(twice).outcome is Outcome.PASSED


def test_attempts_that_were_not_the_faults_do_not_count() -> None:
    polled = tuple(
        StoreRequest(verb=Verb.HEAD, key="out/a", path="HEAD s3://bucket/out/a", status=404)
        for _ in range(200)
    )
    made = trial(ALWAYS, leg(LOUD, requests=(*polled, *tries(3))), resume(ran(), A, B))
    assert judged(made).outcome is Outcome.PASSED


@pytest.mark.parametrize("kind", [ALWAYS, REFUSED])
def test_without_a_word(kind: TrialKind) -> None:
    assert broken(trial(kind, leg(SILENT, requests=tries(1)), resume(ran(), A, B))) == [
        (Symptom.SILENT_STOP, "the run exits 1 without a word")
    ]


@pytest.mark.parametrize("kind", [ALWAYS, REFUSED])
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (resume(LOUD), (Symptom.RESUME_FAILED, "exits 1")),
        (resume(HUNG), (Symptom.HANG, "had not ended after 10.0 s")),
        (resume(ran(), B), (Symptom.OBJECT_LOST, "exits 0, and out/a is not in the bucket")),
    ],
)
def test_the_resume_with_a_store_that_works(
    kind: TrialKind, end: Leg, expected: tuple[Symptom, str]
) -> None:
    symptom, words = expected
    assert broken(trial(kind, leg(LOUD, requests=tries(1)), end)) == [
        (symptom, f"the resume, with a store that works, {words}")
    ]


def test_the_result_of_that_resume() -> None:
    made = trial(ALWAYS, leg(LOUD, requests=tries(1)), resume(ran(), A, B), check=OTHER)
    assert broken(made) == [
        (
            Symptom.DIFFERENT_RESULT,
            "the resume, with a store that works, exits 0 with another result",
        )
    ]


def test_a_fault_that_did_not_fire_passes_nothing() -> None:
    verdict = judged(trial(ONCE, leg(ran(), A, B), shown=Shown()))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("the fault did not fire")
