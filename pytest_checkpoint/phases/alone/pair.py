"""Two starts of the job in one execution, and what came of each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checkpoint_contracts.evidence import Execution
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.record.companion.plan import MARGIN_S, Plan, Ran, Report
from pytest_checkpoint.record.request import Result

_LEFT: Final = (
    "processes of the job were still running after it had exited: {}; end or wait for them in it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    first: Execution
    second: Execution | None
    """None: its moment did not come, or the kit could not see it through (``first`` says why)."""
    report: Report | None
    result: Result

    @property
    def crossed(self) -> bool:
        """The second stood in its turn, and the first went on before it."""
        return self.report is not None and self.report.crossed is not None


def both(bench: Bench, plan: Plan, recording: Path, **faults: Any) -> Both:
    """Carry the plan out; the slot holds what the first starts from.

    ``faults``: of the request, what brings the first to a stand.
    """
    request = bench.request(plan.command(), plan.deadline_s + MARGIN_S)
    request = dataclasses.replace(request, recording=str(recording), reports=True, **faults)
    result = bench.carry_out(request)
    report, problem = None, result.problem
    if result.refusal is None and problem is None:
        try:
            report = Report.of(result)
        except HarnessError as error:
            problem = str(error)
    if report is None:
        first = Execution(exit_code=None, refusal=result.refusal, problem=problem)
        return Both(first=first, second=None, report=None, result=result)
    late = report.first.timed_out or any(one.timed_out for one in report.beside)
    survivors = _LEFT.format(", ".join(report.left)) if report.left and not late else None
    first = _execution(bench, report.first, survivors)
    second = _execution(bench, report.beside[0], None) if report.beside else None
    return Both(first=first, second=second, report=report, result=result)


def _execution(bench: Bench, ran: Ran, problem: str | None) -> Execution:
    return bench.execution(
        Result(
            exit_code=ran.exit_code,
            signal=ran.signal,
            timed_out=ran.timed_out,
            wall_s=ran.wall_s,
            output=ran.output,
            error_output=ran.error_output,
            problem=problem,
        )
    )
