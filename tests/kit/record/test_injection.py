"""An operation fails, or is cut short: that one, whoever makes it, and nothing else."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_checkpoint.record.faults import Injection, can_be_short, injectable, injection_at
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.power_loss.crashes import PowerLoss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import File
from tests.kit.record.warm import QUICK, script

if TYPE_CHECKING:
    from tests.kit.record.conftest import Outcome, Runner

SAVER = """
import os, sys
os.chdir(os.environ["CHECKPOINT_WORKSPACE"])
for i in range(3):
    try:
        fd = os.open("s.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        print(i, "wrote", os.write(fd, b"x" * 1000))
        os.fsync(fd)
        os.close(fd)
        os.replace("s.tmp", f"s-{i}")
    except OSError as error:
        print(i, error.strerror)
"""
BAD, FULL = os.strerror(errno.EIO), os.strerror(errno.ENOSPC)


def saver(runner: Runner) -> tuple[str, ...]:
    return (*QUICK, script(runner, SAVER, "saver.py"))


def said(outcome: Outcome) -> list[str]:
    assert (outcome.result.exit_code, outcome.differences) == (0, []), outcome.result
    return outcome.result.output.splitlines()


def named(operations: Sequence[Operation], call: str, occurrence: int = 1) -> int:
    """The step of an operation."""
    return [one.step for one in operations if one.call == call][occurrence - 1]


WARM = pytest.mark.parametrize("warm", [False, True], ids=["fresh", "warm"])


@WARM
@pytest.mark.parametrize(
    ("call", "occurrence", "expected"),
    [
        ("openat", 2, ["0 wrote 1000", f"1 {BAD}", "2 wrote 1000"]),
        ("write", 3, ["0 wrote 1000", "1 wrote 1000", f"2 {BAD}"]),
        ("fsync", 2, ["0 wrote 1000", "1 wrote 1000", f"1 {BAD}", "2 wrote 1000"]),
        ("rename", 1, ["0 wrote 1000", f"0 {BAD}", "1 wrote 1000", "2 wrote 1000"]),
    ],
)
def test_the_operation_fails_and_no_other(
    runner: Runner, warm: bool, call: str, occurrence: int, expected: list[str]
) -> None:
    control = runner.run(*saver(runner), warm=warm).operations
    step = named(control, call, occurrence)
    outcome = runner.run(
        *saver(runner), warm=warm, injection=injection_at(control, step, errno.EIO)
    )
    assert said(outcome) == expected
    assert outcome.result.fired_at == step
    assert outcome.result.warm is not None if warm else outcome.result.warm is None
    (failed,) = (one for one in outcome.operations if one.error)
    assert (failed.step, failed.call, failed.error, failed.effects) == (step, call, errno.EIO, ())


@WARM
def test_a_write_is_cut_short_once(runner: Runner, warm: bool) -> None:
    control = runner.run(*saver(runner)).operations
    step = named(control, "write", 2)
    injection = injection_at(control, step, 0, short=True)
    outcome = runner.run(*saver(runner), injection=injection, warm=warm)
    assert said(outcome) == ["0 wrote 1000", "1 wrote 500", "2 wrote 1000"]
    assert outcome.result.fired_at == step
    write = outcome.operations[step - 1].write
    assert write is not None
    assert len(write.data) == 500


def test_a_short_write_and_the_error_from_then_on(runner: Runner) -> None:
    """As a disk that is full: the first write still finds some room."""
    control = runner.run(*saver(runner)).operations
    step = named(control, "write", 2)
    injection = injection_at(control, step, errno.ENOSPC, short=True, lasting=True)
    outcome = runner.run(*saver(runner), injection=injection)
    assert said(outcome) == ["0 wrote 1000", "1 wrote 500", f"2 {FULL}"]


@pytest.mark.parametrize(
    ("error", "call", "occurrence", "calls"),
    [
        (errno.ENOSPC, "write", 2, {"write", "openat"}),
        (errno.EDQUOT, "write", 2, {"write", "openat"}),
        (errno.EROFS, "openat", 1, {"openat", "rename", "write"}),
        (errno.EMFILE, "openat", 1, {"openat"}),
        (errno.EIO, "fsync", 2, {"openat", "fsync", "write", "rename"}),
    ],
)
def test_what_the_same_trouble_would_hit_fails_from_then_on(
    runner: Runner, error: int, call: str, occurrence: int, calls: set[str]
) -> None:
    source = """
made, held = os.open("made", os.O_WRONLY | os.O_CREAT), os.open("held", os.O_WRONLY | os.O_CREAT)
def attempt(what, *arguments):
    try:
        what(*arguments)
    except OSError as error:
        print(what.__name__, error.errno)
for i in range(3):
    attempt(os.write, held, b"xx")
    attempt(os.fsync, held)
    attempt(os.open, f"new{i}", os.O_WRONLY | os.O_CREAT)
    attempt(os.rename, "made", "made")
attempt(os.sync)
"""
    control = runner.python(source).operations
    # The files that are held are opened before.
    offset = 2 if call == "openat" else 0
    injection = injection_at(
        control, named(control, call, occurrence + offset), error, lasting=True
    )
    outcome = runner.python(source, injection=injection)
    lines = said(outcome)
    assert {f"{one} {error}" for one in (c.replace("openat", "open") for c in calls)} == set(lines)
    first = outcome.result.fired_at
    assert first is not None
    assert {one.call for one in outcome.operations if one.error} == calls
    hit = [one for one in outcome.operations if one.step >= first and one.call in calls]
    assert all(one.error == error for one in hit)


def test_nothing_happens_where_it_is_not_met(runner: Runner) -> None:
    injection = Injection(call="write", path="s.tmp", occurrence=4, error=errno.EIO)
    outcome = runner.run(*saver(runner), injection=injection)
    assert (outcome.result.fired_at, outcome.errors()) == (None, [])


def test_one_byte_cannot_be_written_short(runner: Runner) -> None:
    source = "fd = os.open('f', os.O_WRONLY | os.O_CREAT)\nos.write(fd, b'x'); os.write(fd, b'yz')"
    control = runner.python(source).operations
    assert [can_be_short(one) for one in control] == [False, False, True]
    for step, fired, left in ((2, None, b"xyz"), (3, 3, b"xy")):
        outcome = runner.ok(source, injection=injection_at(control, step, 0, short=True))
        assert outcome.result.fired_at == fired
        assert (runner.client.workspace / "f").read_bytes() == left


ALTERNATING = """
import os
os.chdir(os.environ["CHECKPOINT_WORKSPACE"])
def work(name, hear, tell):
    for i in range(4):
        os.read(hear, 1)
        for j in range(1 + (name == "a")):
            try:
                fd = os.open(f"part-{i}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.write(fd, b"some data")
                os.close(fd)
            except OSError:
                report(f"{name} {i} {j}\\n")
        os.write(tell, b".")
"""
PROCESSES = (
    ALTERNATING
    + """
def report(text):
    os.write(1, text.encode())
a, b = os.pipe(), os.pipe()
if not os.fork():
    work("b", b[0], a[1])
    os._exit(0)
os.write(a[1], b".")
work("a", a[0], b[1])
os.wait()
"""
)
THREADS = (
    ALTERNATING
    + """
import threading
def report(text):
    os.write(1, text.encode())
a, b = os.pipe(), os.pipe()
other = threading.Thread(target=work, args=("b", b[0], a[1]))
other.start()
os.write(a[1], b".")
work("a", a[0], b[1])
other.join()
"""
)


@WARM
@pytest.mark.parametrize("source", [PROCESSES, THREADS], ids=["processes", "threads"])
def test_it_counts_over_all_processes_and_threads(
    runner: Runner, source: str, warm: bool, request: pytest.FixtureRequest
) -> None:
    """Two take turns, one writing twice: ``part-#`` is one identity, and so the order counts."""
    turns = [f"{who} {i} {j}" for i in range(4) for who, j in (("a", 0), ("a", 1), ("b", 0))]
    command = (*QUICK, script(runner, source, f"{request.node.callspec.id}.py"))
    control = runner.run(*command, warm=warm).operations
    writes = [one.step for one in control if one.call == "write"]
    assert len(writes) == len(turns)
    assert len({(one.process, one.thread) for one in control}) == 2
    for number in (1, 2, 3, 6, 12):
        injection = injection_at(control, writes[number - 1], errno.EIO)
        assert (injection.path, injection.occurrence) == ("part-#", number)
        outcome = runner.run(*command, warm=warm, injection=injection)
        assert said(outcome) == [turns[number - 1]]
        assert (outcome.result.warm is not None) is warm
        assert outcome.result.fired_at == writes[number - 1]


EVERY_CALL = """
import mmap
fd = os.open("f", os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b"some data", 0)
os.writev(fd, [b"a", b"bc"]); os.pwritev(fd, [b"de"], 3)
os.ftruncate(fd, 5000); os.truncate("f", 6000)
assert not libc.fallocate(fd, 0, ctypes.c_int64(0), ctypes.c_int64(7000))
os.fdatasync(fd)
view = mmap.mmap(fd, 0); view[:2] = b"zz"; view.flush()
os.mkdir("d"); os.symlink("f", "s"); os.mkfifo("p"); os.link("f", "l")
os.link("s", "m", follow_symlinks=False)
os.rename("l", "d/l"); os.replace("d/l", "f2")
os.chmod("f", 0o600); os.chown("f", os.getuid(), os.getgid()); os.utime("f", (1, 1))
put("src"); source = os.open("src", os.O_RDONLY)
os.copy_file_range(source, fd, 5, 0, 6000)
os.lseek(fd, 0, 0); os.sendfile(fd, source, 0, 10)
open("f", "w").close()
import socket
socket.socket(socket.AF_UNIX).bind("b")
put(OUT + "/o"); os.rename(OUT + "/o", "o"); os.rename("o", OUT + "/o"); os.link(OUT + "/o", "o")
unnamed = os.open(".", os.O_TMPFILE | os.O_WRONLY)
if libc.linkat(-100, b"/proc/self/fd/%d" % unnamed, -100, b"u", 0x400):
    raise OSError(ctypes.get_errno(), "linkat")
assert not libc.syncfs(fd)
os.unlink("f"); os.rmdir("d")
"""


def test_every_kind_of_call_can_fail(runner: Runner) -> None:
    """What a handler says before it acts is what it records: else nothing would fire."""

    def run(**options: Any) -> Outcome:
        for name in os.listdir(runner.outside):
            (runner.outside / name).unlink()
        return runner.python(EVERY_CALL, **options)

    control = run()
    assert (control.result.exit_code, control.differences) == (0, []), control.result.error_output
    hit = [one for one in control.operations if injectable(one)]
    assert {one.call for one in hit} >= {
        *("openat", "pwrite64", "writev", "ftruncate", "truncate", "fallocate", "fdatasync"),
        *("mmap", "msync", "mkdir", "symlink", "rename", "chmod", "copy_file_range", "sendfile"),
        *("bind", "syncfs", "unlink", "rmdir"),
    }
    for one in hit:
        outcome = run(injection=injection_at(control.operations, one.step, errno.EIO))
        assert outcome.result.fired_at == one.step, one
        failed = outcome.operations[one.step - 1]
        assert (failed.call, failed.path, failed.target_path) == (
            one.call,
            one.path,
            one.target_path,
        )
        assert (failed.error, failed.effects) == (errno.EIO, ())
        assert outcome.differences == []


def test_an_injection_into_what_cannot_fail_is_refused(runner: Runner) -> None:
    control = runner.shell('echo x > f; echo e >> "$CHECKPOINT_EVENTS"; sync').operations
    for step in (3, 4):
        with pytest.raises(ValueError, match="cannot fail"):
            injection_at(control, step, errno.EIO)
    with pytest.raises(ValueError, match="fsync cannot be cut short"):
        Injection(call="fsync", path="f", short=True)
    with pytest.raises(ValueError, match="occurrences count from 1"):
        Injection(call="fsync", path="f", occurrence=0)


def test_a_workspace_file_called_events_is_not_the_events_file(runner: Runner) -> None:
    source = 'echo 1 >> "$CHECKPOINT_EVENTS"; echo 2 > events; echo 3 >> "$CHECKPOINT_EVENTS"'
    control = runner.shell(source).operations
    (step,) = (one.step for one in control if one.call == "write" and not one.is_event)
    outcome = runner.shell(source, injection=injection_at(control, step, errno.EIO))
    assert outcome.result.fired_at == step


SYNCER = """
import os
os.chdir(os.environ["CHECKPOINT_WORKSPACE"])
here = os.open(".", os.O_RDONLY)
fd = os.open("s.tmp", os.O_WRONLY | os.O_CREAT)
os.write(fd, b"x" * 5000)
while True:
    try:
        os.fsync(fd)
        break
    except OSError as error:
        print(error.strerror)
os.rename("s.tmp", "s")
os.fsync(here)
"""


def test_what_a_failed_fsync_left_behind_is_lost_whatever_the_next_one_says(
    runner: Runner,
) -> None:
    """In every model: the job tries again, is told that all is well, and goes on."""
    command = (*QUICK, script(runner, SYNCER, "syncer.py"))
    control = runner.run(*command)
    step = named(control.operations, "fsync")
    injection = injection_at(control.operations, step, errno.EIO)
    faulted = runner.run(*command, injection=injection)
    assert said(faulted) == [BAD]
    assert faulted.operations[step - 1].node is not None
    for model in Model:
        assert sizes_after_power_loss(control, model) == {5000}, model
        assert sizes_after_power_loss(faulted, model) > {0, 5000}, model


def sizes_after_power_loss(outcome: Outcome, model: Model) -> set[int]:
    """How long ``s`` may be when the power goes after the last operation."""
    recording = outcome.recording
    found = PowerLoss(recording.start, b"", recording.operations, model)
    step = len(recording.operations)
    states = (found.state(step, loss) for loss in found.losses(step))
    return {
        node.content.size
        for state in states
        for path, _, node in walk(state.image)
        if path == b"w/s" and isinstance(node, File)
    }


# --- closes ---


CLOSER = """
import os
os.chdir(os.environ["CHECKPOINT_WORKSPACE"])
fd = os.open("f", os.O_WRONLY | os.O_CREAT)
os.write(fd, b"x")
os.close(os.open("f", os.O_RDONLY))
os.close(os.open(os.environ["OUTSIDE"] + "/o", os.O_WRONLY | os.O_CREAT))
try:
    os.close(fd)
except OSError as error:
    print(error.strerror, os.fstat(fd).st_size)
os.rename("f", "g")
"""


def closer(runner: Runner) -> tuple[str, ...]:
    return (*QUICK, script(runner, CLOSER, "closer.py"))


@WARM
def test_closes_are_operations_only_where_that_is_asked_for(runner: Runner, warm: bool) -> None:
    """Of files that were open for writing, in the recorded tree; nothing else changes by it."""
    plain = runner.run(*closer(runner), warm=warm)
    watched = runner.run(*closer(runner), warm=warm, watch_closes=True)
    assert said(plain) == said(watched) == []
    assert plain.calls == ["openat", "write", "rename"]
    assert watched.calls == ["openat", "write", "close", "rename"]
    close = watched.only("close")
    assert (close.path, close.effects, close.error) == (b"w/f", (), 0)


@WARM
def test_a_close_fails(runner: Runner, warm: bool) -> None:
    """The descriptor stays open."""
    control = runner.run(*closer(runner), watch_closes=True).operations
    injection = injection_at(control, 3, errno.EIO)
    outcome = runner.run(*closer(runner), warm=warm, watch_closes=True, injection=injection)
    assert said(outcome) == [f"{BAD} 1"]
    assert (outcome.result.fired_at, outcome.errors()) == (3, [("close", errno.EIO)])
