"""From what was seen to what is said, and to the exit code."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from checkpoint_contracts.evidence import Execution
from pytest_checkpoint.command.exit_codes import ExitCode
from pytest_checkpoint.command.inspecting.fates import Changed, Fate
from pytest_checkpoint.command.inspecting.report import Report, verdict
from pytest_checkpoint.command.inspecting.shown import as_json, as_text


def ended(code: int | None = 0, **fields: Any) -> Execution:
    return Execution(
        **{
            "exit_code": code,
            "signal": None,
            "timed_out": False,
            "wall_s": 1.25,
            "user_cpu_s": 0.5,
            "startup_cpu_s": 0.0,
            "bytes_written": 4096,
            "operations": 9,
            "output": "",
            **fields,
        }
    )


GOOD = Report(
    directory="/data/run7",
    files=10,
    size_bytes=3 << 20,
    in_place=True,
    check_before=ended(1, error_output="only 3 of 8 steps\n"),
    resume=ended(output="step 8\n"),
    check_after=ended(output="36\n"),
    changed=(),
    folders_gone=(),
    folders_made=(),
    siblings={"": 2, "checkpoints": 8},
    acknowledged=("render", "assemble"),
    again=(),
    lines_written=2,
    made_outside=(),
    signals=(),
    disturbed=(),
    notes=(),
    kept=None,
)


@pytest.mark.parametrize(
    ("seen", "code", "sentence"),
    [
        ({}, 0, "It resumes: the resume exits 0 after 1.2 s, and the check passes."),
        (
            {"changed": (Changed(b"a", Fate.CUT, 1, 0), Changed(b"b", Fate.GROWN, 1, 2))},
            0,
            (
                "It resumes: the resume exits 0 after 1.2 s, and the check passes. It deletes, "
                "cuts short or rewrites 1 of 10 files."
            ),
        ),
        (
            {"resume": ended(1, error_output="a\nValueError: bad.\n"), "check_after": None},
            1,
            "It does not resume: the resume exits 1 and says last: ValueError: bad.",
        ),
        (
            {"resume": ended(None, signal=11), "check_after": None},
            1,
            "It does not resume: the resume dies by SIGSEGV.",
        ),
        (
            {"check_after": ended(3, output="bad sum\n")},
            1,
            (
                "It does not resume: the resume exits 0, but the check of what it leaves exits 3 "
                "and says last: bad sum."
            ),
        ),
        (
            {"again": ("render",)},
            1,
            "It loses work: render had been done, and would run again; then the check passes.",
        ),
        (
            {"resume": ended(None, refusal="the job tried"), "check_after": None},
            3,
            "Nothing can be said, since the resume was not seen through: the job tried.",
        ),
        (
            {"resume": ended(None, timed_out=True, wall_s=600.1), "check_after": None},
            3,
            (
                "Nothing can be said: the resume had not ended after 10 min, and was ended; give "
                "it longer by --deadline."
            ),
        ),
        (
            {"check_after": ended(None, problem="it hides")},
            3,
            (
                "Nothing can be said, since the check of what the resume left was not seen "
                "through: it hides."
            ),
        ),
        (
            {"disturbed": ("log",)},
            3,
            (
                "Nothing can be said: something changed /data/run7 meanwhile (log). Look when the "
                "job is dead."
            ),
        ),
        ({"resume": ended(1), "check_after": None, "disturbed": ("log",)}, 1, None),
    ],
)
def test_the_verdict(seen: dict[str, Any], code: int, sentence: str | None) -> None:
    found = verdict(dataclasses.replace(GOOD, **seen))
    assert found == (code, sentence if sentence is not None else found[1])


LOST = dataclasses.replace(
    GOOD,
    changed=(
        *(Changed(b"checkpoints/%d.pt" % n, Fate.DELETED, 100, None) for n in range(3)),
        Changed(b"checkpoints/9.pt", Fate.NEW, None, 2000),
        Changed(b"log", Fate.GROWN, 5, 50),
        Changed(b"old", Fate.MOVED, 7, 7, b"old.bad"),
        Changed(b"state.json", Fate.CUT, 1, 0),
    ),
    again=("render",),
    made_outside=("/tmp/x",),
    signals=("SIGTERM to 1 (init)",),
    notes=("state.json is empty",),
    kept="/tmp/kept",
)


def test_what_is_said() -> None:
    assert (
        as_text(LOST)
        == """\
It loses work: render had been done, and would run again; then the check passes.

as it lies there
    /data/run7: 10 files, 3.0 MiB
    a copy was looked at, in the place of the directory; nothing there was touched
    the check exits 1 and says: only 3 of 8 steps
the resume
    it exits 0, after 1.2 s; it used 0.5 s of CPU and wrote 4.0 KiB
    it says last:
        step 8
    then the check exits 0 and says: 36
what would be lost or overwritten
    1 of 2 files at the top would be cut short
        state.json  1 byte, then 0 bytes
    3 of 8 files under checkpoints/ would be deleted
        checkpoints/0.pt  100 bytes
        checkpoints/1.pt  100 bytes
        checkpoints/2.pt  100 bytes
what else changes
    1 of 2 files at the top would be moved aside
        old → old.bad  7 bytes
    1 of 2 files at the top would be added to
        log  5 bytes, then 50 bytes
    1 file under checkpoints/ would be new
        checkpoints/9.pt  2.0 KiB
    made outside of it, and still there: /tmp/x
what had been done
    2 done: render, assemble
    would run again: render
notes
    state.json is empty
    it tried to signal processes that are not its own: SIGTERM to 1 (init)
    the copy, as the commands left it, is kept: /tmp/kept"""
    )


def test_of_many_files_the_first_are_named_and_the_rest_counted() -> None:
    deleted = (Changed(b"checkpoints/%d" % n, Fate.DELETED, 1024, None) for n in range(8))
    text = as_text(dataclasses.replace(GOOD, changed=tuple(deleted)))
    assert "8 of 8 files under checkpoints/ would be deleted" in text
    assert text.count("checkpoints/") == 7
    assert "and 2 more, 2.0 KiB" in text


def test_where_nothing_is_lost_that_is_said() -> None:
    text = as_text(dataclasses.replace(GOOD, acknowledged=None))
    assert "    no file: none is deleted, cut short or rewritten\n" in text
    assert "not known: --events FILE names the file" in text


def test_of_a_resume_without_lines_nothing_is_claimed() -> None:
    text = as_text(dataclasses.replace(GOOD, lines_written=0))
    assert "none of it would run again" not in text
    assert "not known whether it would run again: the resume wrote no line" in text


def test_empty_directories_are_told() -> None:
    text = as_text(dataclasses.replace(GOOD, folders_gone=("old/",), folders_made=("new/",)))
    assert "    empty directories would be deleted: old/\n" in text
    assert "what else changes\n    empty directories would be new: new/\n" in text


def test_a_deadline_is_told_once() -> None:
    text = as_text(
        dataclasses.replace(GOOD, resume=ended(None, timed_out=True, wall_s=9.0), check_after=None)
    )
    assert "    it had not ended after 9.0 s; it used 0.5 s of CPU" in text


def test_a_program_is_told_all_of_it() -> None:
    told = json.loads(as_json(LOST))
    assert told["exit_code"] == ExitCode.BAD
    assert told["verdict"].startswith("It loses work: render")
    assert told["changed"][3] == {
        "path": "checkpoints/9.pt",
        "fate": "new",
        "size_before": None,
        "size_after": 2000,
        "now": None,
    }
    assert told["changed"][5]["now"] == "old.bad"
    assert told["check_after"]["output"] == "36\n"
    assert told.keys() == {
        "exit_code",
        "verdict",
        *(one.name for one in dataclasses.fields(Report)),
    }
