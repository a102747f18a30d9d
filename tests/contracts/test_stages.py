from __future__ import annotations

import pytest

from checkpoint_contracts.stages import around, done_again, later_stages, stage_names, whole_run


@pytest.mark.parametrize(
    ("events", "stages"),
    [
        ((), ()),
        (("start a",), ()),
        (("done a",), ()),
        (("start a", "done a"), ("a",)),
        (("start b", "start a", "done a", "done b"), ("b", "a")),
        (("start two words", "done two words"), ("two words",)),
        (("started a", "done a", "note start a"), ()),
        (("start a", "fail a", "start a", "done a"), ("a",)),
    ],
)
def test_a_stage_has_a_start_and_a_done_line(
    events: tuple[str, ...], stages: tuple[str, ...]
) -> None:
    assert stage_names(events) == stages


def test_a_name_that_starts_again_after_its_done_is_no_stage() -> None:
    events = ("start step", "done step", "start step", "done step", "start a", "done a")
    assert stage_names(events) == ("a",)


def test_only_a_done_line_from_before_the_crash_is_an_acknowledgement() -> None:
    assert done_again(("a", "b"), ("start a", "done a", "start b"), ("start a",)) == ("a",)
    assert done_again(("a",), ("start a",), ("start a", "done a")) == ()
    assert done_again(("a",), ("start a",), ("start a", "done a", "start a")) == ()


def test_a_name_that_is_no_stage_may_start_again() -> None:
    assert done_again(("b",), ("start a", "done a"), ("start a",)) == ()


def test_a_failed_attempt_before_the_crash_is_no_acknowledgement() -> None:
    assert done_again(("a",), ("start a", "fail a"), ("start a",)) == ()


def test_later_is_what_started_after_the_other_was_done() -> None:
    events = ("start a", "start b", "done a", "start c", "done b", "start b", "done c")
    assert later_stages(events, "a") == ("c",)  # b is no stage: it starts again after its done
    assert later_stages(("start a", "start b", "done b", "done a"), "b") == ()


@pytest.mark.parametrize(
    ("events", "names"),
    [
        (("start p", "start a", "done a", "start b", "done b", "done p"), {"p"}),
        (("start p", "start b", "done b"), {"p"}),
        (("start p", "start b", "done p", "done b"), set()),
        (("start b", "start p", "done b", "done p"), set()),
        (("start p", "start b", "fail b", "done p", "start b", "done b"), set()),
        (("start p", "start b"), set()),
    ],
)
def test_what_is_around_a_stage_is_done_only_after_it(
    events: tuple[str, ...], names: set[str]
) -> None:
    assert around(events, "b") == names


ONE = ("start a", "done a")


@pytest.mark.parametrize(
    ("events", "job"),
    [
        (("start job", "start a", "done a", "start b", "done b", "done job"), {"job"}),
        (("start job", "start a", "done a", "done job"), set()),  # beside each other, perhaps
        (("start a", "done a", "start b", "done b"), set()),
        ((*ONE, "start b", "done b", "start c", "done c", *ONE), set()),
        (("start job", "start a", "start b", "done job", "done a", "done b"), set()),
        ((), set()),
    ],
)
def test_the_job_itself_is_around_all_its_stages(events: tuple[str, ...], job: set[str]) -> None:
    assert whole_run(events) == job
