"""Does the recording tell the truth? Real runs, really killed, each held against its own recording.

Two different runs are never compared by bytes: salts, temporary names and times differ. What is
compared is the directory that a SIGKILL left with what the killed run's own recording, applied to
the starting workspace, says must be there.
"""

from __future__ import annotations

from typing import Literal

from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.compare import differences


def self_check(
    bench: Bench, control: Control, points: int, progress: Progress, *, warm: bool = False
) -> tuple[str, ...]:
    """Kill ``points`` real runs; SubjectError if a recording differs from what was left. Notes.

    ``warm``: all but one of them may start warm, as the runs do that are recorded later.
    """
    total = len(control.recording.operations)
    missed = 0
    for number, step in enumerate(steps_to_kill_at(total, points), 1):
        progress.phase(f"self-check {number}/{min(points, total)}")
        bench.put(control.start)
        compared = kill_and_compare(bench, step, warm=warm and number > 1)
        if compared is None:
            missed += 1
        elif compared:
            shown = "\n".join(f"  {line}" for line in compared[:5])
            raise SubjectError(
                f"the recording does not describe what happened: a run killed after step {step} "
                f"left a directory that its own recording does not give; nothing can be concluded "
                f"from it (please report this as a fault of checkpoint-contracts)\n{shown}"
            )
    if missed:
        return (f"self-check: {missed} runs ended before the step at which to kill them",)
    return ()


def steps_to_kill_at(total: int, points: int) -> list[int]:
    """So many steps, spread evenly over 1 to ``total``."""
    return sorted(step + 1 for step in spread(total)[:points])


def kill_and_compare(bench: Bench, step: int, *, warm: bool = False) -> list[str] | None:
    """Differences in words; None if the run ended before ``step``."""
    folder = bench.client.scratch / "killed"
    result, _ = bench.run(recording=folder, kill_at=step, warm=warm)
    if result.killed_at is None:
        return None
    recording = journal.load(folder)
    timeline = Timeline(
        recording.start,
        recording.start_events,
        recording.operations,
        recording.start_effects,
        recording.start_objects,
    )
    expected = timeline.after(len(recording.operations))
    # Stores through a mapping may go on until the last thread is dead.
    mapped: dict[int, Literal[True]] = dict.fromkeys(result.mapped, True)
    found = bench.state()
    unlike = list(differences(expected.image, found.image, ignore=mapped))
    if expected.events != found.events:
        unlike.append(f"events: {expected.events!r} expected, {found.events!r} found")
    if expected.effects != found.effects:
        unlike.append(f"effects: {expected.effects!r} expected, {found.effects!r} found")
    if fold(expected.objects).digest != fold(found.objects).digest:
        unlike.append(f"objects: {expected.objects!r} expected, {found.objects!r} found")
    return unlike
