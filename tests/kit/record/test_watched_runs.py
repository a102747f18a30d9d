"""A job that is asked after: from its start to its end, and at an operation known by what it is."""

from __future__ import annotations

import dataclasses
import signal
from typing import TYPE_CHECKING, Any

import pytest

from pytest_checkpoint.phases.liveness.clock import ClockNotSetError, require_set
from pytest_checkpoint.record.companion.plan import Report, Then, When
from pytest_checkpoint.record.faults import HoldAt, Identity, Mark, SignalAt, mark_at
from pytest_checkpoint.record.marks import MarkFinder
from pytest_checkpoint.record.operations import Event
from pytest_checkpoint.record.output import MOST
from pytest_checkpoint.record.request import Request
from tests.kit.record.test_companion import JOB, LONG_S, PREAMBLE, planned, run
from tests.kit.record.warm import script

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

ROUNDS = """
for number in range(3):
    make(f'file{number}')
    say(f'round {number}')
"""
SAY = "print(len(os.listdir()))"
SECOND = Mark(identity=Identity("event", 'event "round #"'), occurrence=2)


def test_asked_from_its_start_to_its_end_and_once_more(runner: Runner) -> None:
    _, report = run(runner, JOB, SAY, {}, when=When.THROUGHOUT, repeat_every_s=0.01)
    first, *later = report.beside
    assert first.begin >= report.first.begin
    assert report.beside[-1].begin >= report.first.end
    assert report.beside[-1].output == "2\n"
    assert all(one.begin < report.first.end for one in (first, *later)[:-2])
    assert report.first.exit_code == 3


LOUD = """
say('asked')
if os.stat(os.environ['CHECKPOINT_EVENTS']).st_size < 30 * len('asked') + 30:
    for stream in (1, 2):
        os.write(stream, bytes([255]) * 10_000)
else:
    print('enough')
"""


def test_nothing_is_lacking_of_a_run_that_was_asked_after_often(runner: Runner) -> None:
    """As within ten minutes: that is more than is kept of what a job prints."""
    asked: dict[str, Any] = {"hold": HoldAt(step=1, seconds=LONG_S), "reports": True}
    options: dict[str, Any] = {"repeat_every_s": 0.0, "until": ("enough",)}
    outcome, report = run(runner, JOB, LOUD, asked, when=When.TOLD, then=Then.KILL, **options)
    assert len(outcome.result.output) > MOST
    assert (len(report.beside), report.beside[-1].output) == (30, "enough\n")
    assert len(report.beside[0].output) < 10_000  # a word is wanted


MAPS_ITSELF = """
import mmap, select
mapped = mmap.mmap(os.open(sys.argv[0], os.O_RDONLY), 0, prot=mmap.PROT_READ)
read, write = os.pipe()
os.posix_spawn('/bin/cat', ['cat', '-'], {}, file_actions=[(os.POSIX_SPAWN_DUP2, read, 0)])
while os.stat(os.environ['CHECKPOINT_EVENTS']).st_size < 12 * len('asked '):
    select.select([], [], [], 0.005)
"""


def test_it_is_seen_who_does_not_load_what_all_are_given(runner: Runner) -> None:
    options: dict[str, Any] = {"when": When.THROUGHOUT, "repeat_every_s": 0.0}
    mapped = script(runner, PREAMBLE + MAPS_ITSELF, "first.py")
    _, report = run(runner, MAPS_ITSELF, "say('asked')", {}, preloads=mapped, **options)
    assert (report.loaded, report.not_loaded) == (True, ("cat -",))
    with pytest.raises(ClockNotSetError, match="the process 'cat -' of the job does not load lib"):
        require_set(report)
    _, report = run(runner, JOB, "", {}, preloads="/nowhere", **options)
    with pytest.raises(ClockNotSetError):
        require_set(report)
    require_set(dataclasses.replace(report, loaded=True, not_loaded=()))


def test_a_mark_is_found_whatever_its_step(runner: Runner) -> None:
    hold = {"hold": HoldAt(step=0, seconds=LONG_S), "mark": SECOND}
    outcome, report = run(runner, ROUNDS, SAY, hold, when=When.TOLD, then=Then.KILL)
    assert report.beside[0].output == "2\n"
    assert outcome.events == b"round 0\nround 1\n"
    assert outcome.result.fired_at == 4
    assert mark_at(outcome.recording.operations, 4) == SECOND


def test_or_not_at_all(runner: Runner) -> None:
    fourth = Mark(identity=SECOND.identity, occurrence=4)
    hold = {"hold": HoldAt(step=1, seconds=LONG_S), "mark": fourth}
    outcome, report = run(runner, ROUNDS, SAY, hold, when=When.TOLD)
    assert (report.beside, outcome.result.fired_at) == ((), None)


def test_a_worker_that_is_killed_is_asked_after(runner: Runner) -> None:
    """Its end and the moment may be told in any order."""
    sent = SignalAt(step=0, number=signal.SIGKILL, grace_s=2 * LONG_S, whom="caller")
    asked = {"signal": sent, "mark": SECOND}
    _, report = run(runner, ROUNDS, SAY, asked, when=When.TOLD, then=Then.KILL)
    assert report.first.signal == signal.SIGKILL
    assert report.beside[0].output == "2\n"


GROUPS = """
told, tell = os.pipe()
ready, stand = os.pipe()
child = os.fork()
if not child:
    os.setsid()
    os.write(stand, b'!')
    os.read(told, 1)
    make('by the child')
    os._exit(0)
os.read(ready, 1)
say('round 0')
os.write(tell, b'!')
os.waitpid(child, 0)
"""
ONE_STANDS = """
def state(word):
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            fields = open(f'/proc/{name}/stat').read().rsplit(')', 1)[1].split()
            words = open(f'/proc/{name}/cmdline').read()
        except OSError:
            continue
        if words.endswith(sys.argv[0].replace('beside', 'first') + chr(0)):
            yield fields[0]
print(*sorted(state('first')))
"""


@pytest.mark.parametrize(("whom", "states"), [("group", "S T\n"), ("job", "T T\n")])
def test_a_process_group_stands(runner: Runner, whom: Any, states: str) -> None:
    sent = SignalAt(step=1, number=signal.SIGSTOP, grace_s=2 * LONG_S, whom=whom)
    outcome, report = run(runner, GROUPS, ONE_STANDS, {"signal": sent}, when=When.TOLD)
    assert report.beside[0].output == states
    assert report.first.exit_code == 0
    assert outcome.result.operations == 1


def test_marks_are_counted_apart_from_what_is_unlike_them() -> None:
    finder = MarkFinder(SECOND)
    line = (Event(b"round 7\n"),)
    found = []
    for effects in (line, (), line, line, (Event(b"other\n"),)):
        finder.after("write", b"w/x", b"", effects, 0)
        found.append(finder.is_here)
    assert found == [False, False, True, False, False]


def test_a_request_with_a_mark_is_read_as_it_was_written(runner: Runner) -> None:
    plan = planned(runner, JOB, SAY, when=When.THROUGHOUT)
    request = runner.request(plan.command(), mark=SECOND)
    assert Request.load(request.dump()) == request


def test_nothing_is_told_of_a_job_that_could_not_be_started(runner: Runner) -> None:
    """The launcher tells it in the job's own words."""
    plan = planned(runner, JOB, SAY, when=When.THROUGHOUT, repeat_every_s=0.01)
    command = tuple(word.replace("first.py", "gone.py") for word in plan.command())
    report = Report.of(runner.run(*command).result)
    assert report.first.exit_code == 2
    assert "gone.py" in report.first.error_output
