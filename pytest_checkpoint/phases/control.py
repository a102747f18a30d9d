"""The control run: is there something to hold experiments against, and is it safe to repeat?

Before anything is repeated a thousand times, the job is run twice undisturbed, resumed when it has
finished, and checked. Everything that would make verdicts meaningless is found here and said in one
sentence (:class:`~pytest_checkpoint.errors.SubjectError`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_contracts import wants_second_look
from checkpoint_contracts.bucket import StoredObject
from checkpoint_contracts.evidence import Effect, Execution, Finished, Reference
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.changes import changes, object_changes
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.declared import (
    require_effects,
    require_handoff,
    require_inputs,
    require_outputs,
    require_proper_events,
    require_requests,
    require_staging,
)
from pytest_checkpoint.phases.effects.reading import effects_of
from pytest_checkpoint.phases.looks import other_run, outputs_stamped
from pytest_checkpoint.phases.signatures import first_difference, signatures
from pytest_checkpoint.phases.store.markers import bucket_of
from pytest_checkpoint.phases.store.reading import objects_of, requests_of
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import (
    MapShared,
)
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import File

_TAIL: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """What the first undisturbed run showed."""

    check: Execution
    peak_bytes: int
    """At most so much lay in the workspace, TMPDIR and the object store at once."""
    user_cpu_s: float
    signatures: tuple[str, ...]
    events: tuple[str, ...]
    effects: tuple[Effect, ...]
    objects: tuple[StoredObject, ...]
    strayed: tuple[str, ...]
    outputs: Mapping[str, str]
    """Path → a stamp of the kind, mode and bytes of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A subject that can be judged: its reference, its recording, where a fresh run begins."""

    reference: Reference
    recording: Recording
    start: State
    """As setup left it."""
    deadlines: Deadlines
    unreadable: tuple[str, ...]
    """Files mapped shared and writable whose stores could not be read."""
    notes: tuple[str, ...]


def first_run(bench: Bench, scratch: Path, progress: Progress) -> FirstRun:
    """The first of the two undisturbed runs; its size decides where the second one goes."""
    progress.phase("first control run")
    set_up(bench)
    folder = scratch / "first"
    result, execution = bench.run(recording=folder)
    _require_sound_run(bench, result, execution)
    events = lines_of(bench.client.events.read_bytes())
    effects = bench.new_effects(b"")
    objects = objects_of(bench.client.objects.read_bytes())
    outputs = outputs_stamped(bench, bench.look()) if bench.subject.outputs else {}
    check = _checked(bench)
    recording = journal.load(folder)
    start_bytes = sum(
        node.content.size for node in recording.start.nodes.values() if isinstance(node, File)
    )
    return FirstRun(
        check=check,
        peak_bytes=result.all_bytes + start_bytes + sum(one.size for one in result.requests),
        user_cpu_s=execution.user_cpu_s,
        signatures=signatures(recording),
        events=events,
        effects=effects,
        objects=objects,
        strayed=execution.strayed,
        outputs=outputs,
    )


def control_run(bench: Bench, first: FirstRun, folder: Path, progress: Progress) -> Control:
    """The second undisturbed run: recorded into ``folder``, resumed, checked."""
    options = bench.options
    progress.phase("recording")
    set_up(bench)
    start = bench.state()
    idle_check = bench.check(options.run_deadline_s)
    bench.put(start)
    result, run = bench.run(recording=folder)
    _require_sound_run(bench, result, run)
    finished = bench.state()
    check = _checked(bench)
    recording = journal.load(folder)
    _require_same_result(first.check, check)
    _require_telling_check(idle_check, check)
    events = lines_of(finished.events)
    require_proper_events(bench, events)
    require_staging(bench, start, recording)
    require_inputs(bench, events)
    require_outputs(bench, finished)
    require_handoff(bench, finished, events)
    effects = effects_of(finished.effects)
    require_effects(bench, effects)
    require_requests(bench, result)
    progress.phase("resume of the finished job")
    again = resumed_when_finished(bench, finished)
    _require_resumable(again.resume)
    # Whatever else the machine does only adds to the CPU of a run: the lower one is nearer.
    run = dataclasses.replace(run, user_cpu_s=min(run.user_cpu_s, first.user_cpu_s))
    reference = Reference(
        run=run,
        finished_resume=again.resume,
        finished_resume_events=again.events,
        finished_check=again.check,
        finished_changes=again.changes,
        finished_notes=again.notes,
        finished_effects=again.effects,
        check=check,
        events=events,
        effects=effects,
        objects=objects_of(finished.objects),
        requests=requests_of(result.requests),
        bucket=bucket_of(
            bench.subject,
            finished,
            recording.operations,
            bench.client.bodies,
            asked=[one.key for one in result.requests],
        ),
        steps=len(recording.operations),
        other_run=dataclasses.replace(
            other_run(bench, first.events, first.outputs, finished.image),
            effects=first.effects,
            objects=first.objects,
            strayed=first.strayed,
        ),
    )
    if wants_second_look(reference, options.restart_ratio):
        second = resumed_when_finished(bench, finished)
        reference = dataclasses.replace(reference, finished_again=second)
    took_s = max(run.wall_s, again.resume.wall_s)
    return Control(
        reference=reference,
        recording=recording,
        start=start,
        deadlines=Deadlines.of(options, resume_took_s=took_s, check_took_s=check.wall_s),
        unreadable=result.unreadable,
        notes=tuple(_notes(result, first, recording)),
    )


def resumed_when_finished(bench: Bench, finished: State) -> Finished:
    """Resume the finished job, see what it changed, check."""
    deadline_s = bench.options.run_deadline_s
    bench.put(finished)
    resumed = bench.resume(deadline_s)
    events = bench.new_events(finished.events)
    effects = bench.new_effects(finished.effects)
    changed = changes(finished.image, bench.look(), bench.subject.outputs, bench.subject.ephemeral)
    return Finished(
        resume=resumed,
        events=events,
        effects=effects,
        check=bench.check(deadline_s) if resumed.succeeded else None,
        changes=(*changed.outputs, *_changed_objects(bench, finished)),
        notes=changed.others,
    )


def _changed_objects(bench: Bench, finished: State) -> tuple[str, ...]:
    """By the resume of the finished job."""
    now = bench.client.objects.read_bytes()
    return object_changes(finished.objects, now, bench.subject)


# --- what makes verdicts meaningless ---


def set_up(bench: Bench) -> None:
    """As a fresh run finds it. SubjectError if the setup fails."""
    bench.put_nothing()
    setup = bench.setup()
    if setup is not None and not setup.succeeded:
        raise SubjectError(f"the setup command {ended(setup)}; mend it first{said(setup)}")


def _require_sound_run(bench: Bench, result: Result, run: Execution) -> None:
    if run.refusal or run.problem:
        raise SubjectError(str(run.refusal or run.problem))
    if run.timed_out:
        raise SubjectError(
            f"the undisturbed run was still going after {bench.options.run_deadline_s:g} s: give "
            "it less to do (a thousand resumes will follow), or raise --checkpoint-run-deadline"
            + said(run)
        )
    if not run.succeeded:
        raise SubjectError(
            f"the undisturbed run {ended(run)}: the job must work before it can be crashed"
            + _refused(run)
            + said(run)
        )
    if not result.operations and not result.requests:
        raise SubjectError(
            "the undisturbed run did nothing under {workspace} (and TMPDIR): no file was created, "
            "written or renamed there; pass the workspace to the job, or read CHECKPOINT_WORKSPACE"
        )


def _checked(bench: Bench) -> Execution:
    check = bench.check(bench.options.run_deadline_s)
    if check.problem:
        raise SubjectError(check.problem)
    if check.timed_out:
        raise SubjectError(
            f"the check was still going after {bench.options.run_deadline_s:g} s; "
            f"raise --checkpoint-run-deadline if it needs that long{said(check)}"
        )
    if not check.succeeded:
        raise SubjectError(
            f"the check {ended(check)} after an undisturbed run: it must accept the result of a "
            f"run that nothing has gone wrong with{said(check)}"
        )
    return check


def _require_same_result(first: Execution, second: Execution) -> None:
    if first.output != second.output:
        raise SubjectError(
            "two undisturbed runs give different results, so nothing can be compared with them: "
            "let the check print only what does not depend on time, chance or order\n"
            f"  first:  {_shown(first.output)}\n  second: {_shown(second.output)}"
        )


def _require_telling_check(idle: Execution, check: Execution) -> None:
    if idle.succeeded and idle.output == check.output:
        raise SubjectError(
            "the check exits 0 and says the same on a workspace in which the job has not run, so "
            f"it would pass anything; let it look at the result ({_shown(check.output)})"
        )


def _require_resumable(resumed: Execution) -> None:
    if resumed.refusal or resumed.problem:
        raise SubjectError(f"the resume of the finished job: {resumed.refusal or resumed.problem}")
    if not resumed.succeeded:
        how = "did not end in time" if resumed.timed_out else ended(resumed)
        raise SubjectError(
            f"the resume of the finished job {how}: a job that has ended must be found finished"
            + said(resumed)
        )


# --- words ---


def ended(execution: Execution) -> str:
    """``exits 1``, in sentences about the subject."""
    if execution.timed_out:
        return "did not end in time"
    if execution.signal is not None:
        return f"died by signal {execution.signal}"
    return f"exits {execution.exit_code}"


def _refused(execution: Execution) -> str:
    """What it was not let do that a job may live without, in sentences about the subject."""
    if not execution.strayed:
        return ""
    return f" (it was not let send {execution.strayed[0]}, which is not a process of its own)"


def said(execution: Execution) -> str:
    """The end of what it printed, as the end of a sentence."""
    text = (execution.output + execution.error_output).strip()
    if not text:
        return " (it printed nothing)"
    tail = text[-_TAIL:]
    return "; it printed:\n" + "\n".join(f"  {line}" for line in tail.splitlines())


def _shown(output: str) -> str:
    text = output.strip().replace("\n", "⏎") or "it prints nothing"
    return text if len(text) <= 200 else text[:200] + "…"


# --- notes ---


def _notes(result: Result, first: FirstRun, recording: Recording) -> list[str]:
    notes = []
    if result.created_outside:
        names = ", ".join(result.created_outside[:5])
        more = len(result.created_outside) - 5
        notes.append(
            f"files created outside the workspace: {names}"
            + (f" and {more} more" if more > 0 else "")
        )
    difference = first_difference(first.signatures, signatures(recording))
    if difference:
        notes.append(f"order varies between runs: {difference}")
    mapped = {
        operation.path.decode("utf-8", "backslashreplace")
        for operation in recording.operations
        if any(isinstance(effect, MapShared) for effect in operation.effects)
    }
    if mapped:
        notes.append(
            "mapped shared and writable, stores seen only between operations: "
            + ", ".join(sorted(mapped))
        )
    return notes
