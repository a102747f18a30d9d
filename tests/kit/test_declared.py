"""What the events of an undisturbed run must not have in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import Effect
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.declared import require_effects, require_proper_events

BENCH = cast("Any", SimpleNamespace(subject=SimpleNamespace(capabilities=frozenset())))


@pytest.mark.parametrize("line", ["start a\0b", "done \0"])
def test_a_name_with_a_nul_byte_is_a_sentence(line: str) -> None:
    """It could stand in no environment, where a stage is told to raise."""
    with pytest.raises(SubjectError, match="has a NUL byte in it, which no name of a stage can"):
        require_proper_events(BENCH, ("start a", "done a", line))


def test_other_lines_may_hold_anything() -> None:
    require_proper_events(BENCH, ("start a", "note a\0b", "\0\0", "done a"))


SENDER = cast("Any", SimpleNamespace(subject=SimpleNamespace(capabilities={"effects"})))


def test_effects_that_are_declared_must_be_seen() -> None:
    with pytest.raises(SubjectError, match="'effects' is declared, but the undisturbed run sent"):
        require_effects(SENDER, ())
    require_effects(BENCH, ())
    require_effects(SENDER, (Effect(kind="mail"),))


def test_effects_must_be_of_their_form() -> None:
    garbled = Effect(kind="", problem="an effect is told by a JSON object, not by x")
    with pytest.raises(SubjectError, match="not by x; send a JSON object with 'kind' and 'id'"):
        require_effects(SENDER, (Effect(kind="mail"), garbled))
