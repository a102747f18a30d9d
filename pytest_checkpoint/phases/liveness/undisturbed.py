"""An undisturbed run that is watched: does its heartbeat show, and how long does an answer take?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_contracts.heartbeat import Answer, Word, first, told_answers
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.liveness.asking import Bounds, answer, source_of
from pytest_checkpoint.phases.liveness.planned import Seen, places
from pytest_checkpoint.phases.liveness.watched import Asked, watched
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.companion.plan import When
from pytest_checkpoint.record.slot import remove_tree

SLOWER: Final = (0.0, 0.05, 0.1, 0.1)
"""It is watched again where nothing happened between the first and the last beat that was seen: on
a loaded machine an answer takes as long as a small job. Then each call of the job takes this part
of stale_after_s longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    bounds: Bounds
    steps: list[int]
    """Of the recording: what comes while beats are seen."""


def watch_undisturbed(bench: Bench, control: Control) -> Undisturbed:
    """SubjectError if no beat is seen, or a finished job is not called so."""
    stale_after_s = source_of(bench.subject).stale_after_s
    *shares, last = SLOWER
    for share in shares:
        seen = _watch(bench, control, share * stale_after_s)
        if seen.steps:
            return seen
    return _watch(bench, control, last * stale_after_s)


def _watch(bench: Bench, control: Control, slow_s: float) -> Undisturbed:
    folder: Path = bench.client.scratch / "watched"
    remove_tree(folder)
    bench.put(control.start)
    source = source_of(bench.subject)
    deadline_s = control.deadlines.for_a_hang().resume_s
    every_s = Bounds(source=source, answer_s=0.0).every_s
    asked = Asked(
        when=When.THROUGHOUT,
        deadline_s=deadline_s,
        beside_s=deadline_s,
        every_s=every_s,
        slow_s=slow_s,
    )
    sent_s = time.monotonic()
    run = watched(bench, asked, recording=folder)
    report = run.report
    if report is None or report.first.exit_code != 0:
        raise SubjectError(
            "the heartbeat could not be seen: the run that was watched did not exit 0"
            f"{f' ({run.problem})' if run.problem else ''}"
        )
    started_s = report.first.begin
    answers = tuple(answer(bench, ran, started_s) for ran in report.beside)
    running = tuple(one for one in answers if one.asked_s < report.first.wall_s)
    require_beats(bench, running)
    require_end(bench, answers)
    alive = [
        (one, ran)
        for one, ran in zip(running, report.beside, strict=False)
        if one.word in (Word.ALIVE, Word.STALLED)
    ]
    (first_answer, first_ran), (last_answer, last_ran) = alive[0], alive[-1]
    seen = Seen(
        recording=journal.load(folder),
        first_ns=int((first_answer.said_s + started_s - sent_s) * 1e9),
        last_ns=int(last_answer.asked_s * 1e9),
        first_bytes=first_ran.events_after,
        last_bytes=last_ran.events_before,
    )
    return Undisturbed(
        bounds=Bounds(source=source, answer_s=max(one.said_s - one.asked_s for one, _ in alive)),
        steps=places(control.recording.operations, seen, bench.subject),
    )


def require_beats(bench: Bench, answers: tuple[Answer, ...]) -> None:
    """SubjectError if none was seen."""
    source = source_of(bench.subject)
    # Of a file that changed once and then stood still the kit says "stalled" itself.
    words = (Word.ALIVE, Word.STALLED) if source.glob else (Word.ALIVE,)
    if first(answers, *words) is not None:
        return
    if source.glob:
        raise SubjectError(
            f"a heartbeat file is declared, but during the undisturbed run no file {source.glob} "
            f"was seen to change within {source.stale_after_s:g} s: {told_answers(answers)}; beat "
            "several times within stale_after_s, and let the job last longer than that"
        )
    raise SubjectError(
        "a heartbeat command is declared, but during the undisturbed run it never said 'alive': "
        f"{told_answers(answers)}; it has to print one word, and the job has to last long enough "
        "to be asked after"
    )


def require_end(bench: Bench, answers: tuple[Answer, ...]) -> None:
    """SubjectError if a command does not say that the job has ended."""
    if source_of(bench.subject).glob or answers[-1].word == Word.FINISHED:
        return
    raise SubjectError(
        "the heartbeat command has to say 'finished' when the job has ended; after the undisturbed "
        f"run it said: {answers[-1].word or 'nothing'}"
    )
