"""What a pipeline may be made of, and what is refused when it is defined."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Context, DefinitionError, Pipeline
from checkpoint_runtime.stages import Stages


def nothing(context: Context) -> None:
    """A stage."""


def defined(**changes: Any) -> Pipeline:
    pipeline = Pipeline("film")
    pipeline.stage(name="one")(nothing)
    pipeline.stage(**{"name": "two", **changes})(nothing)
    return pipeline


def stages_of(**after: list[str] | None) -> Stages:
    stages = Stages("film")
    for name, inputs in after.items():
        stages.add(name, nothing, after=inputs, attempts=None, backoff_s=1.0, version="1")
    return stages


@pytest.mark.parametrize(
    "name",
    ["", " ", "two\nlines", " render", "tab\tbed", "\ud800", "a[0]", "a/b", "x" * 201, "\x1b[0m"],
)
def test_a_name_that_cannot_stand_in_a_line_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="of a pipeline"):
        Pipeline(name)
    with pytest.raises(DefinitionError, match="of a stage"):
        defined(name=name)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": 7}, "7 cannot be the name of a stage"),
        ({"name": "one"}, "pipeline 'film' already has a stage 'one'"),
        ({"attempts": 0}, "stage 'two': attempts=0 is not a number from 1 on"),
        ({"attempts": True}, "attempts=True is not a number"),
        ({"attempts": 1.5}, "attempts=1.5 is not a number"),
        ({"backoff_s": -1}, "backoff_s=-1 is no time to wait"),
        ({"backoff_s": float("nan")}, "backoff_s=nan is no time to wait"),
        ({"backoff_s": float("inf")}, "backoff_s=inf is no time to wait"),
        ({"version": 2}, "version=2 is not text"),
        ({"after": "one"}, r"after='one' is text; write after=\['one'\]"),
        ({"after": ["three"]}, "'two' comes after 'three', which is no stage defined before it"),
        ({"after": ["two"]}, "'two' comes after 'two', which is no stage defined before it"),
        ({"after": ["one", "one"]}, "names an input twice"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DefinitionError, match=sentence):
        defined(**changes)


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ("abc", "type str"),
        (b"abc", "type bytes"),
        ({"a": 1}, "type dict"),
        (7, "type int"),
        (iter([1]), "type list_iterator: give a list"),
        ({1, 2}, "a set, whose order differs between processes"),
        (frozenset([1]), "a set, whose order differs between processes"),
    ],
)
def test_items_without_an_order_or_an_end_are_refused(items: Any, sentence: str) -> None:
    with pytest.raises(DefinitionError, match=f"stage 'two': its items are .*{sentence}"):
        Pipeline("film").map(lambda context, item: item, items, name="two")


def test_a_callable_without_a_name_is_asked_for_one(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    render = functools.partial(lambda number, context: number, 7)
    with pytest.raises(DefinitionError, match="'' cannot be the name of a stage"):
        pipeline.stage(render)
    pipeline.stage(name="render")(render)
    assert pipeline.run(tmp_path)["render"] == 7


def test_a_stage_comes_after_the_one_before_unless_it_says_otherwise() -> None:
    stages = stages_of(a=None, b=None, c=[], d=["a", "c"])
    assert [stage.after for stage in stages] == [(), ("a",), (), ("a", "c")]


def test_what_is_built_on_a_stage_is_found_however_far() -> None:
    stages = stages_of(a=None, b=None, c=[], d=["c"], e=["b", "d"], f=["e"])
    assert stages.from_on("b") == ["b", "e", "f"]
    assert stages.from_on("c") == ["c", "d", "e", "f"]
    with pytest.raises(DefinitionError, match="'film' has no stage 'x'; it has 'a', 'b', 'c'"):
        stages.from_on("x")


def test_the_wait_doubles_up_to_a_minute() -> None:
    stages = Stages("film")
    stages.add("a", nothing, after=None, attempts=99, backoff_s=3.0, version="1")
    waits = [stages["a"].wait_s(tried) for tried in (1, 2, 3, 4, 5, 6, 99, 5000)]
    assert waits == [3.0, 6.0, 12.0, 24.0, 48.0, 60.0, 60.0, 60.0]


def test_the_decorator_gives_the_function_back() -> None:
    pipeline = Pipeline("film")
    assert pipeline.stage(nothing) is nothing
    assert pipeline.stage(name="again")(nothing) is nothing
