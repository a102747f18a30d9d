"""What is explored first, and what counts as covered."""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    Event,
    NodeKind,
    Operation,
    Rename,
    Sync,
    Truncate,
    Write,
)
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.order import Plan, plan, spread
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.states.torn import torn_state
from pytest_checkpoint.tree.image import ROOT, Directory, Image

BOTH = frozenset({Fault.KILL, Fault.TORN})
_START = Image(
    {ROOT: Directory(mode=0o700, entries={b"w": 1}), 1: Directory(mode=0o700, entries={})}
)


def _operations(*steps: tuple[str, bytes, Effect]) -> list[Operation]:
    return [
        Operation(step=step, call=call, path=path, effects=(effect,))
        for step, (call, path, effect) in enumerate(steps, start=1)
    ]


ATOMIC_WRITE = _operations(
    ("openat", b"w/s.tmp", Create(1, b"s.tmp", 2, NodeKind.FILE, 0o600)),
    ("write", b"w/s.tmp", Write(2, 0, b"ab\ncdefgh")),
    ("fsync", b"w/s.tmp", Sync(2, data_only=False)),
    ("rename", b"w/s.tmp", Rename(1, b"s.tmp", 1, b"s")),
    ("write", b"events", Event(b"done 1\n")),
)


def _plan(
    operations: list[Operation],
    *,
    faults: Set[Fault] = BOTH,
    seed: int = 0,
    max_states: int = 2000,
    exhaustive: bool = False,
) -> Plan:
    source = StateSource(Recording("slot", _START, b"", tuple(operations)), Model.LINUX)
    return plan(
        source,
        faults=faults,
        seed=seed,
        max_states=max_states,
        exhaustive=exhaustive,
    )


def _ids(made: Plan) -> list[str]:
    return [f"{state.crash.step}.{state.crash.variant}" for state in made.states]


def test_order_of_an_atomic_write() -> None:
    made = _plan(ATOMIC_WRITE)
    ids = _ids(made)
    # One per operation and kind: the kills, both ends and the middle first; then the first cut.
    assert ids[:6] == ["0.kill", "5.kill", "2.kill", "1.kill", "4.kill", "2.torn-4"]
    # Then the first, the last and the newline's cut of each write, then what is left.
    assert ids[6:9] == ["2.torn-1", "2.torn-8", "2.torn-3"]
    assert sorted(ids[9:]) == ["2.torn-2", "2.torn-5", "2.torn-6", "2.torn-7"]


def test_equal_states_are_put_together() -> None:
    made = _plan(ATOMIC_WRITE)
    assert made.derived == {Fault.KILL: 6, Fault.TORN: 8}
    assert made.unique == {Fault.KILL: 5, Fault.TORN: 8}
    (written,) = [state for state in made.states if state.crash == kill_state(2)]
    assert written.aliases == [kill_state(3)]  # fsync changes nothing that a kill could lose


def test_a_torn_state_that_a_kill_leaves_counts_under_the_kill() -> None:
    operations = _operations(
        ("openat", b"w/f", Create(1, b"f", 2, NodeKind.FILE, 0o600)),
        ("write", b"w/f", Write(2, 0, b"aaa")),
        ("truncate", b"w/f", Truncate(2, 1)),
    )
    made = _plan(operations)
    assert made.unique == {Fault.KILL: 4, Fault.TORN: 1}
    assert made.derived == {Fault.KILL: 4, Fault.TORN: 2}
    (cut,) = [state for state in made.states if state.crash == kill_state(3)]
    assert cut.aliases == [torn_state(2, 1)]
    # Exploring the kill covers that cut.
    explored = {kill_state(step) for step in range(4)}
    assert made.coverage(explored)[Fault.TORN].unreached == (
        "torn at step 2 (write f (3 bytes at 0)): 1 of 2 main cuts",
    )
    assert made.coverage(explored | {torn_state(2, 2)})[Fault.TORN].unreached == ()
    # Where kills were not asked for, it is a torn state of its own.
    assert _plan(operations, faults={Fault.TORN}).unique == {Fault.TORN: 2}


def test_one_fault_alone() -> None:
    kills = _plan(ATOMIC_WRITE, faults={Fault.KILL})
    assert _ids(kills) == ["0.kill", "5.kill", "2.kill", "1.kill", "4.kill"]
    assert set(kills.coverage(set())) == {Fault.KILL}
    torn = _plan(ATOMIC_WRITE, faults={Fault.TORN})
    assert _ids(torn)[:4] == ["2.torn-4", "2.torn-1", "2.torn-8", "2.torn-3"]
    assert set(torn.coverage(set())) == {Fault.TORN}


def test_no_operations_leave_one_state() -> None:
    made = _plan([])
    assert _ids(made) == ["0.kill"]
    coverage = made.coverage({kill_state(0)})
    assert all(each.complete and not each.unreached for each in coverage.values())


def test_the_rest_is_shuffled_by_the_seed() -> None:
    operations = _operations(
        ("openat", b"w/f", Create(1, b"f", 2, NodeKind.FILE, 0o600)),
        ("write", b"w/f", Write(2, 0, bytes(range(11, 111)))),
    )
    one, again, other = (_ids(_plan(operations, seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert one[:6] == other[:6]
    assert sorted(one) == sorted(other)


def test_states_are_at_most_as_many_as_asked_for() -> None:
    whole = _plan(ATOMIC_WRITE)
    short = _plan(ATOMIC_WRITE, max_states=7)
    assert _ids(short) == _ids(whole)[:7]
    assert short.unique == whole.unique
    assert _ids(_plan(ATOMIC_WRITE, max_states=7, exhaustive=True)) == _ids(whole)


def test_states_are_built_one_by_one() -> None:
    made = _plan(ATOMIC_WRITE)
    timeline = Timeline(_START, b"", ATOMIC_WRITE)
    for unique, state in made:
        crash = unique.crash
        expected = (
            timeline.after(crash.step)
            if crash.cut is None
            else timeline.torn(crash.step, crash.cut)
        )
        assert state.key == expected.key == made.materialize(unique).key
    assert len({state.key for _, state in made}) == len(made.states)


def test_coverage_names_what_was_never_reached() -> None:
    made = _plan(ATOMIC_WRITE)
    nothing = made.coverage(set())
    assert nothing[Fault.KILL].unreached == (
        "kill before the first operation",
        "kill at step 1 (create s.tmp)",
        "kill at step 2 (write s.tmp (9 bytes at 0))",
        "kill at step 3 (fsync s.tmp)",
        "kill at step 4 (rename s.tmp)",
        'kill at step 5 (event "done 1")',
    )
    assert nothing[Fault.TORN].unreached == (
        "torn at step 2 (write s.tmp (9 bytes at 0)): 4 of 4 main cuts",
    )
    partly = made.coverage({state.crash for state in made.states[:7]})
    assert partly[Fault.KILL].unreached == ()
    assert (partly[Fault.KILL].explored, partly[Fault.KILL].complete) == (5, True)
    assert partly[Fault.TORN].unreached == (
        "torn at step 2 (write s.tmp (9 bytes at 0)): 2 of 4 main cuts",
    )
    main = made.coverage({state.crash for state in made.states[:9]})[Fault.TORN]
    assert (main.unreached, main.explored, main.unique, main.complete) == ((), 4, 8, False)
    whole = made.coverage({state.crash for state in made.states})
    assert all(each.complete for each in whole.values())


def test_known_hangs_are_neither_explored_nor_unreached() -> None:
    made = _plan(ATOMIC_WRITE)
    hang = torn_state(2, 4)
    explored = {state.crash for state in made.states} - {hang}
    torn = made.coverage(explored, [hang])[Fault.TORN]
    assert torn.unreached == ()
    assert [known.id for known in torn.known_hangs] == ["2.torn-4"]
    assert (torn.explored, torn.complete) == (7, False)


def test_a_state_that_is_not_of_the_plan_is_a_sentence() -> None:
    made = _plan(ATOMIC_WRITE)
    with pytest.raises(HarnessError, match=r"3\.kill is said to be explored, but is no state"):
        made.coverage({kill_state(3)})  # an alias: its state goes by the name 2.kill


@given(st.integers(0, 300))
def test_spread_takes_each_once(count: int) -> None:
    assert sorted(spread(count)) == list(range(count))


@given(st.integers(2, 300), st.integers(2, 300))
def test_spread_is_even_from_the_start(count: int, taken: int) -> None:
    order = spread(count)
    assert order[:2] == [0, count - 1]
    seen = sorted(order[:taken])
    gaps = [after - before for before, after in pairwise(seen)]
    assert max(gaps, default=0) <= 2 * min(gaps, default=0) + 2
