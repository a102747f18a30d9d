"""Exploring is gone on with where it was interrupted; the experiments are made up by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import CrashPoint, Experiment, Fault
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases import explore as module
from pytest_checkpoint.phases.again_fresh import SAMPLE
from pytest_checkpoint.phases.explore import Exploration, explore
from pytest_checkpoint.phases.warm import COLD, Warmth
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.states.order import plan
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from tests.contracts.builders import HUNG, ran
from tests.kit.power_loss.programs import Program

WARM = Warmth(on=True)


class Laboratory:
    """Each experiment takes a second, and Ctrl-C comes at the one that the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.made: list[tuple[str, bool]] = []
        """Crash, and whether it started warm."""
        self.stop_at = -1
        self.ends: Callable[[CrashPoint, bool], dict[str, Any]] = lambda where, warm: {}
        self.now_s = 0.0
        self.warm = False
        self.options = Options(rootdir=folder, **options)
        program = Program()
        for name in ("a", "b", "c"):
            program.create(name)
            program.write(name, name.encode() * 3)
        recording = Recording("/slot", program.start, b"", tuple(program.operations))
        self.source = StateSource(recording, Model.LINUX)
        clock = SimpleNamespace(monotonic=lambda: self.now_s)
        monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(module, "conduct", self._conduct)
        monkeypatch.setattr(module, "looks_of", lambda *_: None)
        KeptLogbook(folder).begin(Begun(session="s", subject="job", definition={}))

    def _conduct(self, bench: Any, where: CrashPoint, *_: Any) -> Experiment:
        if len(self.made) == self.stop_at:
            self.stop_at = -1
            raise KeyboardInterrupt
        self.made.append((where.id, self.warm))
        self.now_s += 1
        return Experiment(
            point=where, events_before=(), **{"resume": ran(), **self.ends(where, self.warm)}
        )

    def explore(self, warmth: Warmth = COLD) -> Exploration:
        """A session of its own: it knows what is on disk."""
        planned = plan(
            self.source,
            faults={Fault.KILL, Fault.TORN, Fault.POWER_LOSS},
            seed=0,
            max_states=self.options.max_states,
            exhaustive=False,
        )
        bench = SimpleNamespace(
            options=self.options,
            subject=SimpleNamespace(capabilities=frozenset()),
            warmly=self._warmly,
            reusing_checks=self._reusing,
        )
        control = cast("Any", SimpleNamespace(deadlines=None))
        with KeptLogbook(self.folder) as logbook:
            return explore(
                cast("Any", bench),
                control,
                self.source,
                planned,
                SilentProgress(),
                warmth,
                logbook=logbook,
            )

    @contextmanager
    def _warmly(self, *, on: bool) -> Iterator[bool]:
        self.warm = on
        try:
            yield on
        finally:
            self.warm = False

    @contextmanager
    def _reusing(self) -> Iterator[None]:
        yield

    def interrupted(self, at: int, warmth: Warmth = COLD) -> list[tuple[str, bool]]:
        """What was made before the interruption."""
        self.stop_at = at
        with pytest.raises(KeyboardInterrupt):
            self.explore(warmth)
        made, self.made[:] = list(self.made), []
        return made


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Exploration, int]:
    """Uninterrupted; and how many experiments that took."""
    folder = tmp_path / "whole"
    folder.mkdir()
    laboratory = Laboratory(monkeypatch, folder)
    return laboratory.explore(), len(laboratory.made)


def test_interrupted_anywhere_nothing_is_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[Exploration, int]
) -> None:
    wanted, count = whole
    for at in (0, 1, count // 2, count - 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        laboratory = Laboratory(monkeypatch, folder)

        made = laboratory.interrupted(at)
        explored = laboratory.explore()

        assert len(made) == at
        assert len({*made, *laboratory.made}) == len(made) + len(laboratory.made) == count
        assert explored == wanted


def test_interrupted_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[Exploration, int]
) -> None:
    laboratory = Laboratory(monkeypatch, tmp_path)
    made = [*laboratory.interrupted(3), *laboratory.interrupted(2)]
    assert laboratory.explore() == whole[0]
    assert len({*made, *laboratory.made}) == whole[1] == len(made) + len(laboratory.made)


def test_what_had_ended_stays_so_and_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample has ended too: a new budget is for what was interrupted."""
    laboratory = Laboratory(monkeypatch, tmp_path, time_budget_s=4.0)
    first = laboratory.explore()
    assert len(laboratory.made) == 4
    laboratory.made.clear()

    assert laboratory.explore() == first
    assert not laboratory.made


def test_the_budget_is_for_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laboratory = Laboratory(monkeypatch, tmp_path, time_budget_s=4.0)
    laboratory.interrupted(3)
    explored = laboratory.explore()
    assert len(laboratory.made) == 4
    assert sum(one.explored for one in explored.coverage.values()) == 7
    assert explored.took_s == 7


def test_hangs_before_the_interruption_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(where: CrashPoint, warm: bool) -> dict[str, Any]:
        return {"resume": HUNG} if where.signature.startswith("write") else {}

    seen = []
    for at in (None, 7):
        folder = tmp_path / str(at)
        folder.mkdir()
        laboratory = Laboratory(monkeypatch, folder)
        laboratory.ends = hangs
        if at is not None:
            laboratory.interrupted(at)
        seen.append(laboratory.explore())
    assert any(one.known_hangs for one in seen[0].coverage.values())
    assert seen[0] == seen[1]


def test_what_started_warm_is_still_doubted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample that is made again with fresh processes is of both parts: here it is all."""
    laboratory = Laboratory(monkeypatch, tmp_path, max_states=SAMPLE)
    laboratory.ends = lambda where, warm: {"events_after": ("only warm",)}
    made = laboratory.interrupted(2, WARM)
    laboratory.ends = lambda where, warm: {}

    explored = laboratory.explore(WARM)

    assert explored.unlike is not None
    assert explored.unlike.id == made[0][0]
    assert {point.id for point in explored.warm} >= {one for one, _ in made}


def test_a_warm_start_that_could_not_be_used_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laboratory = Laboratory(monkeypatch, tmp_path)
    laboratory.ends = lambda where, warm: {"resume": ran(problem="odd") if warm else ran()}
    made = laboratory.interrupted(4, WARM)
    laboratory.ends = lambda where, warm: {}

    explored = laboratory.explore(WARM)

    assert explored.unlike is not None
    assert explored.unlike.id == made[0][0]
