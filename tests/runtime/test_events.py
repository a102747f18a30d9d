"""Event lines: one write each, after what is already there, and nothing without the variable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkpoint_runtime import EnvironmentVariableError, Pipeline, StageFailedError
from checkpoint_runtime.events import EventFile
from tests.runtime.support import RESULT, fail, film, records_of, told_by_handoff


def test_lines_are_appended_to_the_file_named_by_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events"
    path.write_text("start earlier\n")
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(path))
    with EventFile.from_environment() as events:
        assert events.wanted
        events.start("render frames")
        events.input("render frames", "ab12")
        events.done("render frames")
        events.fail("assemble")
    assert path.read_text().splitlines() == [
        "start earlier",
        "start render frames",
        "input render frames ab12",
        "done render frames",
        "fail assemble",
    ]


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if value is None:
        monkeypatch.delenv("CHECKPOINT_EVENTS", raising=False)
    else:
        monkeypatch.setenv("CHECKPOINT_EVENTS", value)
    with EventFile.from_environment() as events:
        assert not events.wanted
        events.start("render")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_opened_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "events"
    with pytest.raises(EnvironmentVariableError) as caught:
        EventFile(str(path))
    assert str(caught.value) == (
        f"CHECKPOINT_EVENTS names {path}, which cannot be opened: No such file or directory"
    )


def test_a_line_that_does_not_go_in_whole_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentVariableError, match="cannot append to /dev/full: No space left"):
        EventFile("/dev/full").done("render")
    monkeypatch.setattr(os, "write", lambda descriptor, data: 3)
    with pytest.raises(EnvironmentVariableError, match="only 3 of 12 bytes went into /dev/null"):
        EventFile("/dev/null").done("render")


def test_done_is_said_after_the_commit_and_the_handoff_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, events = tmp_path / "w", tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(events))
    append, told = EventFile._append, []

    def look(self: EventFile, line: str) -> None:
        committed = [str(r["done"]) for r in records_of(workspace) if "done" in r]
        told.append(
            (line.split(maxsplit=1)[0], line.split()[1], committed, told_by_handoff(workspace))
        )
        append(self, line)

    monkeypatch.setattr(EventFile, "_append", look)
    film().run(workspace)
    names = list(RESULT)
    for verb, name, committed, handoff in told:
        done = names[: names.index(name) + (verb == "done")]
        assert committed == handoff == done
    lines = events.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["start", "input", "done"] * 3
    assert len({line.split()[2] for line in lines if line.startswith("input")}) == 3


def test_a_failure_is_told_and_the_same_inputs_look_the_same_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(events))
    with pytest.raises(StageFailedError):
        film(assemble=fail).run(tmp_path / "w")
    film().resume(tmp_path / "w")
    lines = [line.split() for line in events.read_text().splitlines()][6:]
    assert [line[0] for line in lines] == ["start", "input", "fail", "start", "input", "done"]
    assert {line[1] for line in lines} == {"assemble"}
    assert lines[1] == lines[4]


def test_each_item_of_a_mapped_stage_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(events))
    pipeline = Pipeline("film")
    pipeline.map(lambda context, item: item, ["a", "b"], name="render it")
    pipeline.run(tmp_path / "w")
    assert [line for line in events.read_text().splitlines() if not line.startswith("input")] == [
        "start render it",
        "start render it[0]",
        "done render it[0]",
        "start render it[1]",
        "done render it[1]",
        "done render it",
    ]
