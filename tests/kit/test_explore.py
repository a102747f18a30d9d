"""What one explored state stands for besides itself."""

from __future__ import annotations

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.phases.explore import equal_steps
from pytest_checkpoint.states.kill import CrashState, kill_state
from pytest_checkpoint.states.order import UniqueState
from pytest_checkpoint.states.torn import torn_state


def test_a_state_stands_for_every_kill_that_leaves_it() -> None:
    loss = CrashState(Fault.POWER_LOSS, 9, "power-loss-names-kept-data-kept")
    unique = UniqueState(kill_state(3), [kill_state(4), torn_state(5, 1), kill_state(7), loss])

    assert equal_steps(unique) == (4, 7)
