"""One run that is asked after, and what came of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from checkpoint_contracts.evidence import Execution
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.liveness import clock
from pytest_checkpoint.phases.liveness.asking import question
from pytest_checkpoint.phases.liveness.ticker import Ticker
from pytest_checkpoint.record.companion.plan import MARGIN_S, Plan, Report, Then, When
from pytest_checkpoint.record.faults import HoldAt, Mark, SignalAt


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is done to the run, and how it is asked after. Times in seconds."""

    when: When
    then: Then = Then.CONTINUE
    deadline_s: float
    beside_s: float
    """For so long it is asked after."""
    every_s: float
    until: tuple[str, ...] | None = None
    """Not any more when one of these words was said."""
    signal: SignalAt | None = None
    hold: HoldAt | None = None
    mark: Mark | None = None
    slow_s: float = 0.0
    clock_behind: bool = False
    """The job's wall clock, not that of who asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    execution: Execution
    """Of the job."""
    report: Report | None
    """None: the kit could not see it through."""
    fired_at: int | None
    starved_s: float

    @property
    def problem(self) -> str:
        return self.execution.refusal or self.execution.problem or ""


def watched(bench: Bench, asked: Asked, recording: Path | None = None) -> Watched:
    """The slot holds what the run starts from."""
    run = bench.expanded(bench.subject.run)
    library = clock.library_file() if asked.clock_behind else None
    plan = Plan(
        first=clock.behind(run) if asked.clock_behind else run,
        beside=question(bench),
        preloads=None if library is None else str(library),
        working_directory=str(bench.subject.working_directory),
        when=asked.when,
        then=asked.then,
        deadline_s=asked.deadline_s,
        beside_deadline_s=asked.beside_s,
        repeat_every_s=asked.every_s,
        until=asked.until,
    )
    request = dataclasses.replace(
        bench.request(plan.command(), asked.deadline_s + MARGIN_S),
        signal=asked.signal,
        hold=asked.hold,
        mark=asked.mark,
        slow_s=asked.slow_s,
        reports=True,
        recording=str(recording) if recording else None,
    )
    with Ticker() as ticker:
        result = bench.carry_out(request)
    refusal, problem, report = result.refusal, result.problem, None
    if refusal is None and problem is None:
        try:
            report = Report.of(result)
        except HarnessError as error:
            problem = str(error)
    if report is None:
        execution = Execution(exit_code=None, refusal=refusal, problem=problem)
    else:
        ran = report.first
        execution = Execution(
            exit_code=ran.exit_code,
            signal=ran.signal,
            timed_out=ran.timed_out,
            wall_s=ran.wall_s,
            output=bench.clean(ran.output + ran.error_output),
        )
    return Watched(
        execution=execution,
        report=report,
        fired_at=result.fired_at,
        starved_s=ticker.starved_s,
    )
