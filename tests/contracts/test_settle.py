from __future__ import annotations

import pytest

from checkpoint_contracts import judge, replays_needed
from checkpoint_contracts.evidence import Experiment
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    state_never_corrupt,
)
from checkpoint_contracts.settle import settled
from checkpoint_contracts.verdict import Outcome
from tests.contracts.builders import HUNG, checked, killed, ran, seen, torn, tried

HANGING = tried(killed(5), HUNG)
SLOW = ran(wall_s=31.5)


def test_a_hang_whose_replay_ended_in_time_is_judged_as_it_ended() -> None:
    evidence = seen(HANGING, tried(killed(9)), replays=(tried(killed(5), SLOW),))
    verdict = judge(evidence, resume_equals_uninterrupted)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.notes == ("killed at step 5 (write state.json): resumes after 31.5 s",)
    # A hang after a kill is none of this contract's business, so neither is its end.
    assert not any("resumes after" in note for note in judge(evidence, state_never_corrupt).notes)


def test_a_slow_resume_that_ends_badly_fails_every_contract_the_table_names() -> None:
    late = tried(killed(5), ran(1, wall_s=31.5))
    evidence = seen(HANGING, tried(torn(7)), replays=(late,))
    for contract in (resume_equals_uninterrupted, state_never_corrupt):
        verdict = judge(evidence, contract)
        assert verdict.outcome is Outcome.FAILED
        assert verdict.failures[0].finding.headline.endswith(": resume exits 1")
        assert verdict.failures[0].notes == (
            "killed at step 5 (write state.json): resumes after 31.5 s, but not with exit 0",
        )
    assert replays_needed(evidence) == ()


def test_a_slow_check_is_settled_too() -> None:
    evidence = seen(
        tried(torn(5), check=HUNG), replays=(tried(torn(5), check=checked(wall_s=12.0)),)
    )
    judged, slow = settled(evidence)
    assert judged.experiments == evidence.replays
    assert [end.note for end in slow] == [
        "write cut short at step 5 (write state.json): is checked after 12.0 s"
    ]


def test_what_was_known_of_the_un_resumed_state_is_kept() -> None:
    experiment = tried(killed(18), HUNG, unresumed_check=checked("half", 1))
    judged, _ = settled(seen(experiment, replays=(tried(killed(18), SLOW),)))
    assert judged.experiments[0].unresumed_check == checked("half", 1)
    assert judged.experiments[0].resume == SLOW


@pytest.mark.parametrize(
    ("experiment", "replay"),
    [
        (HANGING, tried(killed(5), HUNG)),
        (HANGING, tried(killed(5), ran(problem="a process survived"))),
        (tried(killed(5), check=HUNG), tried(killed(5), HUNG)),
        (tried(killed(5), check=HUNG), tried(killed(5), ran(1))),
        (tried(killed(5), ran(1)), tried(killed(5))),
        (HANGING, tried(killed(6), SLOW)),
    ],
)
def test_all_else_stays_as_it_was(experiment: Experiment, replay: Experiment) -> None:
    evidence = seen(experiment, replays=(replay,))
    assert settled(evidence) == (evidence, ())
