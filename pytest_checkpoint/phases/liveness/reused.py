"""A dead worker whose number another process has: is it believed to live?"""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from pathlib import Path

from checkpoint_contracts.evidence import Trial
from checkpoint_contracts.heartbeat import Answer, Watch, Word
from checkpoint_contracts.trial import Command, Leg, Shown
from pytest_checkpoint.phases.alone.numbers import taken
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.liveness.asking import Bounds, answer_of, source_of
from pytest_checkpoint.phases.liveness.planned import PlannedWatch
from pytest_checkpoint.phases.liveness.ticker import Ticker
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.slot import remove_tree


def reused(
    bench: Bench, control: Control, bounds: Bounds, planned: PlannedWatch, deadline_s: float
) -> Trial:
    """The run is killed, and its numbers are other processes' when it is asked after."""
    start = control.start
    bench.put(start)
    folder: Path = bench.client.scratch / "watched"
    remove_tree(folder)
    result = bench.carry_out(
        dataclasses.replace(
            bench.request(bench.expanded(bench.subject.run), deadline_s),
            signal=SignalAt(step=0, number=signal.SIGKILL, grace_s=0.0),
            mark=planned.mark,
            recording=str(folder),
        )
    )
    killed = result.fired_at is not None
    leg = Leg(
        command=Command.RUN,
        execution=bench.execution(result),
        events=bench.new_events(start.events),
        killed=killed,
    )
    trial = Trial(
        point=planned.point,
        kind=planned.kind,
        events_before=lines_of(start.events),
        legs=(leg,),
        shown=Shown(),
    )
    if not killed:
        return trial
    numbers = {one.process for one in journal.load(folder).operations}
    with taken(numbers) as ours, Ticker() as ticker:
        if not ours:
            return trial
        begun = time.monotonic()
        answers = tuple(_answers(bench, bounds, begun))
        over_s = time.monotonic() - begun
    watch = Watch(
        answers=answers,
        bound_s=bounds.stale_s,
        slack_s=bounds.slack_s(bounds.source.stale_after_s),
        over_s=over_s,
        starved_s=ticker.starved_s,
        patience_s=bounds.slack_s(bounds.source.stale_after_s) / 2,
        answer_s=bounds.answer_s,
    )
    return dataclasses.replace(trial, shown=Shown(step=result.fired_at), watch=watch)


def _answers(bench: Bench, bounds: Bounds, begun: float) -> list[Answer]:
    """Until it is called stale, or the time is over."""
    idle = threading.Event()  # that nobody sets
    answers: list[Answer] = []
    while not answers or (answers[-1].word != Word.STALE and answers[-1].said_s < bounds.stale_s):
        asked_s = time.monotonic()
        told = bench.ask(source_of(bench.subject).command, bounds.stale_s)
        said_s = time.monotonic()
        answers.append(
            answer_of(
                bench,
                told.output,
                told.error_output,
                late=told.timed_out,
                asked_s=asked_s - begun,
                said_s=said_s - begun,
            )
        )
        idle.wait(max(0.0, asked_s + bounds.every_s - said_s))
    return answers
