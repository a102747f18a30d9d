"""What is tried, again, and left out: with runs that a test makes up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import Execution, Reference, Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg, Shown
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults import conduct
from pytest_checkpoint.phases.faults.conduct import Conducted, Faulty
from pytest_checkpoint.phases.faults.conductors import Conductors
from pytest_checkpoint.phases.faults.doubts import DoubtedWarmth
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.phases.faults.tries import FaultTrials
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.image import Image
from tests.kit.power_loss.programs import Program

FULL, ERRORS = TrialKind.NO_SPACE, TrialKind.IO_ERROR
GOOD, BAD = Execution(exit_code=0), Execution(exit_code=0, output="other")
HUNG = Execution(exit_code=None, timed_out=True)


class Bench:
    """Knows only whether executions start warm now, and whether known checks are made again."""

    def __init__(self, options: Options) -> None:
        command = ("job", "{workspace}")
        self.options = options
        self.warm = False
        self.reuses_checks = False
        self.subject = Subject(
            name="job", run=command, resume=command, check=command, working_directory=Path()
        )

    @contextmanager
    def warmly(self, *, on: bool) -> Iterator[bool]:
        before, self.warm = self.warm, on
        yield on
        self.warm = before

    @contextmanager
    def reusing_checks(self) -> Iterator[None]:
        self.reuses_checks = True
        yield
        self.reuses_checks = False


class Laboratory:
    """Makes runs up: ``ends`` says how the run ends, and what the check says, warm or not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.bench = Bench(Options(rootdir=Path(), **options))
        self.made: list[tuple[str, bool]] = []
        self.reused: list[bool] = []
        """Of each that was made, whether a check that is known was not made again."""
        self.ends: Callable[[PlannedFault, bool], tuple[Execution, Execution | None]] = (
            lambda planned, warm: (GOOD, GOOD)
        )
        self.no_room = ""
        monkeypatch.setattr(Faulty, "_once", lambda faulty, planned: self._once(planned))
        monkeypatch.setattr(Faulty, "closes", lambda faulty: ())
        self.program = program = Program()
        for name in ("a", "b"):
            program.create(name)
            program.write(name, b"x" * 5000)
        self.recording = Recording("/slot", program.start, b"", tuple(program.operations))

    def _once(self, planned: PlannedFault) -> Conducted:
        self.made.append((planned.point.id, self.bench.warm))
        self.reused.append(self.bench.reuses_checks)
        run, check = self.ends(planned, self.bench.warm)
        is_real = planned.point.variant.endswith("-real")
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            legs=(Leg(command=Command.RUN, execution=run),),
            check=check,
            shown=Shown(step=1, real=is_real),
        )
        no_room = self.no_room if is_real else ""
        room = "a tmpfs of its own" if is_real else ""
        left = State(Image({}), b"")
        return Conducted(trial=trial, recording=None, left=left, room=room, no_room=no_room)

    def trials(
        self, *kinds: TrialKind, warm: bool = False, logbook: Logbook = FORGETFUL
    ) -> FaultTrials:
        reference = Reference(run=GOOD, finished_resume=GOOD, check=GOOD, events=())
        control = Control(
            reference=reference,
            recording=self.recording,
            start=State(Image({}), b""),
            deadlines=cast("Any", None),
            unreadable=(),
            notes=(),
        )
        source = StateSource(self.recording, Model.LINUX)
        bench = cast("Any", self.bench)
        return FaultTrials(bench, control, source, kinds, warm=warm, logbook=logbook)


def do(trials: FaultTrials) -> FaultTrials:
    for work in (*trials.needed(), *trials.others()):
        for _ in work:
            pass
    return trials


def test_what_covers_an_operation_and_then_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch)
    trials = do(laboratory.trials(FULL, ERRORS))
    assert trials.count == len(trials.made) == len(laboratory.made)
    coverage = trials.coverage()
    assert coverage[FULL].unreached == coverage[ERRORS].unreached == ()
    assert coverage[ERRORS].explored == sum(one.kind is ERRORS for one in trials.made)
    assert trials.room.endswith("in truth: a tmpfs of its own")


def test_what_was_not_tried_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Laboratory(monkeypatch).trials(FULL)
    (needed,) = trials.needed()
    next(needed)
    coverage = trials.coverage()[FULL]
    assert coverage.explored == 1
    assert len(coverage.unreached) == 3  # of two writes and two creations
    assert trials.room.endswith("none was tried before the time was over")


@pytest.mark.parametrize(("exhaustive", "planned"), [(False, 2), (True, 9)])
def test_no_more_of_a_kind_are_planned_than_states(
    monkeypatch: pytest.MonkeyPatch, exhaustive: bool, planned: int
) -> None:
    laboratory = Laboratory(monkeypatch, max_states=2, exhaustive=exhaustive)
    kind = TrialKind.SHARD_KILLED
    family = SimpleNamespace(
        planned=lambda kind, exhaustive: (
            [planned_fault(kind, step) for step in range(1, 10)],
            9,
        )
    )
    monkeypatch.setattr(Conductors, "family", lambda conductors, kind: family)
    trials = laboratory.trials(kind)
    assert trials.count == planned
    assert trials.coverage()[kind].unique == 9


def planned_fault(kind: TrialKind, step: int) -> PlannedFault:
    where = point(kind, step, kind.value, f"at step {step}", "killed", 9)
    return PlannedFault(kind=kind, point=where, action=None, covers=f"step {step}")


def test_no_real_file_system_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch)
    laboratory.no_room = "user namespaces are not allowed here"
    trials = do(laboratory.trials(FULL))
    assert sum(name.endswith("-real") for name, _ in laboratory.made) == 1
    assert not any(one.point.variant.endswith("-real") for one in trials.made)
    assert trials.room.endswith("of that size: user namespaces are not allowed here")


def test_a_file_system_of_no_blocks_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch)
    program = Program()
    program.create("a")
    program.write("a", b"x")
    laboratory.recording = Recording("/slot", program.start, b"", tuple(program.operations))
    trials = do(laboratory.trials(FULL))
    assert trials.made
    assert trials.room.endswith("no boundary leaves it a block, and none can be made without")


def test_a_real_file_system_starts_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch)
    do(laboratory.trials(FULL, warm=True))
    assert {warm for name, warm in laboratory.made if name.endswith("-real")} == {False}
    assert {warm for name, warm in laboratory.made if not name.endswith("-real")} == {True}


def test_after_two_hangs_at_one_operation_the_rest_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laboratory = Laboratory(monkeypatch)
    laboratory.ends = lambda planned, warm: (HUNG, None)
    trials = do(laboratory.trials(ERRORS))
    by_operation = [one.point.signature for one in trials.made]
    assert max(map(by_operation.count, by_operation)) == 2
    coverage = trials.coverage()[ERRORS]
    assert coverage.known_hangs
    assert not coverage.unreached


def test_a_failure_seen_warm_is_made_again_fresh_once_for_each_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laboratory = Laboratory(monkeypatch)
    laboratory.ends = lambda planned, warm: (GOOD, BAD)
    trials = do(laboratory.trials(ERRORS, warm=True))
    fresh = [name for name, warm in laboratory.made if not warm]
    assert laboratory.reused == [warm for _, warm in laboratory.made]
    causes = {(one.point.signature) for one in trials.made}
    assert len(fresh) == len(causes)
    assert len(trials.made) == trials.count


def test_a_failure_that_only_a_warm_start_shows_is_a_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laboratory = Laboratory(monkeypatch)
    laboratory.ends = lambda planned, warm: (GOOD, BAD if warm else GOOD)
    with pytest.raises(DoubtedWarmth, match="EMFILE at step 1"):
        do(laboratory.trials(ERRORS, warm=True))


@pytest.mark.parametrize("missed", [Shown(), Shown(step=2, drift="another way")])
def test_a_fault_that_did_not_fire_is_tried_three_times(
    monkeypatch: pytest.MonkeyPatch, missed: Shown
) -> None:
    laboratory = Laboratory(monkeypatch)
    trials = laboratory.trials(ERRORS)
    seen: list[str] = []
    fires_at = 3

    def once(faulty: Faulty, planned: PlannedFault) -> Conducted:
        made = laboratory._once(planned)
        seen.append(planned.point.id)
        shown = Shown(step=1) if seen.count(planned.point.id) == fires_at else missed
        return dataclasses.replace(made, trial=dataclasses.replace(made.trial, shown=shown))

    monkeypatch.setattr(Faulty, "_once", once)
    (needed,) = trials.needed()
    next(needed)
    assert seen == [seen[0]] * 3
    assert trials.made[0].shown == Shown(step=1)
    fires_at = 4
    next(needed)
    assert len(seen) == 3 + conduct.TRIES
    assert trials.made[1].shown == missed


def test_interrupted_it_goes_on_with_what_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only what takes the run itself, or its room, to go on with it is made again."""
    uninterrupted = do(Laboratory(monkeypatch).trials(FULL, ERRORS))
    laboratory = Laboratory(monkeypatch)
    KeptLogbook(tmp_path).begin(Begun(session="s", subject="job", definition={}))
    with KeptLogbook(tmp_path) as logbook:
        first = laboratory.trials(FULL, ERRORS, logbook=logbook)
        for work in (*first.needed(), *first.others()[:1]):
            for _ in work:
                pass
    before = {name for name, _ in laboratory.made}
    assert 0 < len(before) < len(uninterrupted.made)
    laboratory.made.clear()

    with KeptLogbook(tmp_path) as logbook:
        trials = do(laboratory.trials(FULL, ERRORS, logbook=logbook))

    again = before & {name for name, _ in laboratory.made}
    assert again == {name for name in before if name.endswith("-real")}
    assert {one.point for one in trials.made} == {one.point for one in uninterrupted.made}
    assert trials.coverage() == uninterrupted.coverage()


@pytest.mark.parametrize(
    ("kind", "with_kind"),
    [
        (TrialKind.SIGNALLED, TrialKind.GRACE_TOO_SHORT),
        (TrialKind.IO_ERROR, TrialKind.FAILED_SYNC),
    ],
)
def test_a_run_that_is_crashed_in_turn_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: TrialKind, with_kind: TrialKind
) -> None:
    """What it left is not kept, and the crashes after it begin there."""
    for kinds, made_again in (((kind,), False), ((kind, with_kind), True)):
        laboratory = Laboratory(monkeypatch)
        laboratory.program.fsync("a")
        laboratory.recording = dataclasses.replace(
            laboratory.recording, operations=tuple(laboratory.program.operations)
        )
        monkeypatch.setattr(FaultTrials, "_crashes_of", lambda *_: [])
        folder = tmp_path / str(made_again)
        folder.mkdir()
        KeptLogbook(folder).begin(Begun(session="s", subject="job", definition={}))
        made = []
        for _ in range(2):
            laboratory.made.clear()
            with KeptLogbook(folder) as logbook:
                do(laboratory.trials(*kinds, logbook=logbook))
            made.append(len(laboratory.made))
        assert made[0] > 0
        assert (made[1] > 0) == made_again
