"""The events file: its lines are operations, in order with the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_checkpoint.record.operations import Event

if TYPE_CHECKING:
    from tests.kit.record.conftest import Outcome, Runner


def told(outcome: Outcome) -> list[bytes]:
    return [
        b"".join(e.data for e in o.effects if isinstance(e, Event)) or o.path
        for o in outcome.operations
    ]


def test_lines_stand_between_operations(runner: Runner) -> None:
    outcome = runner.ok(
        """
events = open(EVENTS, "ab", buffering=0)
events.write(b"start a\\n"); os.mkdir("a"); events.write(b"done a\\nstart b\\n")
os.mkdir("b"); events.write(b"done"); events.write(b" b\\n")
os.writev(events.fileno(), [b"note ", b"x\\n"])
os.fsync(events.fileno())
subprocess.run(["/bin/sh", "-c", 'echo done shell >> "$CHECKPOINT_EVENTS"'], check=True)
"""
    )
    assert told(outcome) == [
        b"start a\n",
        b"w/a",
        b"done a\nstart b\n",
        b"w/b",
        b"done",
        b" b\n",
        b"note x\n",
        b"done shell\n",
    ]
    assert outcome.result.operations == 2
    assert outcome.result.steps == 8
    assert outcome.result.all_bytes == 0


def test_lines_of_an_earlier_run_stay(runner: Runner) -> None:
    runner.shell("echo start a >> $CHECKPOINT_EVENTS; echo > a")
    outcome = runner.shell("cat $CHECKPOINT_EVENTS; echo done a >> $CHECKPOINT_EVENTS", fresh=False)
    assert outcome.result.output == "start a\n"
    assert outcome.events == b"start a\ndone a\n"
    assert outcome.recording.start_events == b"start a\n"
    assert outcome.differences == []


def test_a_kill_right_after_a_line(runner: Runner) -> None:
    outcome = runner.shell(
        "echo start a >> $CHECKPOINT_EVENTS; echo x > a; echo done a >> $CHECKPOINT_EVENTS",
        kill_at=4,
    )
    assert outcome.result.killed_at == 4
    assert outcome.events == b"start a\ndone a\n"
    assert outcome.differences == []


def test_a_job_that_would_lose_lines_is_refused(runner: Runner) -> None:
    for script in (
        "echo one > $CHECKPOINT_EVENTS; echo two > $CHECKPOINT_EVENTS",
        "echo one >> $CHECKPOINT_EVENTS; exec 1<> $CHECKPOINT_EVENTS; echo two",
        "echo one >> $CHECKPOINT_EVENTS; truncate -s 1 $CHECKPOINT_EVENTS",
        "echo one >> $CHECKPOINT_EVENTS; rm $CHECKPOINT_EVENTS",
        "echo one >> $CHECKPOINT_EVENTS; echo > a; mv a $CHECKPOINT_EVENTS",
    ):
        outcome = runner.shell(script)
        assert outcome.result.refusal is not None, script
        assert outcome.events == b"one\n"
