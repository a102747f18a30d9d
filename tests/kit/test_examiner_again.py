"""What an examination that is gone on with must know of a control run that is not made again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_checkpoint import examiner
from pytest_checkpoint.examination import Examination
from pytest_checkpoint.examiner import Examiner
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.known_checks import KnownChecks
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.subject import Subject
from tests.contracts.builders import SOUND, seen, undisturbed

SUBJECT = Subject(
    name="job", run=("job",), resume=("job",), check=("job",), working_directory=Path()
)


@pytest.mark.parametrize("encloses", [True, False])
def test_a_job_that_reached_out_has_every_check_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encloses: bool
) -> None:
    """Its run may have written to a database that the check reads, and no resume does so."""
    keeper: Any = SimpleNamespace(
        folder=tmp_path, recording=tmp_path, begin=lambda: None, objects=lambda: None
    )
    control: Any = SimpleNamespace(reference=undisturbed(), unreadable=(), notes=())
    examination = Examination(evidence=seen(*SOUND), verdicts={})
    monkeypatch.setattr(examiner.Keeper, "of", lambda *_: keeper)
    monkeypatch.setattr(examiner, "control_run", lambda *_: control)
    monkeypatch.setattr(Examiner, "_examined", lambda *_: examination)

    def an_examiner(checks: KnownChecks) -> Examiner:
        bench = SimpleNamespace(known_checks=checks)
        monkeypatch.setattr(examiner, "Bench", lambda *_: bench)
        client: Any = SimpleNamespace(workspace=tmp_path)
        return Examiner(SUBJECT, Options(rootdir=tmp_path), SilentProgress(), client)

    first, again = KnownChecks(), KnownChecks()
    first.encloses = encloses
    an_examiner(first).examine(control, {})
    an_examiner(again).go_on(control)

    assert again.encloses == encloses
