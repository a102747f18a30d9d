"""Trials are made until the budget is spent, and those behind a known hang are left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import CrashPoint, Execution, Trial, TrialKind, Variant
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases import shares, trials, trying
from pytest_checkpoint.phases.alone import trials as alone
from pytest_checkpoint.phases.alone.planned import PlannedPair
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook
from pytest_checkpoint.phases.trial_plan import PlannedTrial, possible
from pytest_checkpoint.phases.trials import conduct
from pytest_checkpoint.phases.trying import Tried, try_all
from pytest_checkpoint.phases.variants import variant
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.image import Image
from tests.kit.test_trial_plan import many, recorded

ONCE, ALWAYS = TrialKind.RAISES_ONCE, TrialKind.RAISES_ALWAYS


class Clock:
    """Moves on only when a trial is made."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Laboratory:
    """Makes trials up: each takes a second, and hangs if the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stages: int) -> None:
        self.clock = Clock()
        self.hangs: frozenset[TrialKind] = frozenset()
        self.made: list[str] = []
        self.is_warm = False
        self._stages = stages
        monkeypatch.setattr(trials, "conduct", self._conduct)
        monkeypatch.setattr(trying, "time", self.clock)
        monkeypatch.setattr(shares, "time", self.clock)

    def _conduct(
        self, bench: Any, control: Any, source: Any, planned: PlannedTrial, variants: Any
    ) -> Any:
        self.clock.now_s += 1
        self.made.append(planned.point.operation)
        hung = planned.kind in self.hangs
        execution = Execution(exit_code=None if hung else 0, timed_out=hung)
        leg = Leg(command=Command.RUN, execution=execution)
        trial = Trial(point=planned.point, kind=planned.kind, stage=planned.stage, legs=(leg,))
        return trial, None

    @contextmanager
    def _warmly(self, *, on: bool) -> Iterator[bool]:
        self.is_warm = on
        yield on
        self.is_warm = False

    def try_all(
        self,
        *kinds: TrialKind,
        logbook: Logbook = FORGETFUL,
        warm: bool = False,
        **options: Any,
    ) -> Tried:
        command = ("true", "{workspace}")
        subject = Subject(
            name="job", run=command, resume=command, check=command, working_directory=Path()
        )

        bench = SimpleNamespace(
            subject=subject, options=Options(rootdir=Path(), **options), warmly=self._warmly
        )
        recording, reference = recorded(*many(self._stages))
        control = Control(
            reference=reference,
            recording=recording,
            start=cast("Any", None),
            deadlines=cast("Any", None),
            unreadable=(),
            notes=(),
        )
        source = cast("Any", None)
        return try_all(
            cast("Any", bench),
            control,
            source,
            kinds,
            SilentProgress(),
            logbook=logbook,
            warm=warm,
        )


def test_all_are_made_and_told_in_the_order_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, 4)
    tried = laboratory.try_all(ONCE, ALWAYS)
    assert len(laboratory.made) == 8
    assert [(one.kind, one.stage) for one in tried.trials] == [
        (kind, f"s{number}") for kind in (ONCE, ALWAYS) for number in range(4)
    ]
    assert all(one.complete and not one.unreached for one in tried.coverage.values())


def test_what_the_budget_leaves_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Laboratory(monkeypatch, 4).try_all(ONCE, ALWAYS, time_budget_s=3)
    assert len(tried.trials) == 3
    assert tried.coverage[ONCE].explored == 2
    assert tried.coverage[ONCE].unreached == ("stage s1 raises once", "stage s2 raises once")
    assert len(tried.coverage[ALWAYS].unreached) == 3


def test_no_budget_binds_who_wants_all(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, 20)
    tried = laboratory.try_all(ONCE, time_budget_s=3, exhaustive=True)
    assert len(laboratory.made) == 20
    assert tried.coverage[ONCE].complete


def test_after_two_hangs_a_kind_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, 5)
    laboratory.hangs = frozenset({ONCE})
    tried = laboratory.try_all(ONCE, ALWAYS)
    assert sum(one.kind is ONCE for one in tried.trials) == 2
    assert sum(one.kind is ALWAYS for one in tried.trials) == 5
    once = tried.coverage[ONCE]
    assert (once.explored, len(once.known_hangs), once.unreached) == (2, 3, ())


def test_interrupted_it_goes_on_with_what_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    laboratory = Laboratory(monkeypatch, 4)
    KeptLogbook(tmp_path).begin(Begun(session="s", subject="job", definition={}))
    with KeptLogbook(tmp_path) as logbook:
        laboratory.try_all(ONCE, ALWAYS, logbook=logbook, time_budget_s=3)
    assert len(laboratory.made) == 3

    with KeptLogbook(tmp_path) as logbook:
        tried = laboratory.try_all(ONCE, ALWAYS, logbook=logbook, time_budget_s=5)

    assert len(laboratory.made) == len(set(laboratory.made)) == 8
    assert all(one.complete for one in tried.coverage.values())


class Deaths:
    """In place of who conducts starts after an owner's death: warm, the second shows something."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, laboratory: Laboratory) -> None:
        self.started: list[str] = []
        self._laboratory = laboratory
        pairs = [
            PlannedPair(
                kind=TrialKind.DEAD_HOLDER,
                point=CrashPoint(
                    fault=TrialKind.DEAD_HOLDER.fault,
                    step=step,
                    variant="dead",
                    operation="o",
                    signature="s",
                    total_steps=3,
                ),
            )
            for step in (1, 2, 3)
        ]
        monkeypatch.setattr(alone, "planned", lambda *_, **__: pairs)
        monkeypatch.setattr(alone, "Conductor", lambda *_: self)

    def conduct(self, planned: PlannedPair) -> tuple[Trial, None]:
        how = "warm" if self._laboratory.is_warm else "fresh"
        self.started.append(f"{how} {planned.point.step}")
        return Trial(point=planned.point, kind=planned.kind, legs=(), stage=how), None

    def shows_something(self, trial: Trial) -> bool:
        return (trial.stage, trial.point.step) == ("warm", 2)


def test_where_warm_starts_are_doubted_those_after_a_death_are_made_again_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    laboratory = Laboratory(monkeypatch, 1)
    deaths = Deaths(monkeypatch, laboratory)
    KeptLogbook(tmp_path).begin(Begun(session="s", subject="job", definition={}))
    for again in (False, True):
        with KeptLogbook(tmp_path) as logbook:
            tried = laboratory.try_all(TrialKind.DEAD_HOLDER, logbook=logbook, warm=True)
        assert [(one.stage, one.point.step) for one in tried.trials] == [
            ("fresh", step) for step in (1, 2, 3)
        ]
        assert tried.notes[0].startswith("runs with a fault start fresh: warm, one showed ")
        started = [] if again else ["warm 1", "warm 2", "fresh 2", "fresh 1", "fresh 2", "fresh 3"]
        assert deaths.started == started
        deaths.started.clear()


# --- how often, and how long, a command of the subject's is tried ---

REFUSED, ENDED, SHOT = (1, False), (0, False), (None, True)
"""How an execution ends: its exit code, and whether the kit killed it."""


class Workshop:
    """In place of a bench: its executions end as the test says, one after the other."""

    def __init__(
        self, *ends: tuple[int | None, bool], resume_attempts: int = 1, again: tuple[str, ...] = ()
    ) -> None:
        """``again``: what a resume says."""
        self.commands: list[str] = []
        self._again = again
        self.deadlines_s: list[float] = []
        self._ends = list(ends)
        command = ("resume", "{workspace}")
        self.subject = Subject(
            name="job",
            run=("run", "{workspace}"),
            resume=command,
            check=command,
            changed=(("changed", "{workspace}"),),
            resume_attempts=resume_attempts,
            working_directory=Path(),
        )
        self.options = Options(rootdir=Path(), attempts=2)
        self.client = SimpleNamespace(events=SimpleNamespace(read_bytes=lambda: b""))

    def attempt(self, command: tuple[str, ...], deadline_s: float, **_: Any) -> Any:
        self.commands.append(command[0])
        self.deadlines_s.append(deadline_s)
        exit_code, killed = self._ends.pop(0)
        return Execution(exit_code=exit_code, signal=9 if killed else None), killed

    def put(self, state: State) -> None: ...

    def put_nothing(self) -> None: ...

    def setup(self) -> None: ...

    def new_events(self, before: bytes) -> tuple[str, ...]:
        return self._again if self.commands[-1] == "resume" else ()

    def state(self) -> State:
        return State(Image({}), b"")

    def check(self, deadline_s: float) -> Execution:
        return Execution(exit_code=0)

    def conduct(self, kind: TrialKind, *variants: Variant) -> Trial:
        recording, reference = recorded(*many(1))
        control = Control(
            reference=reference,
            recording=recording,
            start=self.state(),
            deadlines=Deadlines(resume_s=10.0, check_s=10.0),
            unreadable=(),
            notes=(),
        )
        source = SimpleNamespace(state=lambda _: State(Image({}), b"start s0\ndone s0\n"))
        (planned, *_) = possible(recording, reference, {kind}, 1)
        bench = cast("Bench", self)
        trial, _left = conduct(bench, control, cast("Any", source), planned, variants)
        assert not self._ends
        return trial


@pytest.mark.parametrize(
    ("kind", "ends", "commands"),
    [
        (ONCE, (REFUSED, REFUSED, ENDED), "run resume resume"),
        (ALWAYS, (REFUSED, REFUSED, REFUSED), "run resume resume"),
        (TrialKind.KILLED_ALWAYS, (SHOT, REFUSED, SHOT, SHOT), "run resume resume resume"),
        (TrialKind.KILLED_ALWAYS, (SHOT, REFUSED, REFUSED), "run resume resume"),
        (TrialKind.CHANGED, (REFUSED, ENDED), "changed changed"),
        (TrialKind.CHANGED, (REFUSED, REFUSED, ENDED), "changed changed resume"),
    ],
)
def test_a_resume_is_tried_as_often_as_the_subject_says(
    kind: TrialKind, ends: tuple[tuple[int | None, bool], ...], commands: str
) -> None:
    """One that ends badly at first, each time, has neither a budget nor noticed a change."""
    workshop = Workshop(*ends, resume_attempts=2)
    workshop.conduct(kind)
    assert " ".join(workshop.commands) == commands


def test_a_changed_pipeline_may_take_as_long_as_it_takes() -> None:
    """Longer than the original: it has a stage more, say."""
    done = Execution(exit_code=0, wall_s=100.0)
    slow = Variant(number=1, command="changed", run=done, check=done, events=())
    workshop = Workshop(ENDED)
    workshop.conduct(TrialKind.CHANGED, slow)
    assert workshop.deadlines_s == [3000.0]
    workshop = Workshop(ENDED)
    workshop.conduct(TrialKind.CHANGED)
    assert workshop.deadlines_s == [60.0]


def test_what_is_run_again_after_a_refusal_is_tried_without_it_too() -> None:
    workshop = Workshop(REFUSED, ENDED, ENDED, again=("start s0", "done s0"))
    trial = workshop.conduct(TrialKind.CHANGED)
    assert " ".join(workshop.commands) == "changed resume resume"
    assert [leg.events for leg in trial.unspoilt] == [("start s0", "done s0")]
    workshop = Workshop(REFUSED, ENDED)
    assert not workshop.conduct(TrialKind.CHANGED).unspoilt


def test_a_changed_pipeline_brings_the_events_of_both_its_runs() -> None:
    """A stage that is in one of them only is there by chance."""
    workshop = Workshop(ENDED, ENDED)
    said = iter([b"start x1\n", b"start x2\ndone x2\n"])
    workshop.client.events.read_bytes = lambda: next(said)
    _, reference = recorded(*many(1))
    control = cast("Any", SimpleNamespace(reference=reference))
    found = variant(cast("Bench", workshop), control, 1)
    assert (found.other_events, found.events) == (("start x1",), ("start x2", "done x2"))
