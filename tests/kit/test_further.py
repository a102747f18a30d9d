"""What takes more than a single crash is explored once, and known as a whole from then on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.bad_state import REFUSES_BAD_STATE
from checkpoint_contracts.evidence import Coverage, Fault
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases import further
from pytest_checkpoint.phases.explore import NOTHING_EXPLORED, Exploration
from pytest_checkpoint.phases.further import DAMAGES, SECOND_CRASHES, Once, with_further
from pytest_checkpoint.phases.warm import COLD
from pytest_checkpoint.record.journal import Journal, Recording
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.resumes import Resumes
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.subject import Subject
from tests.contracts.builders import crashed_twice, tried
from tests.kit.power_loss.programs import Program

ONE = Coverage(derived=1, unique=1, explored=1)
SECOND = Exploration(experiments=(tried(crashed_twice(1)),), coverage={Fault.SECOND_CRASH: ONE})
DAMAGED = Exploration(experiments=(), coverage={Fault.DAMAGE: ONE})


class Laboratory:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder / "resumes"
        self.made: list[str] = []
        program = Program()
        program.create("a")
        recording = Recording("/slot", program.start, b"", tuple(program.operations))
        self.source = StateSource(recording, Model.LINUX)
        self._recording = recording
        command = ("job", "{workspace}")
        subject = Subject(
            name="job",
            run=command,
            resume=command,
            check=command,
            working_directory=Path(),
            capabilities=frozenset({REFUSES_BAD_STATE}),
        )
        self.bench = cast("Any", SimpleNamespace(options=Options(rootdir=folder), subject=subject))
        monkeypatch.setattr(further, "explore_second_crashes", self._crash_again)
        monkeypatch.setattr(further, "explore_damages", self._damage)

    def record(self, crash: str) -> None:
        with Journal(self.folder / crash, self._recording.start, b"", "/slot"):
            pass

    def _crash_again(self, *_: Any, folder: Path) -> Exploration:
        self.made.append(SECOND_CRASHES)
        assert not folder.exists(), "what an interrupted session has left there is not whole"
        self.record("1.kill")
        return SECOND

    def _damage(self, *_: Any) -> Exploration:
        self.made.append(DAMAGES)
        return DAMAGED

    def explored(self, once: Once) -> Exploration:
        control = cast("Any", SimpleNamespace(recording=self._recording))
        return with_further(
            self.bench,
            control,
            self.source,
            NOTHING_EXPLORED,
            frozenset({Fault.SECOND_CRASH, Fault.DAMAGE}),
            SilentProgress(),
            COLD,
            self.folder,
            once,
        )


def test_nothing_known_both_are_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    laboratory = Laboratory(monkeypatch, tmp_path)
    laboratory.record("0.kill")
    seen = laboratory.explored(lambda name, make: make())
    assert laboratory.made == [SECOND_CRASHES, DAMAGES]
    assert seen.coverage == {Fault.SECOND_CRASH: ONE, Fault.DAMAGE: ONE}


def test_known_their_states_are_at_hand_for_replays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    laboratory = Laboratory(monkeypatch, tmp_path)
    for crash in ("1.kill+0.kill", "1.kill"):
        laboratory.record(crash)
    known = {SECOND_CRASHES: SECOND, DAMAGES: DAMAGED}

    seen = laboratory.explored(lambda name, make: known[name])

    assert not laboratory.made
    assert seen.experiments == SECOND.experiments
    resumes = Resumes.of(laboratory.source)
    assert resumes.knows(parse("1.kill"))
    assert resumes.knows(parse("1.kill+0.kill"))
    assert laboratory.source.state(parse("1.kill+0.kill")) is not None
    assert Fault.DAMAGE in laboratory.source.further
