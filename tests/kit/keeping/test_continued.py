"""When what is kept of a subject can be gone on with, and when it cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_contracts import CATALOGUE
from checkpoint_contracts.verdict import Outcome
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.examination import Examination, Wreck
from pytest_checkpoint.keeping.continued import (
    CONTROL,
    TAKEN_OVER,
    Continued,
    ControlRun,
    Finished,
)
from pytest_checkpoint.keeping.keep import RECORDING, Keeper
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.keeping.places import kept_folder
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.record.journal import Journal
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.image import ROOT, Directory, Image
from tests.contracts.builders import SOUND, seen, undisturbed

SUBJECT = Subject(
    name="job", run=("job",), resume=("job",), check=("job",), working_directory=Path()
)
DEFINITION = {"the kit": "1", "the option seed": "0"}
EMPTY = Image(
    {ROOT: Directory(mode=0o700, entries={b"w": 1}), 1: Directory(mode=0o700, entries={})}
)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(rootdir=tmp_path, session="s", continues=True)


@pytest.fixture
def folder(options: Options) -> Path:
    """Of slot 1: which slot it was is seen, not asked."""
    return kept_folder(options, SUBJECT, 1)


def recorded(folder: Path, steps: int) -> KeptLogbook:
    with Journal(folder / RECORDING, EMPTY, b"", "/slot") as journal:
        for step in range(1, steps + 1):
            journal.append((step, "fsync", b"w", (), b"", 0, 0, 0, 0, None), 0)
    logbook = KeptLogbook(folder)
    logbook.begin(Begun(session="s", subject="job", definition=DEFINITION))
    with logbook:
        run = ControlRun(reference=undisturbed(steps=2), unreadable=("w/map",), notes=("a note",))
        logbook.keep(CONTROL, run)
    return logbook


def found(options: Options) -> Continued:
    continued = Continued.of(options, SUBJECT, DEFINITION)
    assert continued is not None
    assert not continued.why_anew
    return continued


def test_the_control_run_as_if_it_had_just_been_made(options: Options, folder: Path) -> None:
    recorded(folder, 2)
    control = found(options).control(options)
    assert isinstance(control, Control)
    assert control.reference == undisturbed(steps=2)
    assert (control.unreadable, control.notes) == (("w/map",), ("a note",))
    assert len(control.recording.operations) == 2
    assert found(options).finished(()) is None


def test_of_another_session_or_subject_nothing_is_taken(options: Options, folder: Path) -> None:
    recorded(folder, 2)
    others = (
        (dataclasses.replace(options, session="t"), SUBJECT),
        (dataclasses.replace(options, continues=False), SUBJECT),
        (options, dataclasses.replace(SUBJECT, name="other")),
    )
    for other_options, subject in others:
        assert Continued.of(other_options, subject, DEFINITION) is None


def test_what_has_changed_is_named(options: Options, folder: Path) -> None:
    recorded(folder, 2)
    one = Continued.of(options, SUBJECT, {**DEFINITION, "the option seed": "1"})
    assert one is not None
    assert one.why_anew == (
        "begun anew, not continued: the option seed has changed since the interruption"
    )
    many = Continued.of(options, SUBJECT, {**DEFINITION, **dict.fromkeys("abcdef", "1")})
    assert many is not None
    assert "a, b, c, d and 2 more have changed" in many.why_anew


@pytest.mark.parametrize("damage", ["cut", "gone", "garbage"])
def test_a_recording_that_is_not_whole_is_made_again(
    options: Options, folder: Path, damage: str
) -> None:
    """A power cut may have taken a part of it, although the logbook tells of it."""
    recorded(folder, 1 if damage == "cut" else 2)
    operations = folder / RECORDING / "operations.jsonl"
    if damage == "gone":
        operations.unlink()
    if damage == "garbage":
        operations.write_bytes(operations.read_bytes()[:-4] + bytes(4))
    why = found(options).control(options)
    assert isinstance(why, str)
    assert why.startswith(
        "the kept recording is not whole, so it was begun anew"
        if damage == "cut"
        else "what was kept cannot be used, so it was begun anew: the recording in "
    )


def test_interrupted_before_anything_was_kept(options: Options, folder: Path) -> None:
    begun = Begun(session="s", subject="job", definition=DEFINITION)
    KeptLogbook(folder).begin(begun)
    assert found(options).control(options) == "its control run had not ended: it was begun anew"


def test_a_finished_one_is_shown_as_it_was(options: Options, folder: Path) -> None:
    logbook = recorded(folder, 2)
    wreck = Wreck(folder=Path("/wreck"), listing=("a",), operations=("b",))
    examination = Examination(
        evidence=dataclasses.replace(seen(*SOUND), subject=SUBJECT.name),
        verdicts={},
        operations=2,
        notes=("a note",),
        wrecks={("state-never-corrupt", "1.kill"): wreck},
        elapsed_s=1.5,
    )
    Keeper(folder=folder, cap_bytes=0).evidence(examination.evidence)
    logbook.finish(Finished.of(examination))

    contract = CATALOGUE["resume-equals-uninterrupted"]
    again = found(options).finished((contract,))

    assert again is not None
    assert again.verdicts[contract.id].outcome is Outcome.PASSED
    assert again == dataclasses.replace(
        examination,
        verdicts=again.verdicts,
        notes=(TAKEN_OVER, "a note"),
        folder=folder,
    )


def test_evidence_of_another_subject_is_none(options: Options, folder: Path) -> None:
    """``a b`` and ``a_b`` are kept in one folder, where each may write while the other does."""
    logbook = recorded(folder, 2)
    other = dataclasses.replace(seen(*SOUND), subject="other")
    examination = Examination(evidence=other, verdicts={}, operations=2, elapsed_s=1.5)
    Keeper(folder=folder, cap_bytes=0).evidence(other)
    logbook.finish(Finished.of(examination))

    assert found(options).finished((CATALOGUE["resume-equals-uninterrupted"],)) is None


def test_what_another_pytest_has_begun_anew_is_not_gone_on_with(
    options: Options, folder: Path
) -> None:
    """It is waited for where it has the slot: what was read before is none of its recording."""
    recorded(folder, 2)
    continued = found(options)
    continued.require_as_it_was()
    begins: list[Callable[[], object]] = [
        lambda: KeptLogbook(folder).begin(Begun(session="t", subject="job", definition=DEFINITION)),
        lambda: Keeper(folder=folder, cap_bytes=0).begin(),
    ]
    for begin in begins:
        begin()
        with pytest.raises(HarnessError, match="another pytest judges it, and began it anew"):
            continued.require_as_it_was()


def test_whoever_begins_anew_first_forgets_that_there_is_anything_to_go_on_with(
    options: Options, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(folder, 2)

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_checkpoint.keeping.keep.remove_tree", killed)
    with pytest.raises(KeyboardInterrupt):
        Keeper(folder=folder, cap_bytes=0).begin()
    assert Continued.of(options, SUBJECT, DEFINITION) is None
