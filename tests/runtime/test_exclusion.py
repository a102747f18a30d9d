"""One writer per workspace: the second is refused at once, and the dead hold nothing."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from checkpoint_runtime import CommitError, WorkspaceError, WorkspaceInUseError
from checkpoint_runtime.exclusion import lock as lock_module
from checkpoint_runtime.exclusion.lock import WorkspaceLock
from checkpoint_runtime.exclusion.owner import Owner, may_be_replaced, owner_in
from checkpoint_runtime.processes import start_ticks
from tests.runtime.disk import failing
from tests.runtime.support import DEADLINE_S, film, in_time

HOLDER = """
import os, sys
from pathlib import Path
from checkpoint_runtime.exclusion.lock import WorkspaceLock
with WorkspaceLock(Path(sys.argv[1]), print):
    {within}
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(workspace: Path, within: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the workspace until its stdin is closed, or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(within=within), str(workspace)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process, in_time(process):  # fmt: skip
        assert the(process.stdout).readline() == "held\n"
        yield process


def the(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def taken(workspace: Path, note: Callable[[str], None] = pytest.fail) -> WorkspaceLock:
    return WorkspaceLock(workspace, note)


def refusal(workspace: Path) -> str:
    with pytest.raises(WorkspaceInUseError) as caught, taken(workspace):
        pytest.fail("two hold it")
    assert caught.value.path == workspace / "lock"
    return str(caught.value)


def test_who_comes_second_is_told_who_holds_it_and_what_to_do(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(WorkspaceInUseError) as caught:
            film().run(tmp_path)
        owner = owner_in((tmp_path / "lock").read_bytes())
        assert owner is not None
        assert (owner.pid, owner.started) == (process.pid, start_ticks(process.pid))
    assert caught.value.pid == process.pid
    assert sorted(os.listdir(tmp_path)) == ["lock"]
    assert str(caught.value) == (
        f"{tmp_path}/lock: the workspace is in use by process {process.pid} on {owner.host} "
        f"(`{owner.command}`), since {owner.since}. Nothing was run: wait until that run ends, or "
        "end it. The lock is free the moment its process is gone; to remove the file is of no use."
    )
    assert owner.command.startswith(sys.executable)
    assert film().run(tmp_path)["assemble"] == 42


def test_it_is_free_once_it_was_given_back_and_then_nobody_is_named(tmp_path: Path) -> None:
    for _ in range(2):
        with taken(tmp_path):
            assert owner_in((tmp_path / "lock").read_bytes()) is not None
        assert (tmp_path / "lock").read_bytes() == b""


def test_a_second_run_of_the_same_process_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with taken(tmp_path):
        for folder in (tmp_path, tmp_path / "link"):
            assert "another run of this process is at work here: a stage cannot" in refusal(folder)


def test_a_killed_holder_holds_nothing_whatever_it_has_left_in_the_file(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait(DEADLINE_S)
        left = owner_in((tmp_path / "lock").read_bytes())
        assert left is not None
        assert left.pid == process.pid
        with taken(tmp_path):
            now = owner_in((tmp_path / "lock").read_bytes())
            assert now is not None
            assert now.pid == os.getpid()


def test_a_stopped_holder_is_not_robbed(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert f"in use by process {process.pid} " in refusal(tmp_path)


@pytest.mark.parametrize(
    "within",
    [
        # A worker of a pool, say: forked, and still there when the job is dead.
        "if not os.fork(): os.read(0, 1); os._exit(0)",
        "import subprocess; subprocess.Popen([sys.executable, '-c', 'input()'], close_fds=False)",
    ],
    ids=["forked", "started"],
)
def test_what_a_dead_holder_leaves_running_holds_nothing(tmp_path: Path, within: str) -> None:
    with holder(tmp_path, within) as process:
        assert f"in use by process {process.pid} " in refusal(tmp_path)
        child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        process.kill()
        process.wait(DEADLINE_S)
        started = start_ticks(child)
        with taken(tmp_path):
            assert start_ticks(child) == started is not None


RACER = """
import fcntl, sys
from pathlib import Path
from checkpoint_runtime import WorkspaceInUseError
from checkpoint_runtime.exclusion.lock import WorkspaceLock
for line in sys.stdin:
    workspace = Path(line.strip())
    with open(workspace / "gate") as gate:
        print("ready", flush=True)
        fcntl.flock(gate, fcntl.LOCK_SH)
    try:
        with WorkspaceLock(workspace, print):
            print("works", flush=True)
            sys.stdin.readline()
    except WorkspaceInUseError as error:
        print(error.pid, flush=True)
        sys.stdin.readline()
"""


def test_two_that_start_in_the_same_instant(tmp_path: Path) -> None:
    """Both wait for one gate: exactly one works, and the other says who that is."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]

    def tell(line: str) -> None:
        for racer in racers:
            the(racer.stdin).write(line)
            the(racer.stdin).flush()

    def said() -> list[str]:
        return [the(racer.stdout).readline().strip() for racer in racers]

    with in_time(*racers):
        for number in range(20):
            workspace = tmp_path / str(number)
            workspace.mkdir()
            with (workspace / "gate").open("w") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)
                tell(f"{workspace}\n")
                assert said() == ["ready", "ready"]
            answers = said()
            winner = answers.index("works")
            assert answers[1 - winner] == str(racers[winner].pid)
            tell("go on\n")
    for racer in racers:
        racer.communicate()


def test_a_file_that_was_replaced_meanwhile_is_not_what_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two processes hold two files of one name."""
    flock = fcntl.flock
    replaced: list[int] = []

    def replacing(descriptor: int, operation: int) -> None:
        if not replaced:
            replaced.append(descriptor)
            (tmp_path / "lock").unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replacing)
    with taken(tmp_path):
        monkeypatch.undo()
        assert "of this process" in refusal(tmp_path)


def test_who_holds_it_is_told_as_it_is_where_it_cannot_be_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "_TELLS_WITHIN_S", 0)
    with taken(tmp_path):
        ours = json.loads((tmp_path / "lock").read_bytes())

        def refused(**other: Any) -> str:
            (tmp_path / "lock").write_text(json.dumps({**ours, **other}) + "\n")
            return refusal(tmp_path)

        assert "in use by process 7 on elsewhere (`" in refused(host="elsewhere", pid=7)
        unseen = "by a process that cannot be seen from here; the last one to say so was process 1 "
        assert unseen in refused(pid=1)
        assert unseen.replace("1 ", str(os.getpid())) in refused(started=1)
        (tmp_path / "lock").write_text("{}")
        assert "in use by a process that has not said who it is. Nothing" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\0" * 300, b'{"pi', b'{"pid": 4, "started": nul'])
def test_what_a_crash_leaves_in_the_file_is_written_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock").write_bytes(content)
    with taken(tmp_path):
        assert Owner.this_process().line() in (tmp_path / "lock").read_bytes()
        assert (tmp_path / "lock").read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("content", [b"my notes\n", b"[1]\n", b'3ee00cb2 {"format": 4}\n'])
def test_a_file_of_somebody_else_is_locked_and_left_as_it_is(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "lock").write_bytes(content)
    notes: list[str] = []
    with taken(tmp_path, notes.append):
        assert len(notes) == 1
        assert "holds something that is not ours: it is left as it is." in notes[0]
    assert (tmp_path / "lock").read_bytes() == content


@pytest.mark.parametrize("call", ["pread", "pwrite", "ftruncate"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_that_nobody_can_be_told_is_no_reason_not_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    (tmp_path / "lock").write_bytes(b'{"pid": ' + b"1" * 2000)
    notes: list[str] = []
    monkeypatch.setattr(os, call, failing(number))
    with taken(tmp_path, notes.append):
        pass
    (note,) = notes
    assert note == (
        f"{tmp_path}/lock: who is at work here could not be written there: {os.strerror(number)}. "
        "The workspace is locked all the same."
    )


def test_one_that_may_only_be_read_is_locked_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").touch()
    opened = os.open

    def refusing(path: Path, flags: int, mode: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", refusing)
    notes: list[str] = []
    with taken(tmp_path, notes.append):
        assert "could not be written there: Bad file descriptor" in notes[0]
        assert "has not said who" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path.mkdir(), "lock cannot be opened: Is a directory. Nothing was run."),
        (os.mkfifo, "lock is no ordinary file. Nothing was run."),
        (lambda path: path.symlink_to("/etc/passwd"), "lock cannot be opened: Too many levels of"),
    ],
)
def test_what_is_no_file_of_ours_gets_a_sentence(tmp_path: Path, make: Any, sentence: str) -> None:
    make(tmp_path / "lock")
    with pytest.raises(WorkspaceError, match=sentence), taken(tmp_path):
        pytest.fail("it is held")


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOTSUP, r"no locks \(flock\), and without one two runs could work here at once"),
        (errno.ENOLCK, "Take a workspace on another one"),
        (errno.EIO, r"cannot be locked: Input/output error\. Nothing was run\."),
    ],
)
def test_where_nothing_can_be_locked_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, sentence: str
) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(number))
    before = os.listdir("/proc/self/fd")
    with pytest.raises(WorkspaceError, match=sentence) as caught:
        film().run(tmp_path)
    assert not isinstance(caught.value, WorkspaceInUseError)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_full_disk_on_which_it_cannot_be_made_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", failing(errno.ENOSPC))
    with pytest.raises(CommitError, match="lock: cannot open: No space left on device: 0 bytes"):
        taken(tmp_path).__enter__()


def test_only_what_we_wrote_is_a_record() -> None:
    line = Owner.this_process().line()
    assert owner_in(line) == owner_in(line + b"rest") == Owner.this_process()
    for content in (line[:-1], b"", b"{}\n", b"[]\n", line.replace(b'"pid": ', b'"pid": -.')):
        assert owner_in(content) is None
    assert owner_in(line.replace(b'"host": ', b'"host": 7, "b": ')) is None
    assert owner_in(b'{"pid": "1", "started": 1, "boot": "", "host": "", "command": "", '
                    b'"since": ""}\n') is None  # fmt: skip
    assert not may_be_replaced(b"pid")
