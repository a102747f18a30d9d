"""Event lines: one write each, after what is already there, and nothing without the variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint_runtime import EventsError
from checkpoint_runtime.events import EventFile


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
    with pytest.raises(EventsError) as caught:
        EventFile(str(path))
    assert str(caught.value) == (
        f"CHECKPOINT_EVENTS names {path}, which cannot be opened: No such file or directory"
    )
