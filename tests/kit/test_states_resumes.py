"""Crash after crash: names, states, and which of them are the same as a single crash's."""

from __future__ import annotations

import pytest

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.phases.second_crash.recoveries import in_turn, single_keys
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    Event,
    NodeKind,
    Operation,
    Unlink,
    Write,
)
from pytest_checkpoint.states.kill import CrashState, kill_state, parse
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.resumes import Resumes, crashed_again, crashes_before
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.states.torn import torn_state
from pytest_checkpoint.tree.image import ROOT, Directory, Image

EMPTY = Image(
    {ROOT: Directory(mode=0o700, entries={b"w": 1}), 1: Directory(mode=0o700, entries={})}
)


def recorded(start: Image, events: bytes, *effects: Effect) -> Recording:
    operations = tuple(
        Operation(step=step, call="call", path=b"w/x", effects=(effect,))
        for step, effect in enumerate(effects, start=1)
    )
    return Recording("slot", start, events, operations)


def created(name: bytes, node: int) -> Create:
    return Create(1, name, node, NodeKind.FILE, 0o600)


RUN = recorded(EMPTY, b"", Event(b"start a\n"), created(b"x", 2), Write(2, 0, b"ab"))


def resumed() -> tuple[StateSource, Resumes]:
    """Killed after ``x`` was created; the resume begins the stage again and removes it."""
    source = StateSource(RUN, Model.LINUX)
    first = source.timeline.after(2)
    resumes = Resumes.of(source)
    recording = recorded(
        first.image, first.events, Event(b"start a\n"), Unlink(1, b"x"), created(b"y", 9)
    )
    resumes.add(kill_state(2), recording)
    return source, resumes


def test_names_there_and_back() -> None:
    twice = crashed_again(kill_state(41), torn_state(5, 128))
    assert twice == parse("41.kill+5.torn-128")
    assert twice == CrashState(Fault.SECOND_CRASH, 41, "kill+5.torn-128")
    thrice = crashed_again(twice, kill_state(2))
    assert thrice == parse("41.kill+5.torn-128+2.kill")
    assert crashes_before(thrice) == [kill_state(41), twice]
    assert crashes_before(kill_state(41)) == []


@pytest.mark.parametrize("text", ["41.kill+", "41.kill+5.boom", "41.kill+5.empty-1", "+41.kill"])
def test_what_is_no_crash_after_a_crash_is_a_sentence(text: str) -> None:
    with pytest.raises(UserError, match="is no crash point"):
        parse(text)


def test_the_states_hold_what_both_recordings_did() -> None:
    source, _ = resumed()
    state = source.state(parse("2.kill+3.kill"))
    assert state.events == b"start a\nstart a\n"
    (workspace,) = [node for number, node in state.image.nodes.items() if number == 1]
    assert isinstance(workspace, Directory)
    assert set(workspace.entries) == {b"y"}


def test_a_crash_after_a_crash_in_words() -> None:
    source, _ = resumed()
    where = source.point(parse("2.kill+2.kill"))
    assert where.id == "2.kill+2.kill"
    assert (
        where.operation == "killed at step 2 (create x), then its resume killed at step 2 (call x)"
    )
    assert where.signature == "the resume: call x"
    assert where.total_steps == 3


def test_a_resume_that_is_not_known_is_a_sentence() -> None:
    source, _ = resumed()
    with pytest.raises(UserError, match=r"no recording of the resume after 1\.kill"):
        source.state(parse("1.kill+2.kill"))
    with pytest.raises(UserError, match="takes more than this recording"):
        StateSource(RUN, Model.LINUX).state(parse("1.kill+2.kill"))


def test_a_stage_that_is_begun_again_makes_no_other_state() -> None:
    source, resumes = resumed()
    known = single_keys(source, exhaustive=False, repeats=False)
    again = resumes.after(kill_state(2)).timeline
    keys = [again.key(step, repeats=False) for step in range(4)]
    # When it has removed the file, that is the state from before the file was made.
    assert [key in known for key in keys] == [True, True, True, False]
    exact = single_keys(source, exhaustive=False, repeats=True)
    assert again.key(0) in exact
    assert again.key(1) not in exact


def test_other_lines_do_make_one() -> None:
    def keys(*lines: bytes) -> list[bytes]:
        effects = tuple(map(Event, lines))
        timeline = Timeline(EMPTY, b"", recorded(EMPTY, b"", *effects).operations)
        return [timeline.key(step, repeats=False) for step in range(len(lines) + 1)]

    assert len({*keys(b"start a\n", b"done a\n", b"start b\n")}) == 4
    assert len({*keys(b"start a\n", b"start a\n", b"done a\n")}) == 3
    split, whole = keys(b"start a\n", b"sta", b"rt a\n"), keys(b"start a\n")
    assert split[1] == split[3] == whole[1]
    assert split[2] not in whole


def test_one_of_each_kind_first_and_the_start_of_the_run_last() -> None:
    crashes = {name: [kill_state(step) for step in steps] for name, steps in GROUPS.items()}
    assert [crash.step for crash in in_turn(list(crashes.values()))] == [4, 12, 2, 11, 6, 13, 0]


GROUPS = {"loop": (2, 4, 6), "end": (11, 12, 13), "start": (0,)}
