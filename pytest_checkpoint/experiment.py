"""The story of one examination, phase by phase.

control run → recording → self-check → trials → crash states → resume and check each → replay what
failed → judge. Nothing is run twice for two contracts: all of them judge the same evidence.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

from checkpoint_contracts import judge_all
from checkpoint_contracts.effects import EFFECTS
from checkpoint_contracts.evidence import Evidence
from pytest_checkpoint.errors import HarnessError, SubjectError
from pytest_checkpoint.examination import Examination, Progress
from pytest_checkpoint.examiner import Examiner, contracts_of
from pytest_checkpoint.keeping.kept import Kept
from pytest_checkpoint.keeping.places import chosen_root, first_root, kept_folder, slots_of
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import FirstRun, first_run
from pytest_checkpoint.phases.trying import is_trial
from pytest_checkpoint.record import abilities
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.subject import Subject


def examine(subject: Subject, options: Options, progress: Progress) -> Examination:
    """Find out which promises a subject keeps.

    Raises :class:`~pytest_checkpoint.errors.UserError` for what is known before anything runs. What
    is wrong with the subject makes every verdict inconclusive, with that sentence.
    """
    abilities.require()
    kept_folder(options, subject)  # told now, not after the first run, if it cannot be made
    begun = time.monotonic()
    try:
        first, root = _first_run(subject, options, progress)
        with _slot(slots_of(root, options, subject), subject) as client:
            examination = Examiner(subject, options, progress, client).examine(first)
    except (SubjectError, HarnessError) as error:
        examination = _invalid(subject, options, str(error))
    return dataclasses.replace(examination, elapsed_s=time.monotonic() - begun)


def replay(
    subject: Subject, options: Options, contract: str, point_id: str, progress: Progress
) -> Examination:
    """Crash one state again, from the kept recording, and judge one contract by it.

    Nothing is recorded again if a recording is kept. Raises
    :class:`~pytest_checkpoint.errors.UserError` if the point is none of the recording's.
    """
    abilities.require()
    begun = time.monotonic()
    kept = Kept.of(options, subject)
    if not is_trial(contract, point_id):
        parse(point_id)  # told now, before anything runs
    try:
        if kept is None:
            first, root = _first_run(subject, options, progress)
            with _slot(slots_of(root, options, subject), subject) as client:
                examination = Examiner(subject, options, progress, client).record_and_replay(
                    first, contract, point_id
                )
        else:
            slot = Path(kept.recording.slot)
            progress.phase(kept.note)
            with _slot(slot.parent, subject, int(slot.name)) as client:
                examiner = Examiner(subject, options, progress, client, kept.note)
                control = kept.control(options)
                examination = examiner.replay(control, kept.evidence, contract, point_id)
    except (SubjectError, HarnessError) as error:
        examination = _invalid(subject, options, str(error))
    return dataclasses.replace(examination, elapsed_s=time.monotonic() - begun)


def _slot(base: Path, subject: Subject, number: int | None = None) -> SlotClient:
    return SlotClient(base, number, receives=EFFECTS in subject.capabilities)


def _first_run(subject: Subject, options: Options, progress: Progress) -> tuple[FirstRun, Path]:
    """In TMPDIR; and where the second run and all experiments go, by what it needed."""
    with _slot(slots_of(first_root(options), options, subject), subject) as client:
        first = first_run(Bench(client, subject, options), client.scratch, progress)
    return first, chosen_root(options, first.peak_bytes)


def _invalid(subject: Subject, options: Options, sentence: str) -> Examination:
    evidence = Evidence(
        subject=subject.name,
        capabilities=subject.capabilities,
        faults=options.faults,
        not_applicable=subject.not_applicable,
        invalid=sentence,
        restart_ratio=options.restart_ratio,
    )
    return Examination(evidence=evidence, verdicts=judge_all(evidence, contracts_of(options)))
