"""Threads, forks, execs, daemons, signals: one order, one end, nobody forgotten."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import select
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import supervisor
from pytest_checkpoint.record.faults import Injection, Room, SignalAt
from pytest_checkpoint.record.request import Request, Result

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner


def test_a_chain_of_programs(runner: Runner) -> None:
    outcome = runner.shell(
        """
        echo one > a
        exec sh -c 'echo two >> a; exec sh -c "echo three >> a; exec cp a b"'
        """
    )
    assert (outcome.result.exit_code, outcome.differences) == (0, [])
    assert len({o.process for o in outcome.operations}) == 1


def test_children_that_end_interrupt_no_call(runner: Runner) -> None:
    """Orphans, whose end the supervisor is told while it hands over what it has created."""
    runner.ok(
        """
if not os.fork():
    while not os.path.exists("enough"):
        child = os.fork()
        if not child:
            os.fork()
            os._exit(0)
        os.waitpid(child, 0)
    os._exit(0)
for number in range(4000):
    os.close(os.open(f"{W}/{number}", os.O_CREAT | os.O_EXCL))
put("enough")
os.wait()
"""
    )


def test_children_of_threads_and_the_end_of_the_first_thread(runner: Runner) -> None:
    outcome = runner.ok(
        """
import threading
def work(i):
    subprocess.run(["/bin/sh", "-c", f"echo {i} > out{i}; mv out{i} final{i}"], check=True)
    put(f"thread{i}")
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
child = os.fork()
if not child:  # only its second thread lives on, and writes
    def last():
        libc.usleep(1000)
        put("by-the-survivor"); os.rename("by-the-survivor", "done")
        os._exit(0)
    threading.Thread(target=last).start()
    libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)
os.waitpid(child, 0)
assert get("done") == b"some data"
"""
    )
    assert len({o.process for o in outcome.operations}) == 10  # 4 × (sh, mv), 2 × python


def test_spawn_that_borrows_its_parents_memory(runner: Runner) -> None:
    runner.ok(
        """
actions = [(os.POSIX_SPAWN_OPEN, 1, "spawned", os.O_CREAT | os.O_WRONLY, 0o644)]
child = os.posix_spawn("/bin/sh", ["sh", "-c", "echo hello"], os.environ, file_actions=actions)
assert os.waitpid(child, 0)[1] == 0 and get("spawned") == b"hello\\n"
"""
    )


def test_a_daemon_that_ends_in_time_is_waited_for(runner: Runner) -> None:
    outcome = runner.ok(
        """
reader, writer = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        os.close(writer)
        os.read(reader, 1)  # until nobody else holds the pipe: the job has ended
        put("late")
    os._exit(0)
os.close(reader)
os.wait()
os._exit(0)
"""
    )
    assert "late" in os.listdir(runner.client.workspace)
    assert outcome.result.exit_code == 0


def test_the_exit_is_that_of_the_root(runner: Runner) -> None:
    assert runner.shell("false & exit 3").result.exit_code == 3
    killed = runner.shell("kill -TERM $$").result
    assert (killed.exit_code, killed.signal) == (None, 15)


def test_deadline(runner: Runner) -> None:
    outcome = runner.shell("echo > a; (sleep 60 > /dev/null &) ; sleep 60", deadline_s=0.3)
    result = outcome.result
    assert (result.timed_out, result.exit_code, outcome.differences) == (True, None, [])


def test_a_job_that_never_stops_calling(runner: Runner) -> None:
    """Nothing else is forgotten over its calls: not the time, nor what it prints."""
    source = """
import threading, time
def say():
    sys.stdout.write("x" * 300_000)  # more than a pipe holds
    sys.stdout.flush()
    os.close(1)
thread = threading.Thread(target=say)
thread.start()
until = time.monotonic() + 60
while time.monotonic() < until and (thread.is_alive() or EVER):
    os.close(os.open(W + "/a", os.O_CREAT))
assert not thread.is_alive()
"""
    outcome = runner.python(source.replace("EVER", "False"))
    assert outcome.result.exit_code == 0, outcome.result.error_output
    outcome = runner.python(source.replace("EVER", "True"), deadline_s=1)
    assert outcome.result.timed_out


@pytest.mark.parametrize("something", ["nothing", "a signal", "what is late"])
def test_calls_are_served_in_a_row_and_then_the_rest_is_looked_at(
    runner: Runner, something: str
) -> None:
    """One after another where nothing else can be due, and never for ever."""
    served: list[int] = []
    service = SimpleNamespace(serve=lambda: served.append(1))
    ours, theirs = socket.socketpair()
    with ExitStack() as stack, ours, theirs:
        request = runner.request(("true",))
        execution = supervisor._Execution(request, None, (), ours, set(), stack)
        theirs.send(b".")  # there is always something to be read
        execution._listener = ours.fileno()
        execution._calls.register(ours, select.POLLIN)
        execution._service = service  # type: ignore[assignment]
        execution._startup_cpu = 0.0
        if something == "a signal":
            execution._preemption = SimpleNamespace()  # type: ignore[assignment]
        elif something == "what is late":
            execution._timed.append(service)  # type: ignore[arg-type]
        execution._serve_calls()
    assert len(served) == (1 + supervisor._IN_A_ROW if something == "nothing" else 1)


def test_signals_do_not_keep_calls_from_ending(runner: Runner) -> None:
    """A timer of one millisecond, and handlers that restart calls, as C programs install them."""
    outcome = runner.ok(
        """
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(150):
    put("a", b"x" * 5000); os.rename("a", "b")
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    )
    assert outcome.calls.count("rename") == 150


def test_calls_that_cannot_be_seen_fail_as_on_an_older_kernel(runner: Runner) -> None:
    runner.ok(
        """
libc.syscall.restype = ctypes.c_long
for number, arguments in ((425, (8, None)), (463, (-100, b"a", 0, b"user.a", None, 0))):
    assert libc.syscall(number, *arguments) == -1
    assert ctypes.get_errno() == errno.ENOSYS
put("a"); put("b")
import fcntl
raises(errno.EOPNOTSUPP, fcntl.ioctl, os.open("b", os.O_WRONLY), 0x40049409, 0)
"""
    )


def test_cpu_time_of_children_counts(runner: Runner) -> None:
    spin = (
        "import resource as r\n"
        "while r.getrusage(r.RUSAGE_SELF).ru_utime < 0.15: sum(range(10000))\n"
    )
    outcome = runner.ok(
        f"""
subprocess.run([sys.executable, "-SE", "-c", {spin!r}], check=True)
if not os.fork():
    if not os.fork():
        exec({spin!r})
    os._exit(0)
os.wait()
put("first")
"""
    )
    result = outcome.result
    assert result.user_cpu_s >= 2 * 0.15
    assert 0 < result.startup_cpu_s <= result.user_cpu_s + 0.02


def test_programs_that_cannot_be_started(runner: Runner) -> None:
    with pytest.raises(HarnessError, match="no-such-program cannot be started"):
        runner.run("no-such-program")
    sound_again = runner.shell("echo > a")
    assert sound_again.result.exit_code == 0


def test_without_filter(runner: Runner) -> None:
    runner.clear()
    request = runner.request(("/bin/sh", "-c", "echo x"), filtered=False, recording=None)
    result = runner.client.run(request)
    assert (result.exit_code, result.output, result.steps) == (0, "x\n", 0)


def test_output_that_is_long_or_not_text(runner: Runner) -> None:
    result = runner.python(
        "os.write(1, b'\\xff' + b'o' * 3_000_000 + b'end'); os.write(2, b'\\xfe')"
    ).result
    assert result.output.endswith("oend")
    assert len(result.output) == 1 << 20
    assert result.error_output == "\udcfe"


def test_nothing_reaches_our_own_output(runner: Runner, capfd: pytest.CaptureFixture[str]) -> None:
    runner.python("print('out'); print('err', file=sys.stderr); os.write(0, b'x')")
    runner.shell("echo tty > /dev/tty || true")
    assert capfd.readouterr() == ("", "")


# --- in a supervisor of our own making ---


def _supervise(runner: Runner, grace_s: float, script: str) -> Result:
    """As the server does it, with another grace for survivors."""
    runner.clear()
    request = runner.request(("/bin/sh", "-c", script))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = os.fork()
        if not process:
            _in_child(request, str(runner.client.path), theirs, grace_s)
        theirs.close()
        with ours.makefile("rb") as lines:
            line = lines.readline()
        os.waitpid(process, 0)
    return Result.load(line)


def _in_child(request: Request, slot: str, lifeline: socket.socket, grace_s: float) -> None:
    try:
        setattr(supervisor, "SURVIVOR_GRACE_S", grace_s)  # noqa: B010 - a constant to all others
        lifeline.sendall(supervisor.supervise(request, slot, lifeline).dump() + b"\n")
    finally:
        os._exit(0)


def test_the_number_of_who_has_been_waited_for_is_free(runner: Runner) -> None:
    """In a process of our own, whose only child it is."""
    process = os.fork()
    if not process:
        waited_for: list[int] = []
        child = -1
        try:
            child = os.posix_spawn("/bin/true", ["true"], {})
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            with ExitStack() as stack, socket.socket() as lifeline:
                request = runner.request(("true",))
                execution = supervisor._Execution(request, None, (), lifeline, set(), stack)
                handles = SimpleNamespace(waited_for=waited_for.append)
                execution._service = SimpleNamespace(handles=handles)  # type: ignore[assignment]
                execution._root = execution._deadline = child
                execution._reap()
        finally:
            os._exit(0 if waited_for == [child] else 1)
    assert os.waitpid(process, 0)[1] == 0


def test_a_survivor_is_named_and_ended(runner: Runner) -> None:
    pid_file = runner.folder / "survivor"
    result = _supervise(
        runner, 0.2, f"setsid sleep 61 > /dev/null 2>&1 & echo $! > {pid_file}; exit 4"
    )
    assert result.problem is not None
    assert result.problem.startswith("1 process(es) of the job were still running")
    assert "(sleep 61)" in result.problem
    assert result.problem.endswith("end or wait for them in the job")
    assert result.exit_code == 4
    assert not Path(f"/proc/{int(pid_file.read_text())}").exists()


def test_processes_that_are_not_the_jobs_are_left_alone(runner: Runner) -> None:
    """A bystander in the same folder, with the same command, started by us."""
    bystander = os.posix_spawn("/bin/sleep", ["sleep", "62"], os.environ)
    try:
        outcome = runner.shell("sleep 62 & echo > a; sleep 62", deadline_s=0.2)
        assert outcome.result.timed_out
        assert os.waitpid(bystander, os.WNOHANG) == (0, 0)
    finally:
        os.kill(bystander, 9)
        os.waitpid(bystander, 0)


def test_a_failed_call_is_told_with_its_error(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.mkdir("d")
raises(errno.EEXIST, os.mkdir, "d")
raises(errno.ENOENT, os.mkdir, "x/y")
raises(errno.EEXIST, os.symlink, "a", "d")
raises(errno.ENOENT, os.unlink, "missing")
"""
    )
    assert outcome.errors() == [
        ("mkdir", errno.EEXIST),
        ("symlink", errno.EEXIST),
        ("unlink", errno.ENOENT),
    ]


def test_results_survive_their_journey(runner: Runner) -> None:
    result = runner.shell("exit 0").result
    assert Result.load(result.dump()) == result
    request = runner.request((sys.executable, "\udcff"), kill_at=3)
    assert Request.load(json.dumps(json.loads(request.dump())).encode()) == request
    faulted = dataclasses.replace(
        request,
        injection=Injection(call="write", path="\\xff", short=True),
        room=Room(blocks=3, under="d"),
        signal=SignalAt(step=3, number=15, grace_s=0.5),
    )
    assert Request.load(faulted.dump()) == faulted


def test_what_was_missing_a_moment_ago_does_not_appear_unseen(runner: Runner) -> None:
    """A call that must fail is answered, not left to a kernel that may look a moment later.

    Many processes fight for the same names: a rename of what is missing, a file in a folder that is
    not there yet, a cut of what is still empty.
    """
    outcome = runner.ok(
        """
def ignore(call, *arguments):
    try:
        return call(*arguments)
    except OSError:
        return None
for i in range(4):
    if not os.fork():
        for j in range(60):
            ignore(os.mkdir, "d")
            ignore(put, "d/x"); ignore(put, "a"); ignore(os.rename, "a", "b")
            ignore(os.rename, "b", "d/x"); ignore(os.truncate, "d/x", j)
            ignore(os.link, "d/x", "c"); ignore(os.unlink, "c"); ignore(os.unlink, "d/x")
            ignore(os.rmdir, "d")
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
    )
    assert len(outcome.errors()) > 0
