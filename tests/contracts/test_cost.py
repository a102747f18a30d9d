from __future__ import annotations

import pytest

from checkpoint_contracts.cost import repeats_everything, scale_of
from checkpoint_contracts.evidence import Execution
from tests.contracts.builders import ran, undisturbed

RUN = ran(user_cpu_s=2.0, startup_cpu_s=0.5, bytes_written=1000, operations=100)


def test_start_up_is_the_cpu_before_the_first_operation() -> None:
    finished = ran(user_cpu_s=0.3)
    assert scale_of(undisturbed(run=RUN, finished_resume=finished)).startup_cpu_s == 0.5


def test_start_up_is_that_of_the_finished_job_if_larger() -> None:
    finished = ran(user_cpu_s=0.7)
    assert scale_of(undisturbed(run=RUN, finished_resume=finished)).startup_cpu_s == 0.7


@pytest.mark.parametrize("wrote", [{"bytes_written": 1}, {"operations": 1}])
def test_a_finished_job_that_writes_says_nothing_of_start_up(wrote: dict[str, int]) -> None:
    finished = ran(user_cpu_s=0.7, **wrote)
    assert scale_of(undisturbed(run=RUN, finished_resume=finished)).startup_cpu_s == 0.5


def test_the_cpu_ratio_leaves_start_up_out() -> None:
    scale = scale_of(undisturbed(run=RUN))
    assert scale.ratio(ran(user_cpu_s=1.25, bytes_written=1000)) == pytest.approx(0.5)
    assert scale.ratio(ran(user_cpu_s=0.1)) == 0.0
    assert scale.unit == "user CPU less start-up"


@pytest.mark.parametrize(
    ("cpu_s", "startup_s", "judged"),
    [
        (2.0, 1.0, False),
        (2.0, 0.999, True),
        (0.25, 0.05, True),
        (0.3, 0.1, True),
        (0.25, 0.06, False),
        (0.0, 0.0, False),
    ],
)
def test_cpu_is_judged_where_less_than_half_is_start_up_and_a_fifth_of_a_second_remains(
    cpu_s: float, startup_s: float, judged: bool
) -> None:
    run = ran(user_cpu_s=cpu_s, startup_cpu_s=startup_s, bytes_written=1000, operations=100)
    scale = scale_of(undisturbed(run=run, finished_resume=ran()))
    assert (scale.cpu_unjudged is None) is judged
    ratio = scale.ratio(ran(user_cpu_s=startup_s, bytes_written=700))
    assert ratio == (0.0 if judged else 0.7)
    if not judged:
        assert scale.cpu_ratio(ran()) is None
        assert scale.unit == "bytes written"


def test_nothing_can_be_measured_of_a_short_run_without_bytes() -> None:
    run = ran(user_cpu_s=0.1, startup_cpu_s=0.09, operations=5)
    assert scale_of(undisturbed(run=run)).ratio(ran()) is None


def again(cpu_s: float, written: int, operations: int) -> Execution:
    return ran(user_cpu_s=cpu_s, bytes_written=written, operations=operations)


@pytest.mark.parametrize(
    ("execution", "everything"),
    [
        (again(1.8, 900, 90), True),
        (again(1.79, 900, 90), False),
        (again(1.8, 899, 90), False),
        (again(1.8, 900, 89), False),
        (again(0.0, 0, 0), False),
    ],
)
def test_everything_is_repeated_if_all_three_are(execution: Execution, everything: bool) -> None:
    assert repeats_everything(execution, RUN, 0.9) is everything


@pytest.mark.parametrize(("run_cpu_s", "everything"), [(0.2, False), (0.199, True)])
def test_the_cpu_of_a_very_short_run_is_not_compared(run_cpu_s: float, everything: bool) -> None:
    run = ran(user_cpu_s=run_cpu_s, bytes_written=1000, operations=100)
    assert repeats_everything(again(0.01, 1000, 100), run, 0.9) is everything


def test_nothing_is_repeated_of_bytes_that_the_run_did_not_write() -> None:
    run = ran(user_cpu_s=0.1, operations=5)
    assert not repeats_everything(ran(user_cpu_s=0.1, operations=5), run, 0.9)
