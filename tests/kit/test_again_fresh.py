"""What started warm and ended well is believed only if it ends so in fresh processes too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from checkpoint_contracts.evidence import CrashPoint, Execution, Experiment, Fault
from pytest_checkpoint.phases.again_fresh import SAMPLE, Sample

GOOD = Execution(exit_code=0, output="result")


def experiment(step: int, resume: Execution = GOOD, check: Execution | None = GOOD) -> Experiment:
    point = CrashPoint(
        fault=Fault.KILL, step=step, variant="kill", operation="", signature="", total_steps=99
    )
    return Experiment(point=point, events_before=(), resume=resume, check=check)


def in_turn(*experiments: Experiment) -> Callable[[], Experiment]:
    return iter(experiments).__next__


def test_alike() -> None:
    sample = Sample(seed=0)
    sample.offer(experiment(1), in_turn(experiment(1)))
    assert sample.unlike() is None


def test_another_end_in_two_fresh_starts() -> None:
    lost = experiment(1, check=Execution(exit_code=0, output="less"))
    sample = Sample(seed=0)
    sample.offer(experiment(1), in_turn(lost, lost))
    assert sample.unlike() == experiment(1).point


def test_what_two_fresh_starts_do_not_share_says_nothing() -> None:
    one = dataclasses.replace(experiment(1), events_after=("at 1",))
    two = dataclasses.replace(experiment(1), events_after=("at 2",))
    sample = Sample(seed=0)
    sample.offer(experiment(1), in_turn(one, two))
    assert sample.unlike() is None


def test_what_ended_badly_is_replayed_elsewhere() -> None:
    sample = Sample(seed=0)
    sample.offer(experiment(1, resume=Execution(exit_code=1), check=None), in_turn())
    assert sample.unlike() is None


def test_a_few_of_many_by_the_seed() -> None:
    def chosen(seed: int) -> list[int]:
        made: list[int] = []
        sample = Sample(seed)
        for step in range(50):

            def again(step: int = step) -> Experiment:
                made.append(step)
                return experiment(step)

            sample.offer(experiment(step), again)
        assert sample.unlike() is None
        return made

    assert len(chosen(1)) == SAMPLE
    assert chosen(1) == chosen(1) != chosen(2)
