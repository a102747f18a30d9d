"""Which kills count as within a stage, and what its second run must not do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkpoint_contracts import judge
from checkpoint_contracts.evidence import Evidence, Experiment, OtherRun, OutputChange
from checkpoint_contracts.re_entry import re_entry_is_safe, wants_outputs
from checkpoint_contracts.stages import re_entered
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import (
    EVENTS,
    HUNG,
    checked,
    killed,
    ran,
    seen,
    torn,
    tried,
    undisturbed,
)

LONGER = OutputChange(path="out", change="8 bytes before, 12 after", digest="new", same_size=False)
STAMPED = OutputChange(path="at", change="8 bytes, differs", digest="10:00", same_size=True)


def again(step: int = 7, resume: Any = None, check: Any = None, **fields: Any) -> Experiment:
    """Killed within sum, which the resume starts again."""
    fields = {
        "events_before": EVENTS[:3],
        "events_after": EVENTS[2:],
        "output_changes": (),
        **fields,
    }
    return tried(killed(step), resume, check, **fields)


GOOD = again(8)


def evidence(*experiments: Experiment, **fields: Any) -> Evidence:
    fields = {
        "outputs": ("out",),
        "reference": undisturbed(other_run=OtherRun(events=EVENTS)),
        **fields,
    }
    return seen(*experiments, **fields)


def judged(*experiments: Experiment, **fields: Any) -> Verdict:
    return judge(evidence(*experiments, **fields), re_entry_is_safe)


def test_a_stage_that_runs_again_and_ends_well_passes() -> None:
    verdict = judged(GOOD)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASSED, "")
    assert verdict.notes == ("killed within a stage that ran again: 1 state",)


@pytest.mark.parametrize(
    ("resume", "check", "symptom"),
    [
        (ran(1), None, Symptom.RESUME_FAILED),
        (HUNG, None, Symptom.HANG),
        (None, checked("", 1), Symptom.CHECK_FAILED),
        (None, checked("", None, timed_out=True), Symptom.CHECK_HANG),
        (None, checked("84\n"), Symptom.DIFFERENT_RESULT),
    ],
)
def test_a_wrong_end(resume: Any, check: Any, symptom: Symptom) -> None:
    wrong = again(7, resume, check)
    verdict = judged(wrong, replays=(wrong,))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.failures[0].finding.symptom is symptom
    assert "killed at step 7 (write state.json), sum is run a second time: " in verdict.reason


def test_outputs_that_are_not_as_they_were() -> None:
    wrong = again(output_changes=(LONGER,))
    verdict = judged(wrong, replays=(wrong,))
    assert verdict.outcome is Outcome.FAILED
    assert verdict.reason.endswith(
        "1 output not as in the undisturbed run: out: 8 bytes before, 12 after"
    )


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (EVENTS[:1], EVENTS, ("fetch",)),
        (EVENTS[:3], EVENTS[2:], ("sum",)),
        (EVENTS[:2], EVENTS[2:], ()),  # between two stages
        (EVENTS[:3], EVENTS[3:], ()),  # committed, and not said
        (EVENTS[:1], (), ()),  # the resume died before it got there
        (EVENTS[:2], EVENTS, ()),  # done, and done again
        (("start x",), ("start x",), ()),  # no stage of the undisturbed run
    ],
)
def test_which_stages_run_a_second_time(
    before: tuple[str, ...], after: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert re_entered(("fetch", "sum"), before, after) == names
    wrong = again(events_before=before, events_after=after, check=checked("84\n"))
    expected = Outcome.FAILED if names else Outcome.PASSED
    assert judged(GOOD, wrong, replays=(wrong,)).outcome is expected


def test_torn_writes_are_not_looked_at() -> None:
    cut = tried(torn(7), None, checked("84\n"), events_before=EVENTS[:3], events_after=EVENTS[2:])
    assert judged(GOOD, cut, replays=(cut,)).outcome is Outcome.PASSED


def test_without_such_a_kill_it_is_not_applicable() -> None:
    verdict = judged(tried(killed(7), events_before=EVENTS[:2], events_after=EVENTS[2:]))
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == "no kill point lies within a stage that the resume then starts again"


def test_without_stages_it_is_not_applicable() -> None:
    verdict = judged(GOOD, reference=undisturbed(events=("start fetch",)))
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason.startswith("no stages were seen")


# --- outputs that cannot be compared -------------------------------------------------------------


def test_outputs_that_nobody_looked_at_are_a_gap() -> None:
    unseen = again(output_changes=None)
    verdict = judged(unseen)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == "the outputs were not looked at after the resume from 7.kill"
    assert judged(unseen, outputs=()).outcome is Outcome.PASSED
    failed = again(7, ran(1), output_changes=None)
    assert judged(failed, replays=(failed,)).outcome is Outcome.FAILED


def test_what_is_not_compared_is_told() -> None:
    other = OtherRun(events=EVENTS, varying_outputs=("log",), varying_names=("a1", "b2"))
    verdict = judged(GOOD, reference=undisturbed(other_run=other))
    assert verdict.outcome is Outcome.PASSED
    why = "since two undisturbed runs differ in them"
    assert verdict.notes[1:] == (
        f"not compared, {why}: log",
        f"further names of outputs are not judged, {why}: a1, b2",
    )
    assert judged(GOOD, outputs=()).notes[1:] == (
        "no outputs are declared, so only the result of the check was compared",
    )


def stamped(digest: str, *, same_size: bool = True) -> Experiment:
    change = OutputChange(path="at", change="differs", digest=digest, same_size=same_size)
    return again(output_changes=(change,))


def test_a_time_in_whole_seconds_accuses_nobody() -> None:
    """Two undisturbed runs within one second agreed by chance; two resumes do not."""
    verdict = judged(GOOD, stamped("10:00"), replays=(stamped("10:01"),))
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes[1:] == (
        "not compared, since the same state, resumed twice, gave two contents: at",
    )


def test_what_is_the_same_each_time_is_accused() -> None:
    wrong = stamped("10:00")
    assert judged(GOOD, wrong, replays=(wrong,)).outcome is Outcome.FAILED


@pytest.mark.parametrize("sizes", [(False, False), (True, False), (False, True)])
def test_what_grows_by_something_else_each_time_is_not_excused(sizes: tuple[bool, bool]) -> None:
    first, second = sizes
    shown = stamped("x", same_size=first), stamped("y", same_size=second)
    verdict = judged(GOOD, shown[0], replays=shown[1:])
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_one_of_several_outputs_may_vary() -> None:
    first = again(output_changes=(LONGER, STAMPED))
    second = again(output_changes=(LONGER, replace(STAMPED, digest="11")))
    verdict = judged(first, replays=(second,))
    assert verdict.outcome is Outcome.FAILED
    assert "1 output not as" in verdict.reason


# --- replays -------------------------------------------------------------------------------------


def test_a_wrong_end_that_does_not_show_again_is_inconclusive() -> None:
    wrong = again(7, ran(1))
    assert judged(wrong, replays=(again(7),)).outcome is Outcome.INCONCLUSIVE
    assert judged(wrong).outcome is Outcome.INCONCLUSIVE
    other = again(7, None, checked("84\n"))
    assert judged(wrong, replays=(other,)).outcome is Outcome.INCONCLUSIVE


def test_an_output_that_is_right_when_it_is_replayed_is_inconclusive() -> None:
    wrong = again(output_changes=(LONGER,))
    assert judged(wrong, replays=(again(),)).outcome is Outcome.INCONCLUSIVE


# --- when the kit has to look --------------------------------------------------------------------


def test_outputs_are_looked_at_only_where_that_is_judged() -> None:
    reference = undisturbed()
    assert wants_outputs(GOOD, reference)
    assert wants_outputs(GOOD, reference, {"re-entry-is-safe"})
    assert not wants_outputs(GOOD, reference, {"resume-keeps-work"})
    assert not wants_outputs(again(7, ran(1)), reference)
    assert not wants_outputs(replace(GOOD, point=torn(7)), reference)
    assert not wants_outputs(again(events_before=EVENTS[:2]), reference)
