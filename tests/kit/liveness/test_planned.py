"""At which operations a heartbeat is put to the test, and what each is called."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.liveness.planned import (
    KINDS,
    WHOLE_RUN,
    Seen,
    find,
    is_of_one_process,
    places,
    planned,
)
from pytest_checkpoint.phases.liveness.trials import WatchedAgain
from pytest_checkpoint.record.operations import Event, Operation
from pytest_checkpoint.record.receiver.arrivals import ARRIVE
from pytest_checkpoint.subject import HeartbeatSource, Subject

COMMAND = ("true", "{workspace}")
SUBJECT = Subject(
    name="job",
    run=COMMAND,
    resume=COMMAND,
    check=COMMAND,
    heartbeat=HeartbeatSource(glob="beat.json", stale_after_s=1.0),
    ephemeral=("log",),
    working_directory=Path("/"),
)


def operations(*words: str, worker: int = 7) -> tuple[Operation, ...]:
    """``+line`` is an event, ``~`` a beat by another process, else a file that is made; a step a
    second."""
    made = []
    for step, word in enumerate(words, 1):
        by = worker if word != "~" else worker + 1
        effects = (Event(f"{word[1:]}\n".encode()),) if word.startswith("+") else ()
        path = b"" if effects else b"w/beat.json" if word == "~" else b"w/" + word.encode()
        made.append(
            Operation(
                step=step,
                call="write" if effects else "openat",
                path=path,
                effects=effects,
                process=by,
                thread=by,
                time_ns=step * 10**9,
            )
        )
    return tuple(made)


def seen(run: tuple[Operation, ...], first_s: float, last_s: float, **size: int) -> Seen:
    recording = cast("Any", SimpleNamespace(operations=run, start_events=b""))
    return Seen(
        recording=recording,
        first_ns=int(first_s * 1e9),
        last_ns=int(last_s * 1e9),
        first_bytes=size.get("first", 0),
        last_bytes=size.get("last", 0),
    )


AT_AN_OPERATION = set(KINDS) - WHOLE_RUN.keys()
RECORDED = operations("a", "+start 1", "~", "b", "+done 1", "~", "+start 2", "c", "+done 2")


def test_event_lines_between_the_first_and_the_last_beat() -> None:
    """By the size of the events file; their steps are those of the recording."""
    other = operations("a", "~", "+start 1", "~", "b", "~", "+done 1", "+start 2", "+done 2")
    assert places(RECORDED, seen(other, 0, 0, first=8, last=23), SUBJECT) == [5, 7]
    assert places(RECORDED, seen(other, 0, 99), SUBJECT) == []


def test_where_there_are_none_what_the_work_does_meanwhile() -> None:
    """Neither beats nor what is ephemeral, nor what one run has more often."""
    recorded = operations("a", "~", "b", "log", "c", "c", "d")
    other = operations("~", "a", "b", "~", "log", "c", "d", worker=20)
    assert places(recorded, seen(other, 2, 7), SUBJECT) == [1, 3, 7]
    assert places(recorded, seen(other, 3, 6), SUBJECT) == [3]


def test_of_several_processes_nobody_knows_which_beats() -> None:
    by_two = (*operations("a", "b"), *operations("c", worker=9))
    other = tuple(
        Operation(
            step=step,
            call=one.call,
            path=one.path,
            effects=(),
            process=one.process,
            thread=one.thread,
            time_ns=step * 10**9,
        )
        for step, one in enumerate(by_two, 1)
    )
    assert places(other, seen(other, 0, 9), SUBJECT) == []
    assert not is_of_one_process(other, SUBJECT)
    assert is_of_one_process(RECORDED, SUBJECT)


def test_first_and_last_and_middle_come_first() -> None:
    steps = [2, 5, 7, 9]
    found = planned(RECORDED, TrialKind.STOPPED, steps, 3)
    assert [one.point.id for one in found] == ["2.stopped", "9.stopped", "5.stopped"]
    assert found[0].point.operation == 'stopped (SIGSTOP) at step 2 (event "start 1")'
    assert found[0].point.signature == 'stopped (SIGSTOP) at event "start #"'


def test_a_whole_run_is_tried_once() -> None:
    for kind in (TrialKind.LOADED, TrialKind.SLOW_CALLS, TrialKind.CLOCK_SET):
        (one,) = planned(RECORDED, kind, [], 4)
        assert (one.point.id, one.mark) == (f"0.{kind}", None)


def test_each_is_found_by_its_name() -> None:
    for kind in AT_AN_OPERATION:
        (one,) = planned(RECORDED, kind, [5], 4)
        assert find(RECORDED, 5, kind.value) == one
        assert find(RECORDED, 0, kind.value) is None
        assert find(RECORDED, 10, kind.value) is None
    assert find(RECORDED, 0, "loaded") is not None
    assert find(RECORDED, 5, "loaded") is None
    assert find(RECORDED, 5, "eio") is None


@pytest.mark.parametrize("point_id", ["5.eio", "5.held", "50.stopped", "x.stopped", "stopped"])
def test_one_that_there_is_not_is_a_sentence(point_id: str) -> None:
    """Before anything runs."""
    control = cast("Any", SimpleNamespace(recording=SimpleNamespace(operations=RECORDED)))
    bench = cast("Any", SimpleNamespace(options=Options(rootdir=Path())))
    again = WatchedAgain(bench, control)
    with pytest.raises(UserError, match=f"there is no trial {point_id} of stale-heartbeat-is-"):
        again.again("stale-heartbeat-is-noticed", point_id, None)


def test_what_the_kit_writes_down_itself_is_no_work_of_the_jobs() -> None:
    run = operations("+start a", "state", "+done a")
    arrived = dataclasses.replace(run[1], call=ARRIVE, path=b"effects", process=1, thread=1)
    assert is_of_one_process((*run, arrived), SUBJECT)
    assert not is_of_one_process((*run, dataclasses.replace(arrived, call="write")), SUBJECT)
