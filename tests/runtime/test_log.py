"""The log on disk: commits, repair, and the faults of the file system."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import CommitError, DamagedStateError, ForeignStateError, StateError
from checkpoint_runtime.state.fresh import LOG_NAME as FILE_NAME
from checkpoint_runtime.state.log import StateLog, read_history
from checkpoint_runtime.state.records import first_record
from tests.runtime.disk import Disk, failing, full_after, on
from tests.runtime.support import film, log_of, records_of

FIRST = dict(first_record("film"))
ATTEMPT = {"attempt": "a"}


def begun(workspace: Path) -> StateLog:
    log = StateLog(workspace, "film")
    if log.history.lines == 0:
        log.append(FIRST)
    return log


def test_what_is_appended_is_known_at_once_and_to_the_next_process(tmp_path: Path) -> None:
    with begun(tmp_path) as log:
        log.append(ATTEMPT)
        log.append({"parameters": "given"}, value='{"x": 1}')
        assert (log.history.attempts, log.history.parameters) == ({"a": 1}, {"x": 1})
    for found in (StateLog(tmp_path, "film").history, read_history(tmp_path, "film")):
        assert (found.lines, found.attempts, found.parameters) == (3, {"a": 1}, {"x": 1})


def test_reading_changes_nothing_and_needs_no_log(tmp_path: Path) -> None:
    assert read_history(tmp_path, "film").lines == 0
    assert not list(tmp_path.iterdir())
    torn = log_of([FIRST, ATTEMPT])[:-3]
    (tmp_path / FILE_NAME).write_bytes(torn)
    assert read_history(tmp_path, "film").lines == 1
    assert (tmp_path / FILE_NAME).read_bytes() == torn


def test_opening_repairs_a_torn_tail_and_makes_durable_what_it_found(tmp_path: Path) -> None:
    sound = log_of([FIRST, ATTEMPT])
    (tmp_path / FILE_NAME).write_bytes(sound + b"half a li")
    with on(Disk()) as disk:
        log = StateLog(tmp_path, "film")
    assert (tmp_path / FILE_NAME).read_bytes() == sound
    assert disk.order == ["open", "ftruncate", "fsync", "open", "fsync"]  # the directory's last
    log.append(ATTEMPT)
    log.close()
    assert read_history(tmp_path, "film").attempts == {"a": 2}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"notes for monday", DamagedStateError),
        (b"42", DamagedStateError),
        (bytes(range(250, 256)) + b"\0\xff\n" + bytes(range(50)), DamagedStateError),
        (log_of([FIRST, ATTEMPT, ATTEMPT]).replace(b"a", b"b", 1), DamagedStateError),
        (log_of([{**FIRST, "pipeline": "song"}]), ForeignStateError),
        (log_of([{**FIRST, "pipeline": "song"}]) + b"torn", ForeignStateError),
        (log_of([{**FIRST, "format": 5}, {"heart": "beat"}]), ForeignStateError),
        (log_of([FIRST, {"heart": "beat"}]) + b"torn", ForeignStateError),
    ],
)
def test_a_refused_file_is_left_as_it_was(
    tmp_path: Path, data: bytes, error: type[Exception]
) -> None:
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(error):
        StateLog(tmp_path, "film")
    with pytest.raises(error):
        film().run(tmp_path)
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {FILE_NAME: data, "lock": b""}


def test_an_empty_file_is_a_log_that_was_just_made(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    assert film().run(tmp_path)["assemble"] == 42


def test_a_directory_in_its_place_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    for meet in (StateLog, read_history):
        with pytest.raises(StateError) as caught:
            meet(tmp_path, "film")
        assert str(caught.value) == (
            f"{tmp_path / FILE_NAME}: cannot be opened or read: Is a directory. Nothing was run."
        )


def test_an_append_is_one_write_and_one_sync(tmp_path: Path) -> None:
    with begun(tmp_path) as log, on(Disk()) as disk:
        log.append(ATTEMPT)
    assert disk.order == ["write", "fdatasync"]


def test_a_line_that_was_made_before_is_added_unless_another_was_added_since(
    tmp_path: Path,
) -> None:
    with begun(tmp_path) as log:
        line = log.next_line(ATTEMPT)
        assert len(records_of(tmp_path)) == 1  # that changed nothing
        log.add(line)
        with pytest.raises(CommitError, match="another line has been added since"):
            log.add(line)
        log.append({"released": "a"})
    assert read_history(tmp_path, "film").attempts == {"a": 0}


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with begun(tmp_path) as log, monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
        log.append(ATTEMPT)
    assert read_history(tmp_path, "film").attempts == {"a": 1}


def refused(log: StateLog, patch: pytest.MonkeyPatch, **calls: Any) -> CommitError:
    """Append while these calls fail."""
    with patch.context() as inner:
        for name, call in calls.items():
            inner.setattr(os, name, call)
        with pytest.raises(CommitError) as caught:
            log.append(ATTEMPT)
    assert log.history.attempts == {}
    return caught.value


def assert_takes_nothing_more(log: StateLog) -> None:
    """Although every call works again."""
    assert not log.usable
    with pytest.raises(CommitError, match="an earlier write of this process failed"):
        log.append(ATTEMPT)
    assert log.history.attempts == {}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_takes_the_half_line_back_and_says_how_much_room_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    write = full_after(5) if number == errno.ENOSPC else failing(number)
    with begun(tmp_path) as log:
        error = refused(log, monkeypatch, write=write)
        assert (tmp_path / FILE_NAME).read_bytes() == log_of([FIRST])
        log.append({"released": "a"})  # the file is as before, and that is durable
    assert records_of(tmp_path) == [FIRST, {"released": "a"}]
    assert error.needed_bytes == len(log_of([FIRST, ATTEMPT])) - len(log_of([FIRST]))
    assert error.free_bytes > 1000
    assert str(error) == (
        f"{tmp_path / FILE_NAME}: cannot append: {os.strerror(number)}: {error.needed_bytes} bytes "
        f"are needed, {error.free_bytes:,} are free. What was to be recorded is not; the state is "
        "as before. Make room, then resume."
    )


def test_a_line_whose_sync_failed_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(tmp_path) as log:
        error = refused(log, monkeypatch, fdatasync=failing(errno.EIO))
        assert_takes_nothing_more(log)
    assert "cannot append: Input/output error. What was to be recorded is not" in str(error)
    assert not hasattr(error, "__notes__")
    assert error.needed_bytes is None
    assert (tmp_path / FILE_NAME).read_bytes() == log_of([FIRST])


def test_a_short_write_that_cannot_be_taken_back_is_no_beginning_of_another_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(tmp_path) as log:
        refused(log, monkeypatch, write=full_after(5), ftruncate=failing(errno.EIO))
        assert_takes_nothing_more(log)


def test_a_line_that_cannot_be_taken_back_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = failing(errno.EIO)
    with begun(tmp_path) as log:
        error = refused(log, monkeypatch, fdatasync=broken, fsync=broken)
        assert_takes_nothing_more(log)
    assert error.__notes__ == [
        "what was written of it could not be taken back either: Input/output error"
    ]


def test_an_interrupt_within_an_append_leaves_a_log_that_takes_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    with begun(tmp_path) as log, monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            log.append(ATTEMPT)
        patch.undo()
        with pytest.raises(CommitError, match="failed or was interrupted"):
            log.append(ATTEMPT)
    assert len(records_of(tmp_path)) == 2  # the line stands there, and the next run finds it


def test_a_child_process_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(tmp_path) as log:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert not log.usable
        with pytest.raises(CommitError, match="this is a child of the process that runs the pipe"):
            log.append(ATTEMPT)
        monkeypatch.undo()
        log.append(ATTEMPT)
    assert read_history(tmp_path, "film").attempts == {"a": 1}


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda path: path.unlink(), "it has been removed since this run began"),
        (lambda path: path.rename(path.with_name("other")).unlink(), "it has been removed"),
        (lambda path: os.truncate(path, 0), "something else has written to it since this run be"),
        (
            lambda path: path.write_bytes(path.read_bytes() + b"x"),
            "something else has written to it",
        ),
    ],
)
def test_nothing_is_added_to_a_log_that_is_not_as_it_was_left(
    tmp_path: Path, harm: Any, problem: str
) -> None:
    """Say a stage removes its workspace, or a second process is at work in it."""
    with begun(tmp_path) as log:
        harm(tmp_path / FILE_NAME)
        before = [path.read_bytes() for path in tmp_path.iterdir()]
        with pytest.raises(CommitError, match=f"cannot append: {problem}.*What was to be recorded"):
            log.append(ATTEMPT)
        assert [path.read_bytes() for path in tmp_path.iterdir()] == before


SMALL_DISK = """
import sys
from checkpoint_runtime import CommitError, Pipeline
film = Pipeline("film")
film.stage(name="small")(lambda context: 1)
film.stage(name="large")(lambda context: "x" * 50_000)
workspace, filler = sys.argv[1] + "/w", sys.argv[1] + "/filler"
with open(filler, "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        file.truncate(file.tell() - 40_960)
try:
    film.run(workspace)
except CommitError as error:
    print(error)
import os
os.unlink(filler)
print(dict(film.results(workspace)), film.resume(workspace)["large"] == "x" * 50_000)
"""


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-e", "-c",
         'mount -t tmpfs -o size=256k none "$1"; exec "$2" -c "$3" "$1"',
         "sh", str(tmp_path), sys.executable, SMALL_DISK],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if "unshare" in mounted.stderr or "mount:" in mounted.stderr:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    assert mounted.returncode == 0, mounted.stderr
    sentence, results = mounted.stdout.splitlines()
    assert sentence.startswith(f"{tmp_path}/w/state.log: cannot append: No space left on device: 5")
    assert " bytes are needed, " in sentence
    assert "The state is as before" in sentence or "the state is as before" in sentence
    assert results == "{'small': 1} True"
