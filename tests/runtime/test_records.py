"""What the records of a log mean, one kind after the other, and together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import DamagedStateError, ForeignStateError, StateError
from checkpoint_runtime.state.facts import Failure, Fingerprint, SideFile
from checkpoint_runtime.state.records import FORMAT, History, first_record, text_of

PATH = Path("job") / "state.log"
WAS = {"version": "1", "inputs": {}, "parameters": "p"}
ITEM = {"item": "map", "index": 0, "of": 2, "key": "k", **WAS, "digest": "d", "value": 5}
DONE = {"done": "a", **WAS, "digest": "d", "at": "then", "took_s": 1.5, "value": 7}
MAPPED = {**DONE, "done": "map", "items": 1, "made_of": "m", "value": None}


def history(*records: dict[str, Any]) -> History:
    found = History(PATH, "film")
    for record in (first_record("film"), *records):
        found.take(record)
    return found


def test_a_stage_that_is_done_has_a_value_and_no_attempts() -> None:
    found = history({"attempt": "a"}, {"failed": "a", "error": "E", "at": "now"}, DONE)
    done = found.done["a"]
    assert (done.kept.value, done.kept.line, done.at, done.took_s) == (7, 4, "then", 1.5)
    assert done.fingerprint == Fingerprint("1", {}, "p", None)
    assert (found.attempts, found.failures) == ({}, {})


def test_attempts_count_from_attempt_and_from_next_and_less_what_is_released() -> None:
    assert history({"attempt": "a"}, {"attempt": "a"}).attempts == {"a": 2}
    assert history({**DONE, "next": "b"}, {"attempt": "b"}).attempts == {"b": 2}
    assert history({"attempt": "a"}, {"released": "a"}, {"released": "a"}).attempts == {"a": 0}


def test_a_failure_is_known_until_the_stage_gets_somewhere() -> None:
    failed = {"failed": "map", "error": "E", "at": "now"}
    assert history({"attempt": "map"}, failed).failures == {"map": Failure("E", "now")}
    found = history({"attempt": "map"}, failed, {"attempt": "map"}, ITEM)
    assert (found.failures, found.attempts) == ({}, {"map": 1})


def test_items_are_kept_each_and_make_a_mapped_stage() -> None:
    found = history(ITEM, {**ITEM, "index": 1, "value": 6}, {**MAPPED, "items": 2})
    assert [found.items["map"][index].kept.value for index in (0, 1)] == [5, 6]
    assert (found.done["map"].items, found.done["map"].fingerprint.items) == (2, "m")
    dropped = history(ITEM, {**ITEM, "index": 1}, {"dropped": "map", "items": [1]}, MAPPED)
    assert list(dropped.items["map"]) == [0]
    assert "map" not in history(ITEM, {"dropped": "map", "items": [0]}).items


def test_a_cleared_stage_never_ran() -> None:
    found = history(ITEM, MAPPED, DONE, {"attempt": "b"}, {"cleared": ["a", "map", "b", "c"]})
    assert (found.done, found.items, found.attempts, found.failures) == ({}, {}, {}, {})


def test_what_is_accepted_is_held_against_that_from_now_on() -> None:
    accepted = {"version": "2", "inputs": {"x": "y"}, "parameters": "q"}
    now = Fingerprint("2", {"x": "y"}, "q", None)
    assert history(DONE, {"accepted": "a", **accepted}).done["a"].fingerprint == now
    assert history(ITEM, {"accepted": "map", **accepted}).items["map"][0].fingerprint == now


def test_parameters_are_those_recorded_last() -> None:
    assert history().parameters == {}
    assert history({"parameters": "given", "value": {"x": 1}}).parameters == {"x": 1}


def test_all_side_files_of_what_is_done_are_referred_to() -> None:
    def files(name: str) -> dict[str, Any]:
        return {"files": {name: {"bytes": 3, "sha256": "s"}}}

    found = history({**DONE, **files("one")}, {**ITEM, **files("two")})
    assert found.referred() == {"one": SideFile(3, "s"), "two": SideFile(3, "s")}


def test_the_log_of_another_pipeline_or_version_is_refused_and_says_whose() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"format": FORMAT, "pipeline": "song"}, "the state of pipeline 'song', not of 'film'"),
        ({"format": 5, "pipeline": "film"}, "format 5 of a newer version; this one reads 4"),
        ({"format": 2, "pipeline": "film"}, "format 2 of another version; this one reads 4"),
        ({"format": "x", "pipeline": "film"}, "format 'x' of another version"),
    ]
    for record, sentence in cases:
        with pytest.raises(ForeignStateError) as caught:
            History(PATH, "film").take(record)
        assert f"{PATH}, line 1: " in str(caught.value)
        assert sentence in str(caught.value)


def test_a_kind_of_a_newer_version_is_refused_with_its_line() -> None:
    with pytest.raises(
        ForeignStateError, match="line 2: a record 'heart', which this version does"
    ):
        history({"heart": "beat"})


def test_a_record_out_of_its_place_is_damage() -> None:
    with pytest.raises(DamagedStateError, match="line 2: a record 'format' does not belong here"):
        history(dict(first_record("film")))
    with pytest.raises(DamagedStateError, match="line 1: a record 'done' does not belong here"):
        History(PATH, "film").take(DONE)


def mutants() -> list[dict[str, Any]]:
    """Records of each kind with a key missing, or something of a wrong type in its place."""
    sound: list[dict[str, Any]] = [
        {"attempt": "a"},
        DONE,
        MAPPED,
        ITEM,
        {"failed": "a", "error": "E", "at": "now"},
        {"released": "a"},
        {"cleared": ["a"]},
        {"retry": "a"},
        {"dropped": "map", "items": [0]},
        {"accepted": "a", **WAS},
        {"parameters": "given", "value": {}},
    ]
    found: list[dict[str, Any]] = []
    others: list[Any] = [None, 1.5j, b"", [[]]]
    for record in sound:
        for key in record:
            if key not in ("value", next(iter(record))):
                found.append({name: part for name, part in record.items() if name != key})
                found += [{**record, key: wrong} for wrong in others]
            elif key != "value":
                found += [{**record, key: wrong} for wrong in (None, 5, "")]
    return found


def test_a_record_that_no_version_wrote_is_damage_and_nothing_else() -> None:
    before: list[dict[str, Any]] = [DONE, ITEM]
    for mutant in mutants():
        with pytest.raises(StateError) as caught:
            history(*before, mutant)
        assert f"{PATH}, line 4: " in str(caught.value)
        assert "nothing has been changed" in str(caught.value)


def test_a_record_is_one_line_of_json_that_keeps_every_text() -> None:
    record = {"failed": "a\nb", "error": "Grün \udc80"}
    assert json.loads(text_of(record)) == record
    assert "\n" not in text_of(record)
    assert "Grün" in text_of({"failed": "Grün"})
    assert text_of({"done": "a"}, value="[1]") == '{"done": "a", "value": [1]}'
