"""The story of one run: open the state, make it fit the pipeline, do what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.beating import beating
from checkpoint_runtime.clearing import Clearing
from checkpoint_runtime.context import Results
from checkpoint_runtime.errors import FailedBeforeError
from checkpoint_runtime.events import EventFile
from checkpoint_runtime.exclusion.lock import WorkspaceLock
from checkpoint_runtime.preemption import Preemption
from checkpoint_runtime.progress import Progress
from checkpoint_runtime.reconcile import reconcile
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.runner import Runner
from checkpoint_runtime.stage_faults import StageFaults
from checkpoint_runtime.stages import Stages, item_name
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How the user wants a run."""

    parameters: str | None
    """Encoded; None: as before."""
    clearing: Callable[[History], Clearing]
    """What is to be run again, of what is recorded."""
    accept_changed: bool
    keep_going: bool
    retry_failed: bool
    heartbeat_s: float | None
    """Between two beats; None: it does not beat."""
    grace_s: float
    """So long the stage under way may go on after a signal."""
    progress: Progress
    remedies: Remedies


def go_on(name: str, stages: Stages, folder: Path, wishes: Wishes) -> Results:
    """Run what is not done, and return what all stages returned. Raises as ``Pipeline.run``."""
    faults = StageFaults.from_environment(stages)
    with (
        Preemption.of_this_run(wishes.grace_s, wishes.progress.note) as preemption,
        EventFile.from_environment() as events,
        WorkspaceLock(folder, wishes.progress.note),
        StateLog(folder, name) as log,
    ):
        if log.late:
            wishes.progress.note(
                f"{log.path}, line {', '.join(map(str, log.late))}: written by a run after another "
                "one had taken the workspace over: it counts for nothing."
            )
        if log.dropped is not None:
            wishes.progress.note(
                f"{log.path}, line {log.dropped}: the checksum of this last line does not fit: "
                "it was dropped. A crash can leave that; what it said is done again."
            )
        digest = reconcile(
            log,
            stages,
            wishes.parameters,
            wishes.clearing(log.history),
            accept_changed=wishes.accept_changed,
            note=wishes.progress.note,
        )
        if not wishes.retry_failed:
            _refuse_failed(log.history)
        with beating(folder, wishes.heartbeat_s, wishes.progress) as (progress, advance):
            Runner(
                stages,
                folder,
                log,
                events,
                faults=faults,
                preemption=preemption,
                parameters_digest=digest,
                keep_going=wishes.keep_going,
                progress=progress,
                advance=advance,
                remedies=wishes.remedies,
            ).run()
        return results_of(log.history, folder, wishes.remedies)


def results_of(history: History, folder: Path, remedies: Remedies) -> Results:
    """What the stages that are done have returned."""
    return Results(list(history.done), Stored(history, SideFiles(folder), remedies).value)


def _refuse_failed(history: History) -> None:
    for stage, failure in history.failures.items():
        item = None if failure.item is None else item_name(stage, failure.item)
        raise FailedBeforeError(stage, failure.error, item=item, where=failure.where)
