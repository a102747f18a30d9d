from __future__ import annotations

import pytest

from checkpoint_contracts.stages import done_again, later_stages, stage_names


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
