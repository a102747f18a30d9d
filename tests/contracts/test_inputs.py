from __future__ import annotations

import pytest

from checkpoint_contracts.inputs import Input, digests, inputs, malformed

ONE, TWO = "0" * 64, "aF" * 32


def test_the_digest_stands_behind_the_last_space() -> None:
    assert list(inputs(["input two words 0f\n", "inputs a 0f", "start a"])) == [
        Input("two words", "0f")
    ]


def test_a_line_without_a_digest_is_a_line_all_the_same() -> None:
    assert list(inputs(["input render"])) == [Input("render", "")]


def test_a_stage_may_have_several_digests() -> None:
    lines = ["input b 2", "input a 1", "input b 3", "input b 2"]
    assert digests(lines) == {"b": frozenset({"2", "3"}), "a": frozenset({"1"})}


@pytest.mark.parametrize(
    "line", ["input a", "input ", "input a 0f", f"input {ONE}", f"input a {ONE} "]
)
def test_what_does_not_end_in_a_sha256_is_malformed(line: str) -> None:
    assert malformed([f"input a {ONE}", line, "input b"]) == line


def test_what_does_is_not() -> None:
    assert malformed([f"input a {ONE}", f"input b c {TWO}", "start d"]) is None
