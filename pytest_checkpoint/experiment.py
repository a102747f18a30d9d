"""The story of one examination, phase by phase.

control run → recording → self-check → trials → crash states → resume and check each → replay what
failed → judge. Nothing is run twice for two contracts: all of them judge the same evidence.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checkpoint_contracts import judge_all
from checkpoint_contracts.effects import EFFECTS
from pytest_checkpoint.errors import HarnessError, SubjectError
from pytest_checkpoint.examination import Examination, Progress
from pytest_checkpoint.examiner import Examiner
from pytest_checkpoint.groundwork import contracts_of, invalid_evidence
from pytest_checkpoint.interruption import too_early
from pytest_checkpoint.keeping.bodies import copy_kept_bodies
from pytest_checkpoint.keeping.continued import Continued
from pytest_checkpoint.keeping.definition import definition_of
from pytest_checkpoint.keeping.kept import Kept
from pytest_checkpoint.keeping.places import chosen_root, first_root, kept_folder, slots_of
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.bucket import require_store, wanted_store
from pytest_checkpoint.phases.control import Control, FirstRun, first_run
from pytest_checkpoint.phases.trying import is_trial
from pytest_checkpoint.record import abilities
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.replayer import Replayer
from pytest_checkpoint.states.kill import parse
from pytest_checkpoint.subject import Subject


def examine(subject: Subject, options: Options, progress: Progress) -> Examination:
    """Find out which promises a subject keeps.

    Raises :class:`~pytest_checkpoint.errors.UserError` for what is known before anything runs. What
    is wrong with the subject makes every verdict inconclusive, with that sentence. What the session
    that is continued has judged is not done again.
    """
    options = options.of(subject)
    abilities.require()
    require_store(subject, options)
    kept_folder(options, subject)  # told now, not after the first run, if it cannot be made
    begun = time.monotonic()
    definition = definition_of(subject, options)
    before = Continued.of(options, subject, definition)
    if before is not None and not before.why_anew:
        finished = before.finished(contracts_of(options))
        if finished is not None:
            return finished
    examiner: Examiner | None = None
    try:
        with _to_examine(subject, options, progress, before) as (start, examiner):
            examination = (
                examiner.go_on(start)
                if isinstance(start, Control)
                else examiner.examine(start, definition)
            )
    except (SubjectError, HarnessError) as error:
        return dataclasses.replace(
            _invalid(subject, options, str(error)), elapsed_s=time.monotonic() - begun
        )
    except KeyboardInterrupt:
        # Its processes have ended and its slot is given back: now it may be said what was seen.
        if examiner is None:
            return too_early(subject, options)
        examination = examiner.interrupted()
    examination = dataclasses.replace(examination, elapsed_s=time.monotonic() - begun)
    if not examination.interrupted:
        examiner.keep_finished(examination)
    return examination


@contextmanager
def _to_examine(
    subject: Subject, options: Options, progress: Progress, before: Continued | None
) -> Iterator[tuple[Control | FirstRun, Examiner]]:
    """Who examines it, in its slot, and where that begins: a control run that is known, or none."""
    anew: tuple[str, ...] = ()
    if before is not None:
        control = before.why_anew or before.control(options)
        if isinstance(control, Control):
            with _recorded_slot(control.recording, subject, options) as client:
                before.require_as_it_was()
                copy_kept_bodies(before.folder, client)
                yield control, Examiner(subject, options, progress, client)
            return
        anew = (control,)
        progress.phase(control)
    with _after_first_run(subject, options, progress) as (first, client):
        yield first, Examiner(subject, options, progress, client, *anew)


def replay(
    subject: Subject, options: Options, contract: str, point_id: str, progress: Progress
) -> Examination:
    """Crash one state again, from the kept recording, and judge one contract by it.

    Nothing is recorded again if a recording is kept. Raises
    :class:`~pytest_checkpoint.errors.UserError` if the point is none of the recording's.
    """
    abilities.require()
    require_store(subject, options)
    begun = time.monotonic()
    kept = Kept.of(options, subject)
    if not is_trial(options.catalogue[contract], point_id):
        parse(point_id)  # told now, before anything runs
    try:
        if kept is None:
            with _after_first_run(subject, options, progress) as (first, client):
                examination = Replayer(subject, options, progress, client).record_and_replay(
                    first, contract, point_id
                )
        else:
            progress.phase(kept.note)
            with _recorded_slot(kept.recording, subject, options) as client:
                copy_kept_bodies(kept_folder(options, subject), client)
                replayer = Replayer(subject, options, progress, client, kept.note)
                control = kept.control(options)
                examination = replayer.replay(control, kept.evidence, contract, point_id)
    except (SubjectError, HarnessError) as error:
        examination = _invalid(subject, options, str(error))
    return dataclasses.replace(examination, elapsed_s=time.monotonic() - begun)


def _slot(base: Path, subject: Subject, options: Options, number: int | None = None) -> SlotClient:
    receives = EFFECTS in subject.capabilities
    return SlotClient(base, number, receives=receives, store=wanted_store(subject, options))


def _recorded_slot(recording: Recording, subject: Subject, options: Options) -> SlotClient:
    """The one that a recording belongs to."""
    slot = Path(recording.slot)
    return _slot(slot.parent, subject, options, int(slot.name))


@contextmanager
def _after_first_run(
    subject: Subject, options: Options, progress: Progress
) -> Iterator[tuple[FirstRun, SlotClient]]:
    """In TMPDIR; then the slot where the second run and all experiments go, by what it needed."""
    with _slot(slots_of(first_root(options), options, subject), subject, options) as client:
        first = first_run(Bench(client, subject, options), client.scratch, progress)
        client.move(slots_of(chosen_root(options, first.peak_bytes), options, subject))
        yield first, client


def _invalid(subject: Subject, options: Options, sentence: str) -> Examination:
    evidence = invalid_evidence(subject, options, sentence)
    return Examination(evidence=evidence, verdicts=judge_all(evidence, contracts_of(options)))
