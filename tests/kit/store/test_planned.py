"""At which uploads what happens; and that each is found by its name."""

from __future__ import annotations

import signal

import pytest

from checkpoint_contracts.bucket import Verb
from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.store.planned import UploadPlan
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.store.faults import Kind, StoreFault
from tests.kit.store.uploading import Uploader

KINDS = (
    TrialKind.STORE_LIES,
    TrialKind.STORE_SIGNALLED,
    TrialKind.STORE_FAILS_ONCE,
    TrialKind.STORE_FAILS,
    TrialKind.STORE_REFUSES,
)


def five() -> Uploader:
    """1 create log; then of each of five an upload and a look; a marker, 12, at the end."""
    program = Uploader()
    program.create("log")
    for number in range(5):
        program.put(f"out/{number}", b"x")
        program.ask(Verb.GET, f"out/{number}")
    program.put("done", b"")
    return program


def plan_of(program: Uploader) -> UploadPlan:
    return UploadPlan(program.operations, program.requests, {"done"}, 10.0)


def steps(kind: TrialKind, variant: str, program: Uploader | None = None) -> list[int]:
    planned, _ = plan_of(program or five()).planned(kind, exhaustive=False)
    return [one.point.step for one in planned if one.point.variant == f"{kind}-{variant}"]


def test_first_last_and_middle_and_never_a_marker() -> None:
    assert steps(TrialKind.STORE_LIES, "silent-success") == [2, 10, 6]
    assert steps(TrialKind.STORE_FAILS_ONCE, "slow-down-503") == [2, 10, 6]
    planned, total = plan_of(five()).planned(TrialKind.STORE_LIES, exhaustive=True)
    assert {one.point.step for one in planned} == {2, 4, 6, 8, 10}
    assert total == len(planned) == 30


def test_what_takes_long_comes_once_at_the_middle() -> None:
    for kind, variants in (
        (TrialKind.STORE_FAILS_ONCE, ("hang",)),
        (TrialKind.STORE_FAILS, ("slow-down-503", "internal-500")),
        (TrialKind.STORE_REFUSES, ("forbidden-403", "no-such-bucket-404")),
    ):
        assert [steps(kind, one) for one in variants] == [[6]] * len(variants)


def test_any_beginning_has_every_way() -> None:
    planned, _ = plan_of(five()).planned(TrialKind.STORE_LIES, exhaustive=False)
    assert len({one.point.variant for one in planned[:6]}) == 6


def test_what_hits_the_request_and_what_all_from_then_on() -> None:
    def action(kind: TrialKind, step: int, variant: str) -> StoreFault:
        found = plan_of(five()).find(step, f"{kind}-{variant}")
        assert found is not None
        assert isinstance(found.action, StoreFault)
        return found.action

    once = action(TrialKind.STORE_LIES, 6, "flipped-body")
    assert (once.kind, once.path, once.occurrence, once.times, once.most) == (
        Kind.FLIPPED_BODY,
        "PUT s#://b/out/#",
        3,
        1,
        None,
    )
    lasts = action(TrialKind.STORE_FAILS, 6, "internal-500")
    assert (lasts.path, lasts.occurrence, lasts.times, lasts.most) == (
        "PUT s#://b/out/#",
        3,
        None,
        101,
    )
    refuses = action(TrialKind.STORE_REFUSES, 6, "forbidden-403")
    assert (refuses.path, refuses.occurrence, refuses.times) == ("", 5, None)


def test_parts_and_their_end() -> None:
    program = Uploader()
    program.create("log")
    for verb in (Verb.CREATE, Verb.PART, Verb.PART, Verb.COMPLETE):
        program.ask(verb, "out/a")
    assert steps(TrialKind.STORE_LIES, "silent-success", program) == [5]
    assert steps(TrialKind.STORE_LIES, "truncated-body", program) == [3, 4]
    assert steps(TrialKind.STORE_FAILS_ONCE, "reset-before", program) == [3, 5, 4]
    # What has been completed may be known no more: its end cannot be asked for again.
    assert steps(TrialKind.STORE_FAILS_ONCE, "lost-reply", program) == [3, 4]
    assert sorted(steps(TrialKind.STORE_SIGNALLED, "sigint", program)) == [2, 3, 4]


def test_a_signal_comes_right_before_an_upload() -> None:
    assert sorted(steps(TrialKind.STORE_SIGNALLED, "sigterm")) == [1, 3, 5, 9]
    found = plan_of(five()).find(3, "store-signal-sigterm")
    assert found is not None
    assert found.action == SignalAt(step=3, number=signal.SIGTERM, grace_s=10.0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_found_by_its_name(kind: TrialKind) -> None:
    plan = plan_of(five())
    planned, _ = plan.planned(kind, exhaustive=True)
    assert planned
    for one in planned:
        assert plan.find(one.point.step, one.point.variant) == one
    assert plan.find(3, f"{kind}-silent-success") is None


def test_a_job_that_uploads_nothing() -> None:
    program = Uploader()
    program.create("log")
    program.ask(Verb.GET, "out/a")
    assert all(plan_of(program).planned(kind, exhaustive=True) == ([], 0) for kind in KINDS)
