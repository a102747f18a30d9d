"""What an examination that is gone on with must know of a control run that is not made again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checkpoint_contracts.trial import TrialKind
from pytest_checkpoint import examiner
from pytest_checkpoint.examination import Examination
from pytest_checkpoint.examiner import Examiner
from pytest_checkpoint.keeping.keep import Keeper
from pytest_checkpoint.keeping.logbook import KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.explore import NOTHING_EXPLORED, Exploration
from pytest_checkpoint.phases.further import DAMAGES, SECOND_CRASHES
from pytest_checkpoint.phases.known_checks import KnownChecks
from pytest_checkpoint.phases.logbook import TRIED
from pytest_checkpoint.phases.trying import TRIALS_ENDED, Tried
from pytest_checkpoint.phases.warm import Warmth
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.subject import Subject
from tests.contracts.builders import SOUND, seen, undisturbed

SUBJECT = Subject(
    name="job", run=("job",), resume=("job",), check=("job",), working_directory=Path()
)
CONTROL_RUN: Any = SimpleNamespace(reference=undisturbed(), unreadable=(), notes=())
SOURCE: Any = SimpleNamespace(operations=())
REPLAYS: Any = None
PLANNED: Any = None
POINT = SOUND[0].point


@pytest.fixture
def an_examiner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Examiner]:
    """Nothing runs: the control run is made up, and the test says what comes then."""
    keeper: Any = SimpleNamespace(
        folder=tmp_path,
        recording=tmp_path / "recording",
        resumes=tmp_path / "resumes",
        begin=lambda: None,
        objects=lambda: None,
        evidence=lambda evidence: None,
        operations=lambda operations: None,
    )
    monkeypatch.setattr(Keeper, "of", lambda *_: keeper)
    monkeypatch.setattr(examiner, "control_run", lambda *_: CONTROL_RUN)

    def made(checks: KnownChecks) -> Examiner:
        bench = SimpleNamespace(known_checks=checks, fell_back="")
        monkeypatch.setattr(examiner, "Bench", lambda *_: bench)
        client: Any = SimpleNamespace(workspace=tmp_path)
        return Examiner(SUBJECT, Options(rootdir=tmp_path), SilentProgress(), client)

    return made


@pytest.mark.parametrize("encloses", [True, False])
def test_a_job_that_reached_out_has_every_check_made(
    monkeypatch: pytest.MonkeyPatch, an_examiner: Callable[..., Examiner], encloses: bool
) -> None:
    """Its run may have written to a database that the check reads, and no resume does so."""
    examination = Examination(evidence=seen(*SOUND), verdicts={})
    monkeypatch.setattr(Examiner, "_examined", lambda *_: examination)
    first, again = KnownChecks(), KnownChecks()
    first.encloses = encloses

    an_examiner(first).examine(CONTROL_RUN, {})
    an_examiner(again).go_on(CONTROL_RUN)

    assert again.encloses == encloses


def test_killed_when_recordings_of_resumes_go_their_crashes_are_explored_again(
    monkeypatch: pytest.MonkeyPatch, an_examiner: Callable[..., Examiner], tmp_path: Path
) -> None:
    """What was not confirmed is replayed again where it is gone on with, and needs them."""

    def examined(self: Examiner, control: Control, logbook: KeptLogbook) -> Examination:
        self._logbook = logbook
        logbook.keep(SECOND_CRASHES, NOTHING_EXPLORED)
        logbook.keep(DAMAGES, NOTHING_EXPLORED)
        return self._judged(seen(*SOUND), SOURCE, REPLAYS)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Examiner, "_examined", examined)
    monkeypatch.setattr(examiner, "keep_needed", killed)
    with pytest.raises(KeyboardInterrupt):
        an_examiner(KnownChecks()).examine(CONTROL_RUN, {})

    left = KeptLogbook(tmp_path)
    assert left.recall(SECOND_CRASHES, Exploration) is None
    assert left.recall(DAMAGES, Exploration) == NOTHING_EXPLORED


def test_where_exploring_doubts_warm_starts_trials_are_made_again_fresh(
    monkeypatch: pytest.MonkeyPatch, an_examiner: Callable[..., Examiner], tmp_path: Path
) -> None:
    """One that passed warm may have passed for that alone."""
    explored = iter([dataclasses.replace(NOTHING_EXPLORED, unlike=POINT), NOTHING_EXPLORED])
    monkeypatch.setattr(examiner, "explore", lambda *_, **__: next(explored))
    monkeypatch.setattr(examiner, "with_further", lambda _bench, _control, _source, seen, *_: seen)
    starts: list[bool] = []

    def try_all(*_: object, warm: bool, **__: object) -> Tried:
        starts.append(warm)
        return Tried(trials=(), coverage={}, variants=(), notes=("seen fresh",))

    monkeypatch.setattr(examiner, "try_all", try_all)
    one = an_examiner(KnownChecks())
    control: Any = SimpleNamespace(reference=undisturbed(), deadlines=None)
    replays: Any = SimpleNamespace(added_to=lambda evidence, _: evidence)
    warm_one = f"{TRIED}{TrialKind.NO_SPACE} point"
    tried = Tried(trials=(), coverage={}, variants=(), notes=("seen warm",))
    with KeptLogbook(tmp_path) as logbook:
        one._logbook, one._known = logbook, seen(*SOUND)
        one._notes += tried.notes
        logbook.keep(warm_one, NOTHING_EXPLORED)
        logbook.keep(TRIALS_ENDED, tried)
        kinds = frozenset({TrialKind.NO_SPACE})
        one._explored(control, SOURCE, PLANNED, kinds, tried, replays, Warmth(on=True, notes=()))

        assert starts == [False]
        assert logbook.recall(warm_one, Exploration) is None
        again = logbook.recall(TRIALS_ENDED, Tried)
        assert again is not None
        assert again.notes == ("seen fresh",)
    assert "seen warm" not in one._notes
    assert "seen fresh" in one._notes
