"""Beats of real workers: while the GIL is held, stopped, killed, and what must not stop them."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from pathlib import Path

import pytest

from checkpoint_runtime import DefinitionError
from checkpoint_runtime.liveness import Beat, BeatState, Heartbeat, beater, beater_process
from checkpoint_runtime.liveness.heartbeat_file import read_beat
from checkpoint_runtime.liveness.late_start import can_start_late
from checkpoint_runtime.liveness.page import Page
from tests.runtime.liveness.workers import (
    INTERVAL_S,
    Worker,
    ends,
    started_worker,
    until,
    watched_for,
)


def beat_in(workspace: Path) -> Beat:
    found = read_beat(workspace, "main")
    assert isinstance(found, Beat)
    return found


def test_it_goes_on_while_a_call_in_c_holds_the_gil(tmp_path: Path) -> None:
    with Heartbeat(tmp_path, interval_s=INTERVAL_S) as heartbeat:
        heartbeat.stage("load")
        until(lambda: beat_in(tmp_path).number > 1)
        begun_s = time.monotonic()
        ctypes.PyDLL(None).usleep(600_000)
        beat, ended_s = beat_in(tmp_path), time.monotonic()
    assert begun_s + 0.1 < beat.monotonic_s <= ended_s
    assert (beat.stage, beat.state) == ("load", BeatState.RUNNING)


def test_a_beat_tells_who_beats_and_how_far_it_is(tmp_path: Path) -> None:
    with Heartbeat(tmp_path, interval_s=60) as heartbeat:
        heartbeat.stage("load")
        heartbeat.advance(3, total=10)
        heartbeat.advance()
        heartbeat.stage("sort “it”")
    beat = beat_in(tmp_path)
    assert beat.who.pid == os.getpid()
    found = beater.look(os.getpid())
    assert found is not None
    assert beat.who.start_ticks == found[1]
    assert (beat.number, beat.state, beat.stage) == (2, BeatState.FINISHED, "sort “it”")
    assert (beat.progress, beat.done, beat.total) == (4, None, None)


def test_the_beater_tells_what_the_worker_is_at(tmp_path: Path) -> None:
    with Heartbeat(tmp_path, interval_s=INTERVAL_S) as heartbeat:
        heartbeat.stage("load")
        heartbeat.advance(3, total=10)
        until(lambda: beat_in(tmp_path).done == 3)
        heartbeat.stage("x" * 500)
        until(lambda: beat_in(tmp_path).stage == "x" * 200)
        assert (beat_in(tmp_path).progress, beat_in(tmp_path).done) == (3, None)


def test_nobody_beats_for_a_worker_that_is_stopped(worker: Worker) -> None:
    worker.stop()
    before = worker.beat
    watched_for(6 * INTERVAL_S)
    # One may have been under way when it was stopped.
    assert worker.beat.number <= before.number + 1
    os.kill(worker.pid, signal.SIGCONT)
    worker.beats_again()


def test_a_worker_that_is_killed_takes_its_beater_with_it(worker: Worker) -> None:
    its = os.pidfd_open(worker.beater)
    try:
        # Stopped before, so that no beat is under way.
        worker.stop()
        watched_for(2 * INTERVAL_S)
        before = worker.beat
        worker.process.kill()
        poll = select.poll()
        poll.register(its)
        assert poll.poll(30_000)
    finally:
        os.close(its)
    assert worker.beat == before


def test_what_is_meant_for_the_worker_does_not_end_its_beats(worker: Worker) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        os.kill(worker.beater, number)
    worker.beats_again()


def test_it_ends_with_the_worker_and_leaves_nothing(worker: Worker) -> None:
    its = worker.beater
    descriptor = os.pidfd_open(its)
    os.kill(worker.pid, signal.SIGUSR1)
    assert worker.process.wait(30) == 0
    assert worker.beat.state is BeatState.FINISHED
    os.close(descriptor)
    with pytest.raises(ProcessLookupError):
        os.kill(its, 0)
    assert os.listdir(worker.workspace / "heartbeats") == ["main.json"]


def test_a_beater_that_is_killed_is_replaced_and_that_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    with Heartbeat(tmp_path, interval_s=INTERVAL_S, note=notes.append) as heartbeat:
        heartbeat.stage("load")
        for _ in range(2):
            its = child()
            os.kill(its, signal.SIGKILL)
            ends(its)
            before = beat_in(tmp_path).number
            heartbeat.stage("load")
            until(lambda: beat_in(tmp_path).number > before)  # noqa: B023 - called at once
    assert notes == ["the process that beats is gone (killed?): another one is started."]
    assert beat_in(tmp_path).state is BeatState.FINISHED


def test_the_beater_starts_late_and_beats_in_time(tmp_path: Path) -> None:
    """A job that is over before costs no second Python."""
    with Heartbeat(tmp_path, interval_s=1.4) as heartbeat:
        begun_s = time.monotonic()
        heartbeat.stage("load")
        its = child()
        first = command_of(its)
        until(lambda: beat_in(tmp_path).number > 1)
        assert beat_in(tmp_path).monotonic_s >= begun_s + 1.3
        assert "beater.py" in command_of(its)
    assert first.startswith("/bin/sh") is can_start_late()


def test_one_that_has_not_started_ends_with_its_worker_too(tmp_path: Path) -> None:
    with started_worker(tmp_path, interval_s=60, beats=1) as worker:
        until(lambda: len(worker.children) == 1)
        descriptor = os.pidfd_open(worker.beater)
        try:
            worker.process.kill()
            assert select.select([descriptor], [], [], 30)[0]
        finally:
            os.close(descriptor)
        assert worker.beat.number == 1


def test_where_there_is_no_such_shell_it_starts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beater_process, "can_start_late", lambda: False)
    with Heartbeat(tmp_path, interval_s=60) as heartbeat:
        heartbeat.stage("load")
        assert "beater.py" in command_of(child())
        assert not command_of(child()).startswith("/bin/sh")


def test_without_a_descriptor_of_a_process_a_pipe_ties_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int) -> int:
        raise PermissionError(1, "refused")

    descriptors = len(os.listdir("/proc/self/fd"))
    with Heartbeat(tmp_path, interval_s=INTERVAL_S) as heartbeat:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pidfd_open", refused)
            heartbeat.stage("load")
        until(lambda: beat_in(tmp_path).number > 2)
    assert len(os.listdir("/proc/self/fd")) == descriptors


def command_of(pid: int) -> str:
    file = Path(f"/proc/{pid}/cmdline")
    until(lambda: bool(file.read_bytes()))  # it is empty while the program is only being loaded
    return file.read_text().replace("\0", " ")


def child() -> int:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return int(children[-1])


@pytest.mark.parametrize("program", ["", "/usr/bin/uwsgi", "/nowhere/python3"])
def test_without_a_beater_there_are_beats_between_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr("sys.executable", program)
    notes: list[str] = []
    with Heartbeat(tmp_path, interval_s=0.01, note=notes.append) as heartbeat:
        heartbeat.stage("one")
        watched_for(0.02)
        heartbeat.stage("two")
        assert beat_in(tmp_path).stage == "two"
        assert beat_in(tmp_path).number > 1
    assert len(notes) == 1
    assert "no process can be started that beats" in notes[0]


def test_a_child_that_the_worker_forks_neither_advances_nor_ends_it(tmp_path: Path) -> None:
    with Heartbeat(tmp_path, interval_s=60) as heartbeat:
        heartbeat.stage("load")
        pid = os.fork()
        if pid == 0:
            heartbeat.advance(99)
            heartbeat.end(BeatState.FAILED)
            os._exit(0)
        os.waitpid(pid, 0)
        assert beat_in(tmp_path).state is BeatState.RUNNING
        heartbeat.advance()
    assert (beat_in(tmp_path).progress, beat_in(tmp_path).number) == (1, 2)


@pytest.mark.parametrize("what", ["folder", "file", "spare"])
def test_what_stands_in_the_way_is_said_once_and_left(tmp_path: Path, what: str) -> None:
    places = {
        "folder": tmp_path / "heartbeats",
        "file": tmp_path / "heartbeats" / "main.json" / "x",
        "spare": tmp_path / "heartbeats" / ".main.json.spare" / "x",
    }
    places[what].parent.mkdir(parents=True, exist_ok=True)
    places[what].write_text("mine")
    notes: list[str] = []
    with Heartbeat(tmp_path, interval_s=INTERVAL_S, note=notes.append) as heartbeat:
        heartbeat.stage("load")
        heartbeat.advance()
    assert len(notes) == 1
    assert str(tmp_path) in notes[0]
    assert places[what].read_text() == "mine"


def test_what_keeps_the_beater_from_writing_is_said_by_the_worker(tmp_path: Path) -> None:
    notes: list[str] = []
    with Heartbeat(tmp_path, interval_s=INTERVAL_S, note=notes.append) as heartbeat:
        heartbeat.stage("load")
        heartbeat.path.unlink()
        heartbeat.path.mkdir()
        deadline_s = time.monotonic() + 30
        while not notes:
            assert time.monotonic() < deadline_s
            watched_for(0.01)
            heartbeat.advance()
        heartbeat.path.rmdir()
    assert notes == [
        f"the heartbeat {heartbeat.path} cannot be written: Is a directory. The job goes on."
    ]
    assert beat_in(tmp_path).state is BeatState.FINISHED


def test_a_beat_that_finds_no_room_leaves_the_one_before_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "main.json"
    beater.replace(str(path), b"before")
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr("posix.write", lambda descriptor, data: write(descriptor, data[:3]))
        with pytest.raises(OSError, match="No space left"):
            beater.replace(str(path), b"behind")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["main.json"]


def test_a_page_that_is_being_written_is_not_read() -> None:
    page = Page(7, b"first", b"last")
    try:
        content = os.pread(page.descriptor, beater.PAGE_BYTES, 0)
        assert beater.texts_in(content) == (b"first", b"last")
        page.stage(b"longer than before")
        page.stage(b"short")
        page.count(3, 2, -1)
        content = os.pread(page.descriptor, beater.PAGE_BYTES, 0)
        assert beater.texts_in(content) == (b"first", b"short")
        assert beater.texts_in(bytes([content[0] | 1]) + content[1:]) is None
        assert beater.counts_in(content) == [3, 2, -1]
        assert (page.number, page.problem) == (7, 0)
    finally:
        page.close()


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "x" * 101])
def test_a_name_that_no_file_could_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DefinitionError, match="cannot be the name of a worker"):
        Heartbeat(tmp_path, name)


@pytest.mark.parametrize("interval_s", [0, -1, float("nan"), float("inf"), True, "5"])
def test_an_interval_that_is_none_is_refused(tmp_path: Path, interval_s: float) -> None:
    with pytest.raises(DefinitionError, match="between beats"):
        Heartbeat(tmp_path, interval_s=interval_s)


@pytest.mark.parametrize(("by", "total"), [(-1, None), (1.5, None), (True, None), (1, -1)])
def test_an_advance_that_is_none_is_refused(tmp_path: Path, by: int, total: int | None) -> None:
    with pytest.raises(DefinitionError, match="no number from 0 on"):
        Heartbeat(tmp_path).advance(by, total)
