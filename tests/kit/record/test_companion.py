"""Two commands in one execution: when the second begins, what becomes of the job, what is told."""

from __future__ import annotations

import itertools
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.companion.plan import Plan, Report, Then, When
from pytest_checkpoint.record.faults import AsideAt, HoldAt, SignalAt
from pytest_checkpoint.record.request import Result
from tests.kit.record.warm import QUICK, script

if TYPE_CHECKING:
    from tests.kit.record.conftest import Outcome, Runner

LONG_S = 30.0
PREAMBLE = """
import os, signal, sys, time
os.chdir(os.environ["CHECKPOINT_WORKSPACE"])
def say(line):
    events = os.open(os.environ["CHECKPOINT_EVENTS"], os.O_WRONLY | os.O_APPEND)
    os.write(events, (line + "\\n").encode())
    os.close(events)
def make(name):
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
"""
JOB = "make('one'); say('first'); make('two'); print('the job'); sys.exit(3)"
LOOK = "say('beside'); print(sorted(os.listdir()))"


def planned(runner: Runner, first: str, beside: str, **options: Any) -> Plan:
    wanted: dict[str, Any] = {
        "first": (*QUICK, script(runner, PREAMBLE + first, "first.py")),
        "beside": (*QUICK, script(runner, PREAMBLE + beside, "beside.py")),
        "working_directory": str(runner.folder),
        "deadline_s": LONG_S,
        "beside_deadline_s": LONG_S,
    }
    return Plan(**(wanted | options))


def run(
    runner: Runner, first: str, beside: str, request: dict[str, Any], **options: Any
) -> tuple[Outcome, Report]:
    outcome = runner.run(*planned(runner, first, beside, **options).command(), **request)
    assert (outcome.differences, outcome.result.problem) == ([], None)
    assert (outcome.result.exit_code, outcome.result.error_output) == (0, "")
    return outcome, Report.of(outcome.result)


def stop(step: int, whom: Any = "job") -> dict[str, Any]:
    return {"signal": SignalAt(step=step, number=signal.SIGSTOP, grace_s=2 * LONG_S, whom=whom)}


def test_the_job_stands_at_a_step_and_goes_on(runner: Runner) -> None:
    """Its call has been carried out, and nothing else happens until the other has ended."""
    outcome, report = run(runner, JOB, LOOK, stop(1), when=When.STOPPED)
    (beside,) = report.beside
    assert (beside.output, beside.exit_code) == ("['one']\n", 0)
    assert (report.first.output, report.first.exit_code) == ("the job\n", 3)
    assert outcome.events == b"beside\nfirst\n"
    assert (beside.events_before, beside.events_after) == (0, len(b"beside\n"))
    assert outcome.result.fired_at == 1
    assert report.met is not None
    assert report.released is not None
    assert report.met <= beside.begin <= beside.end <= report.released <= report.first.end
    assert report.left == ()


def test_or_is_killed(runner: Runner) -> None:
    outcome, report = run(runner, JOB, LOOK, stop(2), when=When.STOPPED, then=Then.KILL)
    assert (report.first.exit_code, report.first.signal) == (None, signal.SIGKILL)
    assert report.beside[0].output == "['one']\n"
    assert outcome.events == b"first\nbeside\n"


def test_the_moment_may_not_come(runner: Runner) -> None:
    outcome, report = run(runner, JOB, LOOK, stop(9), when=When.STOPPED)
    assert (report.beside, report.met, report.first.exit_code) == ((), None, 3)
    assert outcome.result.fired_at is None


FAMILY = """
child = os.fork()
if not child:
    os.setsid()
    make('by a child')
    say('child')
    os._exit(0)
os.waitpid(child, 0)
say('parent')
"""
STATES = """
for name in os.listdir('/proc'):
    if name.isdigit():
        try:
            fields = open(f'/proc/{name}/stat').read().rsplit(')', 1)[1].split()
            words = open(f'/proc/{name}/cmdline').read()
        except OSError:
            continue
        if words.endswith(sys.argv[0].replace('beside', 'first') + chr(0)):
            print(fields[0], end='')
print()
"""


def test_all_of_a_job_stands_whatever_session_it_is_in(runner: Runner) -> None:
    _, report = run(runner, FAMILY, STATES, stop(1), when=When.STOPPED)
    assert report.beside[0].output == "TT\n"
    assert report.first.exit_code == 0


def test_or_only_the_process_whose_call_it_was(runner: Runner) -> None:
    """Its parent waits for it as before."""
    outcome, report = run(runner, FAMILY, STATES, stop(1, "caller"), when=When.TOLD)
    assert sorted(report.beside[0].output.strip()) == ["S", "T"]
    assert outcome.events == b"child\nparent\n"


def test_a_call_is_held_while_all_others_go_on(runner: Runner) -> None:
    first = """
pid = os.fork()
if not pid:
    make('held')
    say('held no more')
    os._exit(0)
while not os.path.exists('held'):
    os.sched_yield()
make('meanwhile')
say('another')
os.waitpid(pid, 0)
"""
    hold = {"hold": HoldAt(step=1, seconds=0.7)}
    outcome, report = run(runner, first, LOOK, hold, when=When.TOLD)
    (beside,) = report.beside
    assert beside.begin - report.first.begin < 0.6
    assert "held no more" in outcome.events.decode()
    assert outcome.events.endswith(b"held no more\n")
    assert outcome.events.count(b"another\n") == 1
    assert report.first.end - report.first.begin >= 0.7
    assert outcome.result.fired_at == 1


def test_a_slow_disk(runner: Runner) -> None:
    runner.clear()
    text = PREAMBLE + "for number in range(4):\n    make(str(number))\nopen('0').close()"
    command = (*QUICK, script(runner, text))
    outcome = runner.run(*command, slow_s=0.1)
    assert outcome.differences == []
    assert outcome.result.exit_code == 0
    assert 0.4 <= outcome.result.wall_s < 3.0


def test_both_at_the_same_instant(runner: Runner) -> None:
    race = "os.mkdir('only one'); say('made')"
    outcome, report = run(runner, race, race, {}, when=When.TOGETHER)
    (beside,) = report.beside
    assert sorted([report.first.exit_code, beside.exit_code]) == [0, 1]  # type: ignore[type-var]
    assert outcome.events == b"made\n"
    assert abs(beside.begin - report.first.begin) < 1.0


def test_asked_again_and_again_until_it_says_so(runner: Runner) -> None:
    """From the beginning of one to that of the next, a time is kept."""
    asking = """
asked = len(os.listdir())
make(f'asked {asked}')
print('stale' if asked == 3 else 'alive')
"""
    options = {"repeat_every_s": 0.2, "until": ("stale", "dead"), "when": When.STOPPED}
    _, report = run(runner, JOB, asking, stop(1), **options)
    assert [one.output for one in report.beside] == ["alive\n", "alive\n", "stale\n"]
    begins = [one.begin for one in report.beside]
    assert all(later - earlier >= 0.2 for earlier, later in itertools.pairwise(begins))
    assert report.first.exit_code == 3


def test_a_second_that_does_not_end_is_ended_and_the_job_goes_on(runner: Runner) -> None:
    waits = "say('waits'); signal.pause()"
    options: dict[str, Any] = {"when": When.STOPPED, "beside_deadline_s": 0.4}
    outcome, report = run(runner, JOB, waits, stop(1), **options)
    (beside,) = report.beside
    assert (beside.timed_out, beside.signal) == (True, signal.SIGKILL)
    assert 0.4 <= beside.wall_s < 5.0
    assert (report.first.exit_code, report.first.timed_out) == (3, False)
    assert outcome.events == b"waits\nfirst\n"


def test_nothing_outlives_its_deadline(runner: Runner) -> None:
    """Nor does a descendant that is in no group and no session of theirs any more."""
    stays = """
if not os.fork():
    os.setsid()
    if not os.fork():
        say(str(os.getpid()))
        signal.pause()
    os._exit(0)
signal.pause()
"""
    options: dict[str, Any] = {"when": When.TOGETHER, "deadline_s": 1.0}
    outcome, report = run(runner, stays, "pass", {}, **options)
    assert (report.first.timed_out, report.first.signal) == (True, signal.SIGKILL)
    assert len(report.left) == 1
    process = outcome.events.decode().strip()
    assert report.left[0].startswith(f"{process} (")
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


def test_a_process_starts_as_it_would_without_the_launcher(runner: Runner) -> None:
    """Arguments, environment, signals, descriptors, session, directory."""
    text = """
print(sys.argv[1:], os.getcwd(), sorted(os.listdir('/proc/self/fd'))[:3])
print(sorted(os.environ.items()))
print(os.getsid(0) == os.getpid() == os.getpgid(0))
status = open('/proc/self/status').read()
print([line for line in status.splitlines() if line.startswith(('SigB', 'SigI', 'SigC', 'Umask'))])
"""
    path = script(runner, "import os, sys\n" + text, "same.py")
    environment = {"LC_ALL": "C", "ODD": "a=b\nc"}
    alone = runner.run(*QUICK, path, "ä", environment=environment).result
    plan = Plan(
        first=(*QUICK, path, "ä"),
        beside=("/bin/true",),
        working_directory=str(runner.folder),
        when=When.TOGETHER,
        deadline_s=LONG_S,
        beside_deadline_s=LONG_S,
    )
    report = Report.of(runner.run(*plan.command(), environment=environment).result)
    assert report.first.output == alone.output
    assert "True" in alone.output


def test_a_command_that_cannot_be_started_and_long_output(runner: Runner) -> None:
    _, report = run(runner, "print('x' * 300_000 + 'end')", "pass", {}, when=When.TOGETHER)
    assert report.first.output.endswith("xend\n")
    assert len(report.first.output) == 64 << 10
    plan = Plan(
        first=("/does/not/exist",),
        beside=("/bin/sh", "-c", "echo beside; exit 2"),
        working_directory="/",
        when=When.TOGETHER,
        deadline_s=LONG_S,
        beside_deadline_s=LONG_S,
    )
    report = Report.of(runner.run(*plan.command()).result)
    assert report.first.exit_code == 127
    assert "cannot be started" in report.first.error_output
    assert (report.beside[0].exit_code, report.beside[0].output) == (2, "beside\n")


def test_a_launcher_that_says_nothing() -> None:
    with pytest.raises(HarnessError, match="did not tell what came of them: it broke"):
        Report.of(Result(exit_code=1, error_output="it broke\n"))


def test_a_call_is_put_aside_before_it_is_carried_out(runner: Runner) -> None:
    """What the job has seen before is what it acts upon, whatever has happened meanwhile."""
    first = """
seen = os.path.exists('lock')
make('lock')
say(f'first saw {seen}')
make('other')
"""
    beside = "print(os.listdir()); make('lock'); say('beside')"
    put = {"aside": AsideAt(step=1)}
    outcome, report = run(runner, first, beside, put, when=When.TOLD, aside=True)
    assert report.beside[0].output == "[]\n"
    assert outcome.events == b"beside\nfirst saw False\n"
    assert (report.first.exit_code, outcome.result.fired_at) == (0, 1)
    assert outcome.result.steps == 4  # what is there already is not made again


def test_or_never_if_the_job_is_killed_then(runner: Runner) -> None:
    put = {"aside": AsideAt(step=3)}
    options: dict[str, Any] = {"when": When.TOLD, "aside": True, "then": Then.KILL}
    outcome, report = run(runner, JOB, LOOK, put, **options)
    assert report.first.signal == signal.SIGKILL
    assert (report.beside[0].output, outcome.result.steps) == ("['one']\n", 3)


def test_all_the_rest_of_the_job_stands_meanwhile(runner: Runner) -> None:
    """Nor does it stay stopped, the process whose call it was included."""
    first = """
import threading
def other():
    while not os.path.exists('aside'):
        say('other')
thread = threading.Thread(target=other)
thread.start()
if not os.fork():
    while not os.path.exists('aside'):
        say('child')
    os._exit(0)
while len(open(os.environ["CHECKPOINT_EVENTS"]).readlines()) < 4:
    os.sched_yield()
make('aside')
thread.join(); os.wait(); say('end')
"""
    beside = "say('beside'); print(sorted(os.listdir()))"
    put = {"aside": AsideAt(step=1)}
    outcome, report = run(runner, first, beside, put, when=When.TOLD, aside=True)
    assert report.first.exit_code == 0
    assert outcome.events.endswith(b"end\n")
    for one in report.beside:
        assert outcome.events[one.events_before : one.events_after] == b"beside\n"


CROSS: dict[str, Any] = {"when": When.TOLD, "aside": True, "crosses": True}


def test_the_second_stands_and_the_job_goes_on_before_it(runner: Runner) -> None:
    first = """
seen = os.path.exists('lock')
make('lock')
say(f'first saw {seen}, now {sorted(os.listdir())}')
"""
    beside = "make('lock'); say('beside works'); make('result'); say('beside is done')"
    stands = SignalAt(step=2, number=signal.SIGSTOP, grace_s=2 * LONG_S, whom="job")
    outcome, report = run(
        runner, first, beside, {"aside": AsideAt(step=1), "signal": stands}, **CROSS
    )
    works, late = b"beside works\n", b"first saw False, now ['lock']\n"
    assert outcome.events == works + late + b"beside is done\n"
    assert report.crossed_events == len(works)
    assert report.first.events_after == len(works + late)
    (other,) = report.beside
    assert (report.first.exit_code, other.exit_code, report.left) == (0, 0, ())
    assert report.crossed is not None
    assert report.released is not None
    assert other.begin < report.crossed < report.first.end <= report.released <= other.end


def test_or_ends_before_it_stands(runner: Runner) -> None:
    stands = SignalAt(step=9, number=signal.SIGSTOP, grace_s=2 * LONG_S, whom="job")
    put = {"aside": AsideAt(step=1), "signal": stands}
    _, report = run(runner, JOB, "sys.exit(5)", put, **CROSS)
    assert (report.crossed, report.beside[0].exit_code, report.first.exit_code) == (None, 5, 3)


def test_each_has_variables_of_its_own(runner: Runner) -> None:
    tell = "print(os.environ.get('RANK'), os.environ.get('WORLD_SIZE'))"
    _, report = run(
        runner,
        tell,
        tell,
        {},
        when=When.TOGETHER,
        first_variables={"RANK": "0", "WORLD_SIZE": "2"},
        beside_variables={"RANK": "1"},
    )
    assert [one.output for one in (report.first, *report.beside)] == ["0 2\n", "1 None\n"]
