"""What an examination that is gone on with must know of a control run that is not made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

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
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.subject import Subject
from tests.contracts.builders import SOUND, seen, undisturbed

SUBJECT = Subject(
    name="job", run=("job",), resume=("job",), check=("job",), working_directory=Path()
)
CONTROL_RUN: Any = SimpleNamespace(reference=undisturbed(), unreadable=(), notes=())
SOURCE: Any = SimpleNamespace(operations=())
REPLAYS: Any = None


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
        bench = SimpleNamespace(known_checks=checks)
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
