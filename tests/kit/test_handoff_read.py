"""A handoff as it is found: a file and its pages, or what a command printed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import cast

import pytest

from checkpoint_contracts.evidence import Execution, Handoff
from pytest_checkpoint.phases import handoff
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.handoff import read_handoff
from pytest_checkpoint.record.request import Result

STAGES = ("a", "b", "c")
PATH = PurePosixPath("out/handoff.json")


@dataclass
class Slot:
    """In place of a bench: a workspace, and what the command does."""

    workspace: Path
    handoff: PurePosixPath | tuple[str, ...] = PATH
    answer: Result = field(default_factory=Result)

    @property
    def subject(self) -> SimpleNamespace:
        return SimpleNamespace(handoff=self.handoff)

    @property
    def client(self) -> SimpleNamespace:
        return SimpleNamespace(workspace=self.workspace)

    def ask(self, command: tuple[str, ...], deadline_s: float) -> Result:
        assert (command, deadline_s) == (self.handoff, 3.0)
        return self.answer

    def execution(self, result: Result) -> Execution:
        return Execution(
            exit_code=result.exit_code,
            timed_out=result.timed_out,
            wall_s=result.wall_s,
            output=result.output,
            problem=result.problem,
        )

    def clean(self, text: str) -> str:
        return text.replace("hunter2", "[PASSWORD redacted]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the handoff lies."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def read(folder: Path) -> Handoff:
    return read_handoff(cast("Bench", Slot(folder.parent)), STAGES, 3.0)


def told(answer: Result, workspace: Path = Path("/nowhere")) -> Handoff:
    slot = Slot(workspace, ("tell", "{workspace}"), answer)
    return read_handoff(cast("Bench", slot), STAGES, 3.0)


def test_what_it_says_of_stages(folder: Path) -> None:
    text = '{"done": ["a", "a[0]", {"name": "b"}], "next": ["c", "d"], "failed": ["e", "c"]}'
    (folder / "handoff.json").write_text(text)
    assert read(folder) == Handoff(
        done=("a", "b"), next=("c",), names_next=True, failed=("c",), text=text
    )


def test_something_that_is_no_stage_is_something_next(folder: Path) -> None:
    (folder / "handoff.json").write_text('{"done": [], "next": "a person"}')
    assert read(folder) == Handoff(names_next=True, text='{"done": [], "next": "a person"}')


def test_pages_come_first_and_are_relative_to_it(folder: Path) -> None:
    (folder / "pages").mkdir()
    (folder / "pages" / "1").write_text('{"done": ["a"]}')
    (folder / "pages" / "2").write_text('{"done": ["b"]}')
    text = '{"done": ["c"], "pages": ["pages/1", "../out/pages/2"]}'
    (folder / "handoff.json").write_text(text)
    assert read(folder).done == STAGES


def test_a_page_may_name_the_page_before_it(folder: Path) -> None:
    (folder / "pages").mkdir()
    (folder / "pages" / "1").write_text('{"done": ["a"]}')
    (folder / "pages" / "2").write_text('{"done": ["b"], "pages": ["1"]}')
    (folder / "handoff.json").write_text('{"done": ["c"], "pages": ["pages/2"]}')
    assert read(folder).done == STAGES


def test_it_is_not_there(folder: Path) -> None:
    absent = Handoff(absent="out/handoff.json is not there")
    assert read(folder) == absent
    (folder / "handoff.json").symlink_to("nowhere")
    assert read(folder) == absent
    (folder / "handoff.json").unlink()
    folder.rmdir()
    folder.write_text("a file in the place of the folder")
    assert read(folder) == absent


def test_secrets_are_taken_out_of_what_is_shown_and_not_of_what_is_judged(folder: Path) -> None:
    (folder / "handoff.json").write_text('{"done": ["hunter2"]}')
    seen = read_handoff(cast("Bench", Slot(folder.parent)), ("hunter2",), 3.0)
    assert (seen.done, seen.text) == (("hunter2",), '{"done": ["[PASSWORD redacted]"]}')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty"),
        ('{"done": ["a"', "it is not JSON: Expecting ',' delimiter: line 1 column 14 (char 13)"),
        ('{"done": [], "pages": ["x"]}', "its page x: it is not there"),
        ('{"done": [], "pages": ["handoff.json", "."]}', "its page .: it is no file"),
        ('{"done": [], "pages": ["a\\u0000b"]}', "its page a\0b: it cannot be opened: "),
        (
            '{"done": [], "pages": ["/etc/hostname"]}',
            "its page /etc/hostname: it does not lie in",
        ),
        (
            '{"done": [], "pages": ["../../x"]}',
            "its page ../../x: it does not lie in the",
        ),
        ('{"done": [], "pages": ["round"]}', "its page round: it leads back to itself"),
        ('{"done": [], "pages": ["odd"]}', "its page odd: it has no member 'done'"),
    ],
)
def test_it_cannot_be_read(folder: Path, text: str, problem: str) -> None:
    (folder / "handoff.json").write_text(text)
    (folder / "odd").write_text("{}")
    (folder / "round").write_text('{"done": [], "pages": ["round"]}')
    seen = read(folder)
    assert seen.problem.startswith(f"out/handoff.json: {problem}")
    assert seen.text == text


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "handoff.json")
    assert read(folder) == Handoff(problem="out/handoff.json: it is no file")


def test_every_file_is_closed(folder: Path) -> None:
    (folder / "handoff.json").write_text('{"done": [], "pages": ["page", "."]}')
    (folder / "page").write_text('{"done": []}')
    before = os.listdir("/proc/self/fd")
    assert read(folder).problem.endswith("it is no file")
    assert os.listdir("/proc/self/fd") == before


def test_what_is_too_large_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "handoff.json").write_text('{"done": ["a"], "pages": ["p", "p"]}')
    (folder / "p").write_text('{"done": []}')
    monkeypatch.setattr(handoff, "_MOST_IN_ALL", 20)
    assert "its pages hold more than 0 MiB" in read(folder).problem
    monkeypatch.setattr(handoff, "MOST_BYTES", 30)
    assert "it holds more than 0 MiB, which is not read" in read(folder).problem


# --- a command -----------------------------------------------------------------------------------


def test_a_command_prints_it(tmp_path: Path) -> None:
    (tmp_path / "page").write_text('{"done": ["a"]}')
    text = '{"done": ["b"], "next": "c", "pages": ["page"]}\n'
    assert told(Result(exit_code=0, output=text), tmp_path) == Handoff(
        done=("a", "b"), next=("c",), names_next=True, text=text
    )


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (
            Result(exit_code=1, output="no state\n"),
            Handoff(absent="the handoff command exits 1 and says last: no state"),
        ),
        (Result(exit_code=1), Handoff(absent="the handoff command exits 1")),
        (
            Result(exit_code=0, output=" \n"),
            Handoff(absent="the handoff command prints nothing"),
        ),
        (
            Result(timed_out=True, wall_s=3.0, output="wait"),
            Handoff(problem="the handoff command had not ended after 3.0 s", text="wait"),
        ),
        (
            Result(exit_code=0, problem="a process survived"),
            Handoff(unread="the handoff command: a process survived"),
        ),
        (
            Result(exit_code=0, output="done"),
            Handoff(
                problem="the handoff command: it is not JSON: "
                "Expecting value: line 1 column 1 (char 0)",
                text="done",
            ),
        ),
    ],
)
def test_what_a_command_may_say_besides(answer: Result, seen: Handoff) -> None:
    assert told(answer) == seen


def test_a_command_that_prints_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handoff, "MOST_BYTES", 10)
    for output in ('{"done": ["a"]}', "ä" * 5):  # of which no more is kept than so many bytes
        seen = told(Result(exit_code=0, output=output))
        assert seen.problem.startswith("the handoff command prints more than 0 MiB")
