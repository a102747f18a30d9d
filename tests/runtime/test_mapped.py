"""Stages that go through items, each committed alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    Context,
    DefinitionError,
    Pipeline,
    StageFailedError,
    StageState,
    StageValueError,
)
from tests.runtime.disk import Crash
from tests.runtime.support import log_of, records_of, told_by_handoff

Given = Sequence[Any] | Callable[[Context], Sequence[Any]]


class Double:
    """Doubles each item; what is in ``broken`` raises."""

    def __init__(self, *broken: int) -> None:
        self.broken = set(broken)
        self.ran: list[int] = []
        self.attempts: list[int] = []

    def __call__(self, context: Context, item: int) -> int:
        self.ran.append(item)
        self.attempts.append(context.attempt)
        if item in self.broken:
            raise RuntimeError(f"item {item}")
        return item * 2


def doubled(work: Double, items: Given, **given: Any) -> Pipeline:
    pipeline = Pipeline("film")
    pipeline.map(work, items, name="double", **given)
    pipeline.stage(name="total")(lambda context: sum(context["double"]))
    return pipeline


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    class Event:
        def wait(self, timeout: float) -> bool:
            return False

    monkeypatch.setattr(threading, "Event", Event)


def test_its_value_is_the_list_of_what_the_items_gave(tmp_path: Path) -> None:
    work = Double()
    pipeline = doubled(work, [1, 2, 3])
    assert dict(pipeline.run(tmp_path)) == {"double": [2, 4, 6], "total": 12}
    assert dict(pipeline.resume(tmp_path)) == {"double": [2, 4, 6], "total": 12}
    assert work.ran == [1, 2, 3]


@pytest.mark.parametrize("items", [[], (1, 2), range(3), lambda context: [], lambda context: (5,)])
def test_any_sequence_will_do(tmp_path: Path, items: Given) -> None:
    expected = [item * 2 for item in (items(None) if callable(items) else items)]  # type: ignore[arg-type]
    for _ in range(2):
        assert doubled(Double(), items).resume(tmp_path)["double"] == expected


def test_fan_out_over_what_an_input_returned(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="scenes")(lambda context: ["a", "b"])
    pipeline.map(
        lambda context, scene: f"{scene}!", lambda context: context["scenes"], name="render"
    )
    pipeline.stage(name="join", after=["scenes", "render"])(
        lambda context: dict(zip(context["scenes"], context["render"], strict=True))
    )
    assert pipeline.run(tmp_path)["join"] == {"a": "a!", "b": "b!"}


def test_items_that_are_done_are_skipped_after_a_failure(tmp_path: Path) -> None:
    work = Double(3)
    with pytest.raises(
        StageFailedError, match=r"'double' failed: double\[2\]: RuntimeError: item 3"
    ):
        doubled(work, [1, 2, 3, 4]).run(tmp_path)
    status = doubled(work, [1, 2, 3, 4]).status(tmp_path)
    assert (status.stages[0].state, status.stages[0].items_done) == (StageState.FAILED, 2)
    assert told_by_handoff(tmp_path) == ["double[0]", "double[1]"]
    work.broken.clear()
    assert doubled(work, [1, 2, 3, 4]).resume(tmp_path)["total"] == 20
    assert work.ran == [1, 2, 3, 3, 4]


def test_an_item_that_has_changed_at_its_place_is_done_again(tmp_path: Path) -> None:
    work = Double(3)
    with pytest.raises(StageFailedError):
        doubled(work, [1, 2, 3]).run(tmp_path)
    work.broken.clear()
    work.ran.clear()
    assert doubled(work, [7, 2, 3]).resume(tmp_path)["double"] == [14, 4, 6]
    assert work.ran == [7, 3]
    assert sorted(told_by_handoff(tmp_path)) == sorted(
        ["double[0]", "double[1]", "double[2]", "double", "total"]
    )


def test_when_there_are_fewer_items_only_those_too_many_go(tmp_path: Path) -> None:
    work = Double(4)
    with pytest.raises(StageFailedError):
        doubled(work, [1, 2, 3, 4]).run(tmp_path)
    work.ran.clear()
    assert doubled(work, [1, 2]).resume(tmp_path)["double"] == [2, 4]
    assert work.ran == []
    assert told_by_handoff(tmp_path) == ["double[0]", "double[1]", "double", "total"]


@pytest.mark.parametrize("killed_after", range(1, 24))
def test_the_handoff_names_each_item_once_although_some_are_done_again(
    tmp_path: Path, killed_after: int
) -> None:
    """More than a page of them, and a kill after any commit of the second run."""
    work = Double(18)
    with pytest.raises(StageFailedError):
        doubled(work, range(20)).run(tmp_path)
    items = [100, *range(1, 7), 107, *range(8, 20)]
    left = [killed_after]

    def dying(context: Context, item: int) -> int:
        if not left[0]:
            raise Crash
        left[0] -= 1
        return item * 2

    pipeline = Pipeline("film")
    pipeline.map(dying, items, name="double")
    pipeline.stage(name="total")(lambda context: sum(context["double"]))
    try:
        pipeline.resume(tmp_path)
    except Crash:
        pass
    assert doubled(Double(), items).resume(tmp_path)["double"] == [item * 2 for item in items]
    names = told_by_handoff(tmp_path)
    assert sorted(names) == sorted(
        [*(f"double[{index}]" for index in range(20)), "double", "total"]
    )


def test_what_an_item_does_to_a_value_no_other_item_sees_but_large_ones_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="small")(lambda context: [1, 2])
    pipeline.stage(name="large")(lambda context: b"x" * 70_000)

    def take(context: Context, item: int) -> list[int]:
        seen.append(context["large"])
        context.parameters["list"].append(item)
        return [context["small"].pop(), len(context["small"]), *context.parameters["list"]]

    seen: list[bytes] = []
    pipeline.map(take, [7, 8], after=["small", "large"])
    assert pipeline.run(tmp_path, parameters={"list": []})["take"] == [[2, 1, 7], [2, 1, 8]]
    assert seen[0] is seen[1]


def test_attempts_count_anew_with_each_item_that_is_done(tmp_path: Path) -> None:
    class Flaky(Double):
        """Each item works the second time."""

        def __call__(self, context: Context, item: int) -> int:
            self.broken = set() if item in self.ran else {item}
            return super().__call__(context, item)

    work = Flaky()
    assert doubled(work, [1, 2, 3, 4], attempts=2).run(tmp_path)["double"] == [2, 4, 6, 8]
    assert work.ran == [1, 1, 2, 2, 3, 3, 4, 4]
    assert work.attempts == [1, 2, 1, 2, 1, 2, 1, 2]


def test_an_item_that_never_works_uses_up_the_budget(tmp_path: Path) -> None:
    work = Double(2)
    with pytest.raises(StageFailedError, match="its 2 attempts are used up"):
        doubled(work, [1, 2, 3], attempts=2).run(tmp_path)
    assert work.ran == [1, 2, 2]


def test_deaths_in_one_item_are_counted_and_not_those_before(tmp_path: Path) -> None:
    class Dying(Double):
        def __call__(self, context: Context, item: int) -> int:
            super().__call__(context, item)
            if len(self.ran) < 6:
                raise Crash
            return item

    work = Dying()
    for _ in range(5):
        with pytest.raises(Crash):
            doubled(work, [1, 2], attempts=9).resume(tmp_path)
    assert doubled(work, [1, 2], attempts=9).resume(tmp_path)["double"] == [1, 2]
    assert work.attempts == [1, 2, 3, 4, 5, 6, 1]


def test_a_function_that_cannot_make_the_items_fails_the_stage(tmp_path: Path) -> None:
    def broken(context: Context) -> list[int]:
        raise RuntimeError("no list today")

    with pytest.raises(StageFailedError, match="'double' failed: RuntimeError: no list today"):
        doubled(Double(), broken).run(tmp_path)
    unusable: Any = lambda context: {3, 4}  # noqa: E731
    with pytest.raises(StageFailedError, match="TypeError: its items are a set, whose order"):
        doubled(Double(), unusable).resume(tmp_path)
    assert doubled(Double(), [3, 4]).resume(tmp_path)["total"] == 14


def test_an_item_or_its_value_that_cannot_be_kept_is_named(tmp_path: Path) -> None:
    lock = threading.Lock()
    pipeline = Pipeline("film")
    pipeline.map(lambda context, item: item, lambda context: [1, {"x": lock}], name="given")
    with pytest.raises(StageValueError) as caught:
        pipeline.run(tmp_path / "a")
    assert str(caught.value) == (
        "stage 'given' was given items that cannot be kept: items[1]['x'] is of type lock."
    )
    pipeline = Pipeline("film")
    pipeline.map(lambda context, item: lock if item else 0, [0, 1], name="returned")
    with pytest.raises(
        StageValueError, match=r"stage 'returned\[1\]' returned a value .* of type l"
    ):
        pipeline.run(tmp_path / "b")
    assert pipeline.status(tmp_path / "b").stages[0].items_done == 1


def test_a_mapped_stage_needs_items() -> None:
    with pytest.raises(DefinitionError, match="'double': its items are of type NoneType"):
        Pipeline("film").map(Double(), None, name="double")  # type: ignore[arg-type]


def test_a_done_record_whose_items_are_not_all_there_is_damage(tmp_path: Path) -> None:
    from checkpoint_runtime import DamagedStateError

    doubled(Double(), [1, 2]).run(tmp_path)
    records = [record for record in records_of(tmp_path) if record.get("index") != 1]
    (tmp_path / "state.log").write_bytes(log_of(records))
    with pytest.raises(DamagedStateError, match="2 items, and others are recorded"):
        doubled(Double(), [1, 2]).resume(tmp_path)
