"""Where an exception came from, as a reader of the stage's code wants to know it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_runtime import Context, FailedAttempt, StageFailedError
from checkpoint_runtime.progress import Silent
from checkpoint_runtime.texts import ended
from tests.runtime.support import one, records_of


class Failures(Silent):
    def __init__(self) -> None:
        self.told: list[FailedAttempt] = []

    def failed(self, attempt: FailedAttempt) -> None:
        self.told.append(attempt)


def failed(workspace: Path, work: Callable[[Context], object]) -> FailedAttempt:
    watcher = Failures()
    with pytest.raises(StageFailedError) as caught:
        one(work).run(workspace, progress=watcher)
    (attempt,) = watcher.told
    (record,) = [record for record in records_of(workspace) if "failed" in record]
    assert record.get("where") == attempt.where == caught.value.where
    return attempt


def lines_of(text: str | None) -> list[str]:
    return re.findall(r"in (\w+)$", text or "", re.MULTILINE)


def broken() -> None:
    raise RuntimeError("deep")


def work_calls(context: Context) -> None:
    broken()


def test_it_is_the_last_line_of_the_stages_own_code(tmp_path: Path) -> None:
    attempt = failed(tmp_path, work_calls)
    line = broken.__code__.co_firstlineno + 1
    assert attempt.where == f"tests/runtime/test_tracebacks.py:{line} in broken"
    assert lines_of(attempt.traceback) == ["work_calls", "broken"]


def work_reads(context: Context) -> object:
    return json.loads("{")


def test_a_line_of_a_library_is_in_the_traceback_but_not_where_it_failed(tmp_path: Path) -> None:
    attempt = failed(tmp_path, work_reads)
    assert (attempt.where or "").endswith(" in work_reads")
    assert lines_of(attempt.traceback)[:2] == ["work_reads", "loads"]


def work_translates(context: Context) -> None:
    try:
        broken()
    except RuntimeError as error:
        raise ValueError("high") from error


def test_causes_are_shown(tmp_path: Path) -> None:
    attempt = failed(tmp_path, work_translates)
    assert lines_of(attempt.traceback) == ["work_translates", "broken", "work_translates"]
    assert "direct cause" in (attempt.traceback or "")


def test_a_file_elsewhere_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (failed(tmp_path / "w", work_calls).where or "").startswith(__file__)


def test_what_no_line_of_the_stage_raised_has_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_STAGE_FAULT", "raise:work:1")
    attempt = failed(tmp_path, work_calls)
    assert (attempt.where, attempt.traceback) == (None, None)


def test_a_sentence_that_has_an_end_gets_no_other(tmp_path: Path) -> None:
    assert [ended(text) for text in ("a", "a.", "a!", "a?", "a…")] == [
        "a.", "a.", "a!", "a?", "a…",
    ]  # fmt: skip
