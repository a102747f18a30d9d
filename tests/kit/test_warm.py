"""Whether experiments may start warm: what two samples must share, and what casts doubt."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts import CATALOGUE
from checkpoint_contracts.evidence import (
    CrashPoint,
    Effect,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Reference,
)
from pytest_checkpoint.callables.calling import JOB
from pytest_checkpoint.callables.reference import reference_of
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases import warm
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.warm import COLD, Warmth, doubt, try_warm
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import Image

STORY = "python 3.11, 7 modules preloaded"
FINISHED = State(Image({}), b"")
RIGHT = Execution(exit_code=0, output="result")
GOOD = Result(exit_code=0, output="result\n", wall_s=0.1, user_cpu_s=0.05)


class Laboratory:
    """A bench on which nothing runs: it gives the results that a test has written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options = Options(rootdir=Path("/"))
        self.client = SimpleNamespace(scratch=Path("/scratch"))
        self.subject = SimpleNamespace(run=("python", "job.py"))
        self.fresh = [GOOD] * 6
        self.warm = [dataclasses.replace(GOOD, warm=STORY, wall_s=0.03)] * 2
        self.events = {True: [("done 1",)], False: [("done 1",)] * 3}
        self.operations: dict[bool, list[tuple[str, ...]]] = {
            True: [("open",)],
            False: [("open",)] * 3,
        }
        self.effects: dict[bool, list[tuple[Effect, ...]]] = {True: [()] * 3, False: [()] * 6}
        self.objects: dict[bool, list[str]] = {True: ["a"] * 3, False: ["a"] * 6}
        self.made: list[str] = []
        self._on = False
        monkeypatch.setattr(
            "pytest_checkpoint.phases.warm.journal.load",
            lambda _: self.operations[self._last].pop(0),
        )
        monkeypatch.setattr(warm, "signatures", self._signatures)
        monkeypatch.setattr(warm, "order", tuple)
        monkeypatch.setattr(warm, "set_up", lambda bench: None)
        self.rehearsed: tuple[str, ...] = ()
        self.recorded: tuple[str, ...] = ()
        self.keeps_order = False

    @contextmanager
    def warmly(self, *, on: bool) -> Iterator[bool]:
        self._on = self._last = on
        yield on
        self._on = False

    def put(self, state: State) -> None:
        assert state is FINISHED

    def learn_imports(self) -> None:
        self.made.append("run to learn from")

    def rehearse(self, recording: Path) -> None:
        self.made.append("warm run")
        self.operations[True].insert(0, self.rehearsed)
        self._last = True

    def new_events(self, before: bytes) -> tuple[str, ...]:
        return self.events[self._on].pop(0)

    def new_effects(self, before: bytes) -> tuple[Effect, ...]:
        return self.effects[self._on].pop(0)

    def stored(self) -> str:
        return self.objects[self._on].pop(0)

    def clean(self, text: str) -> str:
        return text

    @staticmethod
    def _signatures(recording: tuple[str, ...], *, without: list[bytes]) -> tuple[str, ...]:
        return tuple(one for one in recording if one.encode() not in without)

    def resume_told(self, deadline_s: float, recording: Path, *, in_order: bool) -> Result:
        assert not in_order
        return self._result("resume")

    def check_told(self, deadline_s: float) -> Result:
        return self._result("check")

    def _result(self, what: str) -> Result:
        self.made.append(f"{'warm' if self._on else 'fresh'} {what}")
        return (self.warm if self._on else self.fresh).pop(0)

    def tried(self, run: Execution | None = None, states: int = 100) -> Warmth:
        undisturbed = run or Execution(exit_code=0, user_cpu_s=0.05, startup_cpu_s=0.04)
        reference = Reference(run=undisturbed, finished_resume=RIGHT, check=RIGHT, events=())
        control = SimpleNamespace(reference=reference, recording=self.recorded)
        return try_warm(
            cast(Bench, self), cast(Control, control), FINISHED, states, SilentProgress()
        )


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    return Laboratory(monkeypatch)


def changed(result: Result, **values: Any) -> Result:
    return dataclasses.replace(result, **values)


def test_alike(laboratory: Laboratory) -> None:
    decided = laboratory.tried()
    assert decided.on
    assert decided.notes == (f"resumes and checks start warm ({STORY})",)
    assert laboratory.made == ["warm resume", "warm check", "fresh resume", "fresh check"]
    assert decided.saves_s == pytest.approx(0.14)


def test_folders_that_are_made_first_may_be_made_first(laboratory: Laboratory) -> None:
    laboratory.operations = {True: [("t/cache", "open")], False: [("open", "t/cache")] * 3}
    assert not laboratory.tried().on
    laboratory.operations = {True: [("t/cache", "open")], False: [("open", "t/cache")] * 3}
    laboratory.events = {True: [("done 1",)], False: [("done 1",)] * 3}
    laboratory.fresh = [GOOD] * 6
    first = changed(GOOD, warm=STORY, made_first=("t/cache",))
    laboratory.warm = [first, changed(GOOD, warm=STORY)]
    assert laboratory.tried().on


def test_what_a_function_imports_is_learned(laboratory: Laboratory) -> None:
    """However short its run is: the program that calls it says nothing of that."""
    function = reference_of("run", test_alike).command(JOB)
    laboratory.subject = SimpleNamespace(run=function)

    laboratory.tried()

    assert laboratory.made[:2] == ["run to learn from", "warm run"]


LONG = Execution(exit_code=0, wall_s=0.5, user_cpu_s=0.5, startup_cpu_s=0.4)
OTHERWISE = ("t/cache", "open", "write")


@pytest.mark.parametrize(
    ("rehearsed", "resumed", "kept"),
    [
        (("open", "t/cache", "write"), ("open", "t/cache"), True),
        (OTHERWISE, ("open", "t/cache"), False),
        (("open", "t/cache", "write"), ("t/cache", "open"), False),
    ],
    ids=["as they come", "another way in the run", "another way in the resume"],
)
def test_the_order_in_which_a_long_job_imports(
    laboratory: Laboratory, rehearsed: tuple[str, ...], resumed: tuple[str, ...], kept: bool
) -> None:
    """Where it is kept, all that was learned is loaded for runs with a fault as well."""
    laboratory.recorded, laboratory.rehearsed = ("open", "t/cache", "write"), rehearsed
    laboratory.operations = {True: [resumed], False: [("open", "t/cache")]}
    laboratory.warm[0] = changed(GOOD, warm=STORY, made_first=("t/cache",))
    assert laboratory.tried(LONG).on
    assert laboratory.made[:3] == ["run to learn from", "warm run", "warm resume"]
    assert laboratory.keeps_order is kept


def test_it_is_not_even_tried(laboratory: Laboratory) -> None:
    assert laboratory.tried(states=warm.FEWEST_STATES - 1) is COLD
    laboratory.options = dataclasses.replace(laboratory.options, fresh=True)
    assert laboratory.tried() is COLD
    assert laboratory.made == []


@pytest.mark.parametrize(
    ("results", "notes"),
    [
        (
            [changed(GOOD, warm=STORY), changed(GOOD, fresh_because="")],
            (f"resumes start warm ({STORY})",),
        ),
        (
            [changed(GOOD, fresh_because="its option -i is not good"), changed(GOOD, warm=STORY)],
            ("resumes start fresh: its option -i is not good", f"checks start warm ({STORY})"),
        ),
    ],
)
def test_one_of_the_two(
    laboratory: Laboratory, results: list[Result], notes: tuple[str, ...]
) -> None:
    laboratory.warm = results
    assert laboratory.tried() == Warmth(on=True, notes=notes, saves_s=0.0)


@pytest.mark.parametrize(
    ("why", "notes"), [("", ()), ("it is odd", ("resumes and checks start fresh: it is odd",))]
)
def test_neither(laboratory: Laboratory, why: str, notes: tuple[str, ...]) -> None:
    laboratory.warm = [changed(GOOD, fresh_because=why)] * 2
    assert laboratory.tried() == Warmth(on=False, notes=notes)
    assert laboratory.made == ["warm resume", "warm check"]


DIFFERENCES: dict[str, tuple[int, dict[str, Any]]] = {
    "resume's exit": (0, {"exit_code": 3}),
    "resume's output": (0, {"output": "other"}),
    "resume's error output": (0, {"error_output": "Traceback"}),
    "check's exit": (1, {"exit_code": None, "signal": 11}),
    "check's output": (1, {"output": ""}),
    "files outside": (0, {"created_outside": ("/x",)}),
}


@pytest.mark.parametrize("what", DIFFERENCES)
def test_a_difference(laboratory: Laboratory, what: str) -> None:
    which, values = DIFFERENCES[what]
    laboratory.warm[which] = changed(laboratory.warm[which], **values)
    decided = laboratory.tried()
    assert not decided.on
    (note,) = decided.notes
    assert note.startswith(f"resumes and checks start fresh: warm, the {what} ")
    # Two fresh ones were compared as well.
    assert laboratory.made[4:] == ["fresh resume", "fresh check"]


def test_a_difference_in_what_was_done(laboratory: Laboratory) -> None:
    laboratory.operations[True] = [("open", "write")]
    laboratory.events[True] = [("start 1",)]
    (note,) = laboratory.tried().notes
    assert note == (
        "resumes and checks start fresh: warm, the events are ('start 1',), not ('done 1',); "
        "the operations are ('open', 'write'), not ('open',)"
    )


def test_a_difference_in_what_the_store_holds(laboratory: Laboratory) -> None:
    laboratory.objects[True] = ["b"]
    (note,) = laboratory.tried().notes
    assert note == "resumes and checks start fresh: warm, the objects are 'b', not 'a'"


def test_what_varies_between_fresh_ones_says_nothing(laboratory: Laboratory) -> None:
    laboratory.warm[0] = changed(laboratory.warm[0], output="pid 1")
    laboratory.fresh = [changed(GOOD, output="pid 2"), GOOD, changed(GOOD, output="pid 3"), GOOD]
    assert laboratory.tried().on


def test_what_varies_does_not_hide_another_difference(laboratory: Laboratory) -> None:
    laboratory.warm[0] = changed(laboratory.warm[0], output="pid 1", exit_code=1)
    laboratory.fresh = [changed(GOOD, output="pid 2"), GOOD, changed(GOOD, output="pid 3"), GOOD]
    (note,) = laboratory.tried().notes
    assert note.startswith("resumes and checks start fresh: warm, the resume's exit is (1, ")


# --- where CPU is judged ---


def point(step: int, fault: Fault = Fault.KILL) -> CrashPoint:
    return CrashPoint(
        fault=fault, step=step, variant=str(fault), operation="write", signature="w", total_steps=9
    )


def test_no_cpu_is_judged(laboratory: Laboratory) -> None:
    decided = laboratory.tried(Execution(exit_code=0, user_cpu_s=0.19, startup_cpu_s=0.1))
    assert all(decided.serves(point(step), ()) for step in range(10))


def test_only_the_finished_job_is_compared_by_cpu(laboratory: Laboratory) -> None:
    """As with a long import: start-up is more than half of the run."""
    decided = laboratory.tried(Execution(exit_code=0, user_cpu_s=2.0, startup_cpu_s=1.5))
    assert decided.serves(point(8), (2,))
    assert not decided.serves(point(9), ())
    assert not decided.serves(point(3), (9,))
    assert decided.serves(point(9, Fault.TORN), ())


def test_resumes_after_kills_are_compared_by_cpu(laboratory: Laboratory) -> None:
    decided = laboratory.tried(Execution(exit_code=0, user_cpu_s=1.0, startup_cpu_s=0.1))
    assert not any(decided.serves(point(step), ()) for step in range(10))
    assert decided.serves(point(9, Fault.POWER_LOSS), ())
    assert decided.notes[1:] == ("resumes after kills start fresh: what CPU they use is judged",)


def test_cpu_keeps_nobody_fresh_where_it_is_not_judged(laboratory: Laboratory) -> None:
    selected = frozenset({"state-never-corrupt"})
    laboratory.options = dataclasses.replace(laboratory.options, contracts=selected)
    decided = laboratory.tried(Execution(exit_code=0, user_cpu_s=1.0, startup_cpu_s=0.1))
    assert all(decided.serves(point(step), ()) for step in range(10))


def test_cold_serves_nobody() -> None:
    assert not COLD.serves(point(1, Fault.TORN), ())


# --- doubt ---

WRONG = Execution(exit_code=1)
DEADLINES = Deadlines(resume_s=10, check_s=10)


def experiment(where: CrashPoint, resume: Execution) -> Experiment:
    check = RIGHT if resume.succeeded else None
    return Experiment(point=where, events_before=(), resume=resume, check=check)


def doubted(
    seen: Execution, replayed: Execution | None, started_warm: bool = True
) -> CrashPoint | None:
    where = point(2)
    evidence = Evidence(
        subject="job",
        capabilities=frozenset(),
        faults=frozenset({Fault.KILL}),
        reference=Reference(run=RIGHT, finished_resume=RIGHT, check=RIGHT, events=()),
        experiments=(experiment(where, seen),),
        replays=() if replayed is None else (experiment(where, replayed),),
    )
    warm_points = frozenset({where}) if started_warm else frozenset[CrashPoint]()
    return doubt(evidence, CATALOGUE.values(), warm_points, DEADLINES)


def test_a_failure_that_shows_again_is_none() -> None:
    assert doubted(WRONG, WRONG) is None


def test_a_failure_that_does_not_show_again_is_a_doubt() -> None:
    assert doubted(WRONG, RIGHT) == point(2)


def test_a_failure_that_was_seen_fresh_is_the_subjects_own() -> None:
    assert doubted(WRONG, RIGHT, started_warm=False) is None


def test_what_was_not_replayed_is_no_doubt() -> None:
    assert doubted(WRONG, None) is None
    assert doubted(RIGHT, None) is None


def test_a_hang_that_ends_in_time_is_a_doubt() -> None:
    hang = Execution(exit_code=None, timed_out=True, wall_s=10)
    assert doubted(hang, dataclasses.replace(RIGHT, wall_s=0.2)) == point(2)
    # It had more time than the first: a lock that expires, say.
    assert doubted(hang, dataclasses.replace(RIGHT, wall_s=20)) is None
    assert doubted(hang, Execution(exit_code=None, timed_out=True, wall_s=60)) is None
