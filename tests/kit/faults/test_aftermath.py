"""Crashes after a fault: only those that would not be there without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from checkpoint_contracts.evidence import Execution, Reference, Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg, Shown
from pytest_checkpoint.phases.faults.aftermath import Crash, kills, losses, resumed
from pytest_checkpoint.phases.faults.conduct import Conducted
from pytest_checkpoint.phases.faults.planned import point
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import Image
from tests.kit.power_loss.programs import Program, tree

ALL = tuple(Model)
OK = Execution(exit_code=0)


def conducted(program: Program, step: int, kind: TrialKind = TrialKind.IO_ERROR) -> Conducted:
    """The run of a program, whose fault showed at this step."""
    where = point(kind, step, "eio", "EIO at step 3 (fsync tmp)", "error at fsync tmp", 9)
    leg = Leg(command=Command.RUN, execution=Execution(exit_code=0))
    trial = Trial(point=where, kind=kind, legs=(leg,), shown=Shown(step=step))
    recording = Recording("/slot", program.start, b"", tuple(program.operations))
    return Conducted(trial=trial, recording=recording, left=State(Image({}), b""))


def saved(*after: str) -> Program:
    """A state replaced whose sync fails; ``after``: what the job does about it."""
    program = Program(state=b"old")
    program.create("tmp")
    program.write("tmp", b"new")
    program.failed_fsync("tmp")
    for step in after:
        match step:
            case "again":
                program.fsync("tmp")
            case "anew":
                program.unlink("tmp")
                program.create("tmp")
                program.write("tmp", b"new")
                program.fsync("tmp")
            case "rename":
                program.rename("tmp", "state")
                program.fsync("")
            case _:
                program.event(step)
    return program


def after(program: Program, model: Model = Model.LINUX, most: int = 40) -> list[Crash]:
    return list(losses(conducted(program, 3), model, frozenset(), most=most))


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("deed", ["ignored", "again"])
def test_what_the_failed_sync_was_to_save_is_lost(deed: str, model: Model) -> None:
    """Also where a second sync of the same file says that all is well."""
    program = saved(*([] if deed == "ignored" else ["again"]), "rename", "done a")
    found = after(program, model)
    trees = [tree(one.state.image) for one in found]
    assert {"state": b""} in trees
    assert {"state": b"new"} not in trees
    assert all(one.lost for one in found)
    assert all(one.point.variant.startswith("eio+") for one in found)
    assert {one.kind for one in found} == {TrialKind.FAILED_SYNC}
    # Had the sync succeeded, the same loss would have left it whole.
    (whole,) = {tree(one.without.image)["state"] for one in found if one.without is not None}
    assert whole == b"new"


def test_the_same_loss_right_before_the_sync_goes_with_it() -> None:
    """What it takes was lost without the failed sync: nothing written later is there."""
    found = after(saved("rename", "done a"))
    trees = [tree(one.before.image) for one in found if one.before is not None]
    assert len(trees) == len(found) > 0
    assert all(one["state"] == b"old" for one in trees)
    assert all(one.before.events == b"" for one in found if one.before is not None)


@pytest.mark.parametrize("model", ALL)
def test_what_was_written_anew_is_not_lost(model: Model) -> None:
    trees = [tree(one.state.image) for one in after(saved("anew", "rename", "done a"), model)]
    assert all(one["state"] == b"new" for one in trees)


def test_the_moments_are_the_end_and_every_later_done_line() -> None:
    program = saved("rename", "done a")
    program.write("state", b"more")
    program.event("done b")
    program.event("note")
    assert {int(one.point.variant.split("+")[1].split(".")[0]) for one in after(program)} <= {
        6,
        8,
        9,
    }
    assert [one.after_end for one in after(program)] == [
        "+9." in one.point.variant for one in after(program)
    ]
    words = after(program)[0].point.operation
    assert words.startswith("EIO at step 3 (fsync tmp), and power lost after step 9 (")


def test_what_was_seen_already_is_left_out_and_no_more_than_wanted() -> None:
    program = saved("rename", "done a")
    found = after(program)
    assert len(after(program, most=1)) == 1
    seen = frozenset(one.state.key for one in found)
    assert list(losses(conducted(program, 3), Model.LINUX, seen, most=40)) == []


class _Slot:
    """Resumes without processes: it says that it starts again what ``again`` says of a state."""

    def __init__(self, again: Mapping[str, tuple[str, ...]]) -> None:
        self._again = again
        self.bench: Any = SimpleNamespace(
            put=lambda state: None, subject=SimpleNamespace(capabilities=frozenset())
        )
        self.control: Any = SimpleNamespace(
            reference=Reference(
                run=OK,
                finished_resume=OK,
                check=OK,
                events=("start a", "done a", "start b", "done b"),
            )
        )

    def resumed(self, trial: Trial, left: State) -> Trial:
        events = tuple(f"start {name}" for name in self._again[left.events.decode()])
        leg = Leg(command=Command.RESUME, execution=OK, events=events)
        return dataclasses.replace(trial, legs=(*trial.legs, leg), check=OK)


@pytest.mark.parametrize(
    ("before", "starts"),
    [(("a", "b"), ("start a", "start b")), (("b",), ())],
    ids=["lost before the sync too", "lost since"],
)
def test_what_the_same_loss_takes_right_before_the_sync_is_no_matter_of_it(
    before: tuple[str, ...], starts: tuple[str, ...]
) -> None:
    """Of a journal whose removal was not synced the sync of the next one is not guilty."""
    done = b"start a\ndone a\n"
    program = saved()
    made = conducted(program, 3)
    crash = Crash(
        point=made.trial.point,
        kind=TrialKind.FAILED_SYNC,
        state=State(Image({}), done + b"start b\n"),
        without=State(Image({}), done + b"start b\nnote\n"),
        before=State(Image({}), done),
    )
    slot: Any = _Slot(
        {
            "start a\ndone a\nstart b\n": ("a", "b"),
            "start a\ndone a\nstart b\nnote\n": (),
            "start a\ndone a\n": before,
        }
    )
    assert resumed(slot, made, crash).unspoilt[0].events == starts


def test_a_sync_of_what_is_not_known_gives_nothing() -> None:
    program = saved("rename", "done a")
    failed = program.operations[2]
    program.operations[2] = type(failed)(
        step=3, call="fsync", path=b"w/elsewhere", effects=(), error=5
    )
    assert after(program) == []


def test_kills_since_the_signal_but_those_of_the_undisturbed_run() -> None:
    undisturbed = saved("anew", "rename")
    source = StateSource(
        Recording("/slot", undisturbed.start, b"", tuple(undisturbed.operations)), Model.LINUX
    )
    keys = frozenset(source.timeline.key(step) for step in range(undisturbed.step + 1))
    told = Program(state=b"old")
    told.create("tmp")
    told.write("tmp", b"new")
    told.truncate("tmp", 1)  # the handler
    told.rename("tmp", "state")
    found = list(kills(conducted(told, 2, TrialKind.SIGNALLED), keys, most=40))
    assert [tree(one.state.image) for one in found] == [
        {"state": b"old", "tmp": b"n"},
        {"state": b"n"},
    ]
    assert [one.point.variant for one in found] == ["eio+3.kill", "eio+4.kill"]
    assert {one.kind for one in found} == {TrialKind.GRACE_TOO_SHORT}


def test_a_kill_that_leaves_what_one_of_the_undisturbed_run_does_is_no_matter_of_the_signal() -> (
    None
):
    told = Program(state=b"old")
    told.create("tmp")
    told.write("tmp", b"new")
    start = StateSource(Recording("/slot", told.start, b"", ()), Model.LINUX)
    told.unlink("tmp")  # the handler: as before the first operation
    made = conducted(told, 2, TrialKind.SIGNALLED)
    assert list(kills(made, frozenset({start.timeline.key(0)}), most=40)) == []
    assert len(list(kills(made, frozenset(), most=40))) == 1
