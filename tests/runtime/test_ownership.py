"""A run that was taken over: whatever it still writes counts for nothing, and harms nothing."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint_runtime import (
    CommitError,
    Context,
    DamagedStateError,
    Pipeline,
    TakenOverError,
    WorkspaceInUseError,
)
from checkpoint_runtime.state.lines import LATE, framed, parse
from checkpoint_runtime.state.log import StateLog, read_history
from checkpoint_runtime.state.records import first_record
from checkpoint_runtime.state.scratch import Scratch
from checkpoint_runtime.state.side_files import SideFiles
from tests.runtime.disk import failing
from tests.runtime.support import DEADLINE_S, Notes, film, in_time, log_of, records_of

FIRST = dict(first_record("film"))


def opened(workspace: Path) -> StateLog:
    return StateLog(workspace, "film")


def begun(workspace: Path) -> StateLog:
    log = opened(workspace)
    if log.history.lines == 0:
        log.append(FIRST)
    return log


def attempt(stage: str) -> dict[str, str]:
    return {"attempt": stage}


def late(log: StateLog, record: dict[str, Any]) -> None:
    """The line of a run that had looked at the log, and was stopped before it wrote."""
    with log.path.open("ab") as file:
        file.write(log.next_line(record).data)


# --- who owns the log ---


def test_the_first_record_of_each_run_says_that_it_owns_the_log_from_there_on(
    tmp_path: Path,
) -> None:
    for number in range(3):
        with begun(tmp_path) as log:
            assert log.token == number + 1
            log.append(attempt("a"))
            log.append(attempt("b"))
            assert (log.token, log.history.owner) == (number + 1, number + 1)
    lines = (tmp_path / "state.log").read_text().splitlines()
    owners = [json.loads(line[9:]).get("owner") for line in lines]
    ours = {"pid": os.getpid(), "host": os.uname().nodename}
    assert owners == [
        *[None, None, None],
        *[{"token": 2, **ours}, None],
        *[{"token": 3, **ours}, None],
    ]


def test_a_run_that_has_nothing_to_write_takes_nothing_over(tmp_path: Path) -> None:
    with begun(tmp_path) as log:
        with opened(tmp_path) as other:
            assert (log.token, other.token) == (1, 2)
        log.append(attempt("a"))
    film().run(tmp_path)
    before = (tmp_path / "state.log").read_bytes()
    film().resume(tmp_path)
    assert (tmp_path / "state.log").read_bytes() == before


def test_to_own_it_without_a_record_is_one_line_once(tmp_path: Path) -> None:
    begun(tmp_path).close()
    with opened(tmp_path) as log:
        log.own()
        log.own()
        log.append(attempt("a"))
    assert records_of(tmp_path) == [FIRST, {}, attempt("a")]
    assert read_history(tmp_path, "film").owner == 2


def test_an_older_run_is_told_that_it_has_been_taken_over_and_by_whom(tmp_path: Path) -> None:
    with begun(tmp_path) as old, opened(tmp_path) as new:
        new.append(attempt("new"))
        before = old.path.read_bytes()
        with pytest.raises(TakenOverError):
            old.append(attempt("old"))
        with pytest.raises(TakenOverError) as caught:
            old.append(attempt("old"))
        assert str(caught.value) == (
            f"{old.path}: cannot append: another run has begun here since this one did, and has "
            f"taken the workspace over (process {os.getpid()} on {os.uname().nodename}). Nothing "
            "of this run is recorded from here on: it ends. Was the file `lock` removed?"
        )
        assert old.path.read_bytes() == before
        new.append(attempt("new"))
    assert read_history(tmp_path, "film").attempts == {"new": 2}


def test_a_run_that_opened_before_the_last_one_wrote_takes_nothing_over(tmp_path: Path) -> None:
    with begun(tmp_path) as old, opened(tmp_path) as new:
        old.append(attempt("old"))
        with pytest.raises(TakenOverError):
            new.append(attempt("new"))
        old.append(attempt("old"))
    with opened(tmp_path) as one, opened(tmp_path) as other:
        one.append(attempt("one"))
        with pytest.raises(TakenOverError):
            other.own()
    assert read_history(tmp_path, "film").attempts == {"old": 2, "one": 1}


def test_two_that_begin_an_empty_log(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as other:
        line = other.next_line(FIRST).data
        one.append(FIRST)
        with pytest.raises(TakenOverError):
            other.append(FIRST)
        with one.path.open("ab") as file:
            file.write(line)
        one.append(attempt("one"))
    assert read_history(tmp_path, "film").attempts == {"one": 1}


# --- late lines ---


def test_a_late_line_counts_for_nothing_wherever_it_stands(tmp_path: Path) -> None:
    with begun(tmp_path) as old:
        old.append(attempt("old"))
        with opened(tmp_path) as new:
            new.append(attempt("new"))
            late(old, attempt("late"))
            assert read_history(tmp_path, "film").attempts == {"old": 1, "new": 1}
            new.append(attempt("new"))  # behind it
            late(old, attempt("late"))
            late(old, attempt("later"))
            new.append({"parameters": "given"}, value="1")
            late(old, attempt("late"))
    history = read_history(tmp_path, "film")
    assert (history.attempts, history.parameters) == ({"old": 1, "new": 2}, 1)
    assert history.lines == 8
    with opened(tmp_path) as log:
        assert (log.late, log.dropped) == ((4, 6, 7, 9), None)
        log.append(attempt("next"))
        assert log.history.lines == 9


def test_what_a_run_leaves_that_does_not_look_is_late_line_by_line(tmp_path: Path) -> None:
    with begun(tmp_path) as old, opened(tmp_path) as new:
        checksum = old.next_line(attempt("x")).follows
        lines = []
        for record in (attempt("late"), attempt("later"), {**attempt("last"), "owner": {}}):
            line, checksum = framed(json.dumps(record), checksum)
            lines.append(line)
        new.append(attempt("new"))
        with new.path.open("ab") as file:
            file.write(b"".join(lines))
        new.append(attempt("new"))
        assert new.history.lines == 6
    assert read_history(tmp_path, "film").attempts == {"new": 2}
    with opened(tmp_path) as log:
        assert log.late == (3, 4, 5)


def test_a_torn_line_behind_a_late_one_is_dropped(tmp_path: Path) -> None:
    for torn, doubtful in ((b"half a li", False), (b"00000000 {}\n", True)):
        workspace = tmp_path / str(doubtful)
        workspace.mkdir()
        with begun(workspace) as old, opened(workspace) as new:
            new.append(attempt("new"))
            sound = new.path.read_bytes()
            late(old, attempt("late"))
            with new.path.open("ab") as file:
                file.write(torn)
            with pytest.raises(CommitError, match="something else has written to it since"):
                new.append(attempt("new"))
        with opened(workspace) as log:
            assert (log.late, log.dropped) == ((3,), 4 if doubtful else None)
        assert (workspace / "state.log").read_bytes() == sound


def test_a_resume_says_which_lines_count_for_nothing(tmp_path: Path) -> None:
    with begun(tmp_path) as old, opened(tmp_path) as new:
        new.append(attempt("research"))
        late(old, attempt("research"))

    notes = Notes()
    film().resume(tmp_path, progress=notes)
    (note,) = notes.notes
    assert note == (
        f"{tmp_path}/state.log, line 3: written by a run after another one had taken the workspace "
        "over: it counts for nothing."
    )


@pytest.mark.parametrize("place", range(2))
def test_damage_is_damage_whoever_owns_the_log(place: int) -> None:
    """A line of the present owner that stands twice, or is altered, is no late one."""
    owned = {"attempt": "b", "owner": {"token": 2, "pid": 1, "host": "h"}}
    data = log_of([FIRST, attempt("a"), owned, attempt("c"), attempt("d")])
    lines = data.splitlines(keepends=True)
    doubled = [*lines[:4], lines[3], lines[4]]
    altered = [*lines[:3], lines[3].replace(b"c", b"x"), lines[4]]
    with pytest.raises(DamagedStateError) as caught:
        parse(b"".join((doubled, altered)[place]), lines[0], Path("state.log"))
    assert caught.value.line == (5, 4)[place]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 1, 2]),
            st.sampled_from(["open", "append", "append", "prepare", "late"]),
        ),
        min_size=10,
        max_size=40,
    )
)
@pytest.mark.usefixtures("no_syncs")
def test_of_runs_that_know_nothing_of_each_other_the_log_holds_what_they_were_told_it_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """``prepare`` and ``late``: one looks, sleeps for any time, and writes what it had in hand."""
    workspace = tmp_path_factory.mktemp("w")
    begun(workspace).close()
    runs: dict[int, StateLog] = {}
    prepared: dict[int, tuple[str, bytes]] = {}
    committed: list[str] = []
    for number, (run, step) in enumerate(steps):
        name = f"s{number}"
        if step == "open" or run not in runs:
            if run in runs:
                runs[run].close()
            prepared.pop(run, None)
            runs[run] = opened(workspace)
            assert list(runs[run].history.attempts) == committed
        if step == "append":
            prepared.pop(run, None)  # one at a time
            try:
                runs[run].append(attempt(name))
            except TakenOverError:
                continue
            committed.append(name)
        elif step == "prepare":
            prepared[run] = (name, runs[run].next_line(attempt(name)).data)
        elif run in prepared:
            name, line = prepared.pop(run)
            log = runs[run]
            with log.path.open("ab") as file:
                file.write(line)
            # If nobody has written since, it was not late; its run knows nothing of it, and ends.
            if list(log.history.attempts) == committed:
                committed.append(name)
            log.close()
            del runs[run]
        assert list(read_history(workspace, "film").attempts) == committed
    for log in runs.values():
        log.close()


# --- to look and to write are one act ---


def test_a_run_that_is_stopped_within_an_append_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    refused: list[str] = []

    def meanwhile(descriptor: int, data: Any) -> int:
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(WorkspaceInUseError) as caught:
            opened(tmp_path)
        refused.append(str(caught.value))
        with pytest.raises(CommitError, match="cannot append: another run is just writing to it"):
            other.append(attempt("other"))
        return write(descriptor, data)

    with begun(tmp_path) as log, opened(tmp_path) as other:
        monkeypatch.setattr(os, "write", meanwhile)
        log.append(attempt("a"))
    assert refused[0].startswith(f"{log.path}: the workspace is in use by a run that is just writ")
    assert read_history(tmp_path, "film").attempts == {"a": 1}


def test_where_no_file_can_be_locked_a_line_that_came_too_late_is_known_to_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))

    def meanwhile(descriptor: int, data: Any) -> int:
        monkeypatch.setattr(os, "write", write)
        new.append(attempt("new"))
        return write(descriptor, data)

    with begun(tmp_path) as old, opened(tmp_path) as new:
        monkeypatch.setattr(os, "write", meanwhile)
        with pytest.raises(CommitError, match="written to it at the same moment: another run, on"):
            old.append(attempt("old"))
        assert not old.usable
        new.append(attempt("new"))
    assert read_history(tmp_path, "film").attempts == {"new": 2}


def test_where_no_file_can_be_locked_nothing_of_another_run_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    sync = os.fdatasync

    def meanwhile(descriptor: int) -> None:
        monkeypatch.setattr(os, "fdatasync", sync)
        with opened(tmp_path) as new:
            new.append(attempt("new"))
        failing(errno.EIO)()

    with begun(tmp_path) as old:
        monkeypatch.setattr(os, "fdatasync", meanwhile)
        with pytest.raises(CommitError, match="cannot append: Input/output") as caught:
            old.append(attempt("old"))
    assert caught.value.__notes__ == ["something else has written to it: nothing was taken back."]
    assert read_history(tmp_path, "film").attempts == {"old": 1, "new": 1}


def test_a_child_that_was_forked_holds_no_lock_and_closes_nothing_of_its_own(
    tmp_path: Path,
) -> None:
    with begun(tmp_path) as log:
        descriptor = log._descriptor
        child = os.fork()
        if not child:
            try:
                os.fstat(descriptor)
            except OSError:
                os.dup2(os.open("/dev/null", os.O_RDONLY), descriptor)
                log.close()
                os.fstat(descriptor)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        log.append(attempt("a"))


# --- what lies beside the log ---


def test_no_run_sweeps_what_a_newer_one_has_made(tmp_path: Path) -> None:
    from checkpoint_runtime.codec import Attachment
    from checkpoint_runtime.state.referred import Referred

    none = Referred({})
    for owner in (1, 2, 3):
        SideFiles(tmp_path, owner).write([Attachment("bin", [b"x"])], 7, none, str)
        (Scratch(tmp_path, owner).directory("render") / "file").touch()
    owned: list[str] = []
    SideFiles(tmp_path, 2).sweep(none, lambda: owned.append("files"))
    Scratch(tmp_path, 2).sweep(lambda: owned.append("scratch"))
    assert sorted(os.listdir(tmp_path / "values")) == ["line-7-2-1.bin", "line-7-3-1.bin"]
    assert sorted(os.listdir(tmp_path / ".scratch")) == ["2-render", "3-render"]
    assert owned == ["files", "scratch"]


def test_before_anything_of_an_older_run_is_removed_that_one_is_kept_out(tmp_path: Path) -> None:
    """Else it could commit what names a file that is gone."""
    pipeline = Pipeline("film")
    pipeline.stage(name="work")(lambda context: bytes(100_000))
    pipeline.run(tmp_path)
    (tmp_path / "values" / "line-9-1-1.bin").write_bytes(b"of a run that is stopped before its com")
    with opened(tmp_path) as old:
        pipeline.resume(tmp_path)
        assert len(os.listdir(tmp_path / "values")) == 1
        with pytest.raises(TakenOverError):
            old.append(attempt("old"))


OLD = """
import os, signal, sys
from checkpoint_runtime import CheckpointRuntimeError, Pipeline
film = Pipeline("film")

@film.stage
def research(context):
    (context.scratch / "file").touch()
    os.kill(os.getpid(), signal.SIGSTOP)
    return b"old" * 100_000

try:
    film.run(sys.argv[1])
except CheckpointRuntimeError as error:
    print(type(error).__name__, error)
"""


def test_a_stopped_run_whose_lock_was_removed_wakes_up_beside_a_newer_one(tmp_path: Path) -> None:
    def work(context: Context) -> bytes:
        (context.scratch / "file").touch()
        os.kill(old.pid, signal.SIGCONT)
        said.extend(old.communicate(timeout=DEADLINE_S)[0].splitlines())
        assert (context.scratch / "file").exists()
        return b"new" * 100_000

    said: list[str] = []
    pipeline = Pipeline("film")
    pipeline.stage(name="research")(work)
    with (
        subprocess.Popen(
            [sys.executable, "-c", OLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as old,
        in_time(old),
    ):
        assert os.WIFSTOPPED(os.waitpid(old.pid, os.WUNTRACED)[1])
        with pytest.raises(WorkspaceInUseError, match=f"in use by process {old.pid} on "):
            pipeline.resume(tmp_path)
        (tmp_path / "lock").unlink()
        assert pipeline.resume(tmp_path)["research"] == b"new" * 100_000
    assert len(said) == 1
    assert said[0].startswith(f"TakenOverError {tmp_path}/state.log: cannot append: another run ")
    assert f"(process {os.getpid()} on " in said[0]
    handoff = json.loads((tmp_path / "handoff.json").read_bytes())
    assert [entry["name"] for entry in handoff["done"]] == ["research"]
    pipeline.resume(tmp_path)
    assert dict(pipeline.results(tmp_path)) == {"research": b"new" * 100_000}


def test_a_late_line_stands_among_the_others_as_one_that_says_nothing() -> None:
    assert json.loads(LATE) == {"late": True}
