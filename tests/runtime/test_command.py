"""``checkpoint-runtime``: what it exits with, and what it says to whom."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.main import main
from tests.runtime.film_job import JOB


class Said:
    """What one command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def do(job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command on the job and the workspace ``w``; no frame of ours comes out of any."""

    def run(command: str, *options: str, mood: str = "", of: str = job) -> Said:
        monkeypatch.setenv("MOOD", mood)
        try:
            code = main([command, of, "--workspace", "w", *options])
        except SystemExit as ended:  # argparse
            code = int(str(ended.code))
        out, err = capsys.readouterr()
        assert f"{os.sep}checkpoint_runtime{os.sep}" not in out + err
        assert isinstance(code, int)
        return Said(code, out, err)

    return run


def test_run_resume_status_and_rerun_of_a_job_that_works(do: Any) -> None:
    ran = do("run")
    assert (ran.code, ran.out) == (0, "")
    lines = ran.err.splitlines()
    assert lines[:3] == ["0 of 3 stages are done", "research: begun", "research: done in 0.0 s"]
    assert "items: 2 of 2 items" in lines
    assert lines[-1] == "every stage is done, 3 of 3 in this run"
    assert do("resume").err.splitlines() == [
        "3 of 3 stages are done",
        "every stage was done already: nothing was run",
    ]
    status = do("status")
    assert (status.code, status.err) == (0, "")
    title, research, *_ = status.out.splitlines()
    assert title == "film: 3 of 3 stages are done"
    assert research.startswith("research  done")
    again = do("rerun", "render")
    assert again.code == 0
    assert again.err.splitlines()[:2] == [
        "clears 2 stages (render, items) and 2 items",
        "1 of 3 stages are done",
    ]


def test_a_stage_that_fails_is_1_and_resume_goes_on(do: Any) -> None:
    failed = do("run", mood="exit 3")
    assert failed.code == ExitCode.STAGE_FAILED
    assert failed.err.splitlines()[-1] == (
        "checkpoint-runtime: stage 'render' ended the program: sys.exit(3) (film_job.py:21 in "
        "render). resume tries it again (1 of 3 attempts used)."
    )
    refused = do("run")
    assert refused.code == ExitCode.STAGE_FAILED
    assert (
        "checkpoint-runtime: stage 'render' has failed: SystemExit: 3 (film_job.py:21 in render). "
        "Nothing was run" in refused.err
    )
    status = do("status")
    assert (status.code, "SystemExit: 3" in status.out) == (ExitCode.STAGE_FAILED, True)
    assert do("resume").code == 0


@pytest.mark.parametrize(
    ("mood", "sentence"),
    [
        (
            "exit",
            "stage 'render' failed: SystemExit: 0 (film_job.py:19 in render). Nothing after it ran",
        ),
        ("lock", "stage 'render' returned a value that cannot be kept: value is of type lock."),
    ],
)
def test_what_is_no_success_is_never_0(do: Any, mood: str, sentence: str) -> None:
    failed = do("run", mood=mood)
    assert failed.code == ExitCode.STAGE_FAILED
    assert f"checkpoint-runtime: {sentence}" in failed.err


def test_values_that_cannot_be_kept_use_up_attempts_too(do: Any) -> None:
    tried = [do("resume", mood="lock") for _ in range(4)]
    assert [one.code for one in tried] == [1, 1, 4, 4]
    assert tried[2].err.endswith(
        "its 3 attempts are used up: once it is mended: checkpoint-runtime rerun film_job:film "
        "--workspace w render\n"
    )


def test_used_up_attempts_are_4_until_rerun(do: Any) -> None:
    first = do("run", mood="raise")
    assert first.code == ExitCode.POISONED
    where = "(film_job.py:17 in render)"
    said = rf"render: failed: RuntimeError: [/red] out of \x1b paint {where}; again in 0 s"
    assert said in first.err.splitlines()
    remedy = "checkpoint-runtime rerun film_job:film --workspace w render"
    assert first.err.endswith(
        f"its 3 attempts are used up: see to the cause, then clear it: {remedy}\n"
    )
    poisoned = do("resume")
    assert poisoned.code == ExitCode.POISONED
    assert "was begun 3 times and never finished" in poisoned.err
    assert poisoned.err.endswith(f"then clear it: {remedy}\n")
    status = do("status")
    assert status.code == ExitCode.POISONED
    assert status.out.splitlines()[-1] == f"then: {remedy}"
    assert do("rerun", "render").code == 0


@pytest.mark.parametrize(("mood", "number"), [("interrupt", "SIGINT"), ("terminate", "SIGTERM")])
def test_preempted_is_75_and_says_that_nothing_is_lost(do: Any, mood: str, number: str) -> None:
    preempted = do("run", mood=mood)
    assert preempted.code == ExitCode.PREEMPTED.value == 75
    said = f"preempted ({number}); what is done is kept, resume goes on.\n"
    assert preempted.err.endswith(said)
    assert do("status").code == ExitCode.UNFINISHED
    assert do("run").code == 0


def test_a_state_that_is_refused_is_3(do: Any, tmp_path: Path) -> None:
    do("run")
    assert do("run", of="film_job:other").code == ExitCode.USAGE  # it has no stages
    refused = do("status", of="film_job:other")
    assert refused.code == ExitCode.STATE_REFUSED
    assert "the state of pipeline 'film', not of 'other'" in refused.err
    (tmp_path / "w" / "state.log").write_text("notes for monday")
    for command in ("run", "resume", "status"):
        refused = do(command)
        assert refused.code == ExitCode.STATE_REFUSED
        assert "line 1: this is not the beginning of a state log" in refused.err


def test_a_changed_pipeline_is_3_unless_it_is_accepted_or_run_again(
    do: Any, tmp_path: Path
) -> None:
    do("run", "--parameter", "x=1")
    changed = do("run", "--parameter", "x=2")
    assert changed.code == ExitCode.STATE_REFUSED
    assert "'research' was done with other parameters" in changed.err
    assert do("run", "--parameter", "x=2", "--accept-changed").code == 0
    assert do("run", "--parameter", "x=3", "--rerun-from", "research").code == 0
    records = (tmp_path / "w" / "state.log").read_text()
    assert '"value": {"x": 3}' in records


def test_what_cannot_be_written_is_5(do: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", full)
        patch.setattr(os, "ftruncate", lambda *args: full(0))
        refused = do("run")
    assert refused.code == ExitCode.NOT_WRITTEN
    first, second = refused.err.splitlines()
    assert "bytes are needed" in first
    assert second.startswith("checkpoint-runtime: what was written of it could not be taken back")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--parameter", "x"], "--parameter 'x' is not NAME=VALUE"),
        (["--parameter", "=x"], "--parameter '=x' is not NAME=VALUE"),
        (["--parameter", "x=1", "--parameter", "x=1"], "--parameter x is given twice"),
        (
            ["--rerun-from", "nothing"],
            "pipeline 'film' has no stage 'nothing'; it has 'research', ",
        ),
        (["--no-such"], "unrecognized arguments: --no-such"),
    ],
)
def test_a_wrong_command_line_is_2_and_nothing_is_run(
    do: Any, tmp_path: Path, options: list[str], sentence: str
) -> None:
    refused = do("run", *options)
    assert refused.code == ExitCode.USAGE
    assert sentence in refused.err
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("film_job", "say which pipeline: film_job:NAME; it has film, other."),
        ("film_job:flim", "film_job has no 'flim'; it has film, other."),
        ("film_job:not_one", "film_job:not_one is of type int, not a Pipeline; it has film, "),
        ("film_job:film.x", "film_job has no 'film.x'"),
        (":film", "':film' names no module: write MODULE:PIPELINE"),
        ("no_such:film", "there is no module 'no_such' in "),
        ("no_such.at_all:film", "there is no module 'no_such.at_all' in "),
        (".film_job:film", "'.film_job' names no module"),
        ("a..b:film", "'a..b' names no module"),
        ("some/folder:film", "'some/folder' names no module"),
        ("missing.py:film", "there is no file missing.py."),
        ("json.py:film", "json.py has the name of a module that is in use, 'json': rename"),
        ("sys.py:film", "sys.py has the name of a module that is in use, 'sys': rename"),
    ],
)
def test_a_pipeline_that_is_not_to_be_found_is_2(
    do: Any, tmp_path: Path, named: str, sentence: str
) -> None:
    for name in ("json.py", "sys.py"):
        (tmp_path / name).write_text(JOB)
    refused = do("status", of=named)
    assert refused.code == ExitCode.USAGE
    assert refused.err.startswith(f"checkpoint-runtime: {sentence}")
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize("of", ["film_job.py:film", "film_job:film", "./film_job.py:film"])
def test_a_file_or_a_module_will_do_again_and_again(do: Any, of: str) -> None:
    assert do("run", of=of).code == 0
    assert do("resume", of=of).code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def", "SyntaxError: invalid syntax"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_cannot_be_imported_is_2_and_its_own_error_is_shown(
    job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (tmp_path / "broken_job.py").write_text(f"import os\n{text}\n")
    for named in ("broken_job:film", "broken_job.py:film"):
        assert main(["run", named, "--workspace", "w"]) == ExitCode.USAGE
        _, err = capsys.readouterr()
        *shown, last = err.splitlines()
        assert last.startswith("checkpoint-runtime: broken_job")
        assert f" cannot be imported: {words}" in last
        assert any("broken_job.py" in line for line in shown)
        sys.modules.pop("broken_job", None)


def test_status_of_what_is_not_there(do: Any, tmp_path: Path) -> None:
    missing = do("status")
    assert missing.code == ExitCode.USAGE
    assert "w is not a directory: nothing ran there." in missing.err
    assert do("rerun", "render").code == ExitCode.USAGE
    (tmp_path / "w").mkdir()
    empty = do("status")
    assert (empty.code, empty.out.splitlines()[0]) == (
        ExitCode.UNFINISHED,
        "film: nothing has run here",
    )
    assert not list((tmp_path / "w").iterdir())


def test_status_as_json_says_everything(do: Any, tmp_path: Path) -> None:
    do("run", mood="raise")
    status = do("status", "--json")
    assert status.code == ExitCode.POISONED
    found = json.loads(status.out)
    assert (found["pipeline"], found["workspace"], found["finished"]) == (
        "film",
        str(tmp_path / "w"),
        False,
    )
    assert [(stage["name"], stage["state"]) for stage in found["stages"]] == [
        ("research", "done"),
        ("render", "poisoned"),
        ("items", "pending"),
    ]
    assert found["stages"][1]["error"].startswith("RuntimeError: [/red]")


def test_parameters_are_json_or_else_text(do: Any, tmp_path: Path) -> None:
    do("run", *(f"--parameter={text}" for text in ("a=1", "b=[1, 2]", "c=x=y", "d=", "e=null")))
    (value,) = [
        json.loads(line[9:])["value"]
        for line in (tmp_path / "w" / "state.log").read_text().splitlines()
        if '"done": "research"' in line
    ]
    assert value == {"a": 1, "b": [1, 2], "c": "x=y", "d": "", "e": None}


def test_keep_going_is_passed_on(do: Any, tmp_path: Path) -> None:
    (tmp_path / "film_job.py").write_text(JOB.replace('name="items")', 'name="items", after=[])'))
    failed = do("run", "--keep-going", mood="raise")
    assert failed.code == ExitCode.POISONED
    assert "Nothing that is built on it ran; its 3 attempts are used up" in failed.err
    assert "items: done" in failed.err


def test_status_of_what_has_changed_is_3_and_says_why(do: Any, tmp_path: Path) -> None:
    do("run")
    (tmp_path / "film_job.py").write_text(JOB.replace("attempts=3", 'attempts=3, version="2"'))
    sys.modules.pop("film_job", None)
    status = do("status")
    assert status.code == ExitCode.STATE_REFUSED
    assert "changed" in status.out
    assert "was done in version '1', and is version '2' now" in status.out
    assert status.out.splitlines()[-1] == "a resume refuses to go on from this, and says what to do"
    found = json.loads(do("status", "--json").out)
    assert (found["refused"], found["next"], found["stages"][1]["state"]) == (True, [], "changed")
    refused = do("resume")
    assert refused.code == ExitCode.STATE_REFUSED
    assert "(--rerun-from render, rerun_from='render')" in refused.err
    assert do("resume", "--rerun-from", "render").code == 0


def test_the_traceback_of_the_stage_is_shown_and_nothing_of_ours(do: Any, tmp_path: Path) -> None:
    shown = do("run", mood="raise").err
    frame = f'  File "{tmp_path}/film_job.py", line 17, in render'
    assert shown.count("Traceback (most recent call last):") == shown.count(frame) == 3
    assert "\x1b" not in shown


def test_a_resume_says_once_how_many_items_were_done(do: Any, tmp_path: Path) -> None:
    job = JOB.replace("item: item,", "item: 1 // os.environ['MOOD'].count(item),")
    (tmp_path / "film_job.py").write_text(job)
    failed = do("run", mood="a")
    assert "items: failed: items[1]: ZeroDivisionError: " in failed.err
    lines = do("resume", mood="ab").err.splitlines()
    assert [line for line in lines if line.startswith("items")] == [
        "items: begun (attempt 2 of 10)",
        "items: 1 of 2 items were done",
        "items: 2 of 2 items",
        "items: done in 0.0 s",
    ]
    one_again = do("rerun", "items[0]", mood="ab")
    assert one_again.code == 0
    assert one_again.err.splitlines()[0] == "clears 1 item"


def test_a_last_line_that_is_dropped_is_told(do: Any, tmp_path: Path) -> None:
    do("run")
    log = tmp_path / "w" / "state.log"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]) + lines[-1].replace(b"items", b"itams"))
    resumed = do("resume")
    assert resumed.code == 0
    assert resumed.err.startswith(
        f"{log}, line {len(lines)}: the checksum of this last line does not fit: it was dropped."
    )
    assert do("resume").err.startswith("3 of 3 stages are done")


def test_an_error_as_long_as_a_page_is_cut_where_it_is_shown_and_kept_as_it_is(
    do: Any, tmp_path: Path
) -> None:
    job = JOB.replace('RuntimeError("', 'RuntimeError("x" * 1500 + "')
    (tmp_path / "film_job.py").write_text(job)
    do("run", mood="raise")
    assert len(json.loads(do("status", "--json").out)["stages"][1]["error"]) > 1500
    assert "x" * 301 not in do("status").out + do("resume").err
    assert "x" * 301 not in (tmp_path / "w" / "handoff.md").read_text()
    assert "x" * 1500 in (tmp_path / "w" / "handoff.json").read_text()


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("checkpoint-runtime ")


def test_the_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out, _ = capsys.readouterr()
    for code in ExitCode:
        assert f"{code.value:3}  {code.meaning}" in out
