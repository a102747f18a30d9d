"""What is explored after single crashes: crash after crash, and damaged states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from checkpoint_contracts import BAD_STATE_IS_REFUSED, CRASH_DURING_RECOVERY
from checkpoint_contracts.bad_state import REFUSES_BAD_STATE
from checkpoint_contracts.evidence import CrashPoint, Fault
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.damaged import damages_of, explore_damages
from pytest_checkpoint.phases.explore import Exploration
from pytest_checkpoint.phases.replays import require_state
from pytest_checkpoint.phases.second_crash.exploring import explore_second_crashes
from pytest_checkpoint.phases.second_crash.recoveries import Recorder
from pytest_checkpoint.phases.warm import Warmth
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.kill import CrashState, parse
from pytest_checkpoint.states.resumes import crash_id, crashes_before
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.subject import Subject

SECOND_CRASHES: Final = "second crashes"
DAMAGES: Final = "damages"

Once = Callable[[str, Callable[[], Exploration]], Exploration]


def takes_more(faults: frozenset[Fault], subject: Subject) -> bool:
    """Whether anything is to be explored besides single crashes."""
    return _crashes_again(faults, subject) or _damages(faults, subject)


def _crashes_again(faults: frozenset[Fault], subject: Subject) -> bool:
    return Fault.SECOND_CRASH in faults and CRASH_DURING_RECOVERY not in subject.not_applicable


def _damages(faults: frozenset[Fault], subject: Subject) -> bool:
    declared = REFUSES_BAD_STATE in subject.capabilities
    return (
        Fault.DAMAGE in faults and declared and BAD_STATE_IS_REFUSED not in subject.not_applicable
    )


def with_further(
    bench: Bench,
    control: Control,
    source: StateSource,
    explored: Exploration,
    faults: frozenset[Fault],
    progress: Progress,
    warmth: Warmth,
    folder: Path,
    once: Once,
) -> Exploration:
    """``explored``, and what the faults ask for that take more than a single crash.

    ``folder``: where resumes that are recorded for it are kept. ``once``: who may know already what
    such an exploration gave, by its name, and else has it made.
    """
    before = explored
    if _crashes_again(faults, bench.subject):

        def crash_again() -> Exploration:
            remove_tree(folder)
            return explore_second_crashes(
                bench, control, source, before, progress, warmth, folder=folder
            )

        again = once(SECOND_CRASHES, crash_again)
        recall_all(bench, control, source, folder)
        explored = explored.with_more(again)
    if _damages(faults, bench.subject):

        def damage() -> Exploration:
            return explore_damages(bench, control, source, before, progress, warmth)

        damages_of(bench, source)
        explored = explored.with_more(once(DAMAGES, damage))
    return explored


def recall_all(bench: Bench, control: Control, source: StateSource, folder: Path) -> None:
    """See that ``source`` knows all resumes that are kept."""
    recorder = Recorder(bench, control, source, folder)
    if folder.is_dir():
        for path in sorted(folder.iterdir(), key=lambda path: (len(path.name), path.name)):
            crash = parse(path.name)
            if not recorder.resumes.knows(crash):
                recorder.recall(crash)


def make_known(
    bench: Bench, control: Control, source: StateSource, crash: CrashState, folder: Path
) -> tuple[str, ...]:
    """See that ``source`` knows this state: a resume of which no recording is kept is recorded.

    Returns notes. UserError, when the state is asked for, if there is none such.
    """
    if crash.fault is Fault.DAMAGE:
        damages_of(bench, source)
    recorder = Recorder(bench, control, source, folder)
    notes: list[str] = []
    for before in crashes_before(crash):
        if recorder.recall(before):
            notes.append(
                f"the resume after {crash_id(before)} is the kept one too: whether it was mended "
                "since is seen without --checkpoint-replay"
            )
        else:
            require_state(before, source)
            recorder.record(before)
            notes.append(f"the resume after {crash_id(before)} was recorded again for this replay")
    return tuple(notes)


def keep_needed(folder: Path, points: Iterable[CrashPoint]) -> None:
    """Of the recorded resumes only those that a replay of one of these points needs.

    Each holds all that lay in the workspace at its crash: many of them take room.
    """
    needed = {
        crash_id(before)
        for point in points
        if point.fault is Fault.SECOND_CRASH
        for before in crashes_before(parse(point.id))
    }
    if not needed:
        remove_tree(folder)
        return
    for path in folder.iterdir():
        if path.name not in needed:
            remove_tree(path)
