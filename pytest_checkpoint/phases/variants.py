"""Changed pipelines, undisturbed: what each does by itself is what its resume is held against."""

from __future__ import annotations

import dataclasses
import shlex

from checkpoint_contracts.evidence import Variant
from checkpoint_contracts.stages import stage_names
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control, ended, said, set_up


def variant(bench: Bench, control: Control, number: int) -> Variant:
    """A changed pipeline, undisturbed. SubjectError if it does not work, or is none."""
    command = bench.subject.changed[number - 1]
    shown = shlex.join(command)
    first, second = (_undisturbed(bench, number, command) for _ in range(2))
    if first.check.output != second.check.output:
        raise SubjectError(
            f"two undisturbed runs of the changed pipeline {number} ({shown}) give different "
            "results, so nothing can be compared with them: let the check print only what does not "
            "depend on time, chance or order"
        )
    reference = control.reference
    if second.check.output == reference.check.output and stage_names(second.events) == stage_names(
        reference.events
    ):
        raise SubjectError(
            f"the changed pipeline {number} ({shown}) differs from the original neither in what "
            "the check says nor in its stages, so nobody could notice the change: change something "
            "that shows"
        )
    return dataclasses.replace(second, other_events=first.events)


def _undisturbed(bench: Bench, number: int, command: tuple[str, ...]) -> Variant:
    deadline_s = bench.options.run_deadline_s
    shown = shlex.join(command)
    set_up(bench)
    run, _ = bench.attempt(command, deadline_s)
    if not run.usable:
        raise SubjectError(f"the changed pipeline {number} ({shown}): {run.refusal or run.problem}")
    if not run.succeeded:
        raise SubjectError(
            f"the changed pipeline {number} {ended(run)} in a fresh workspace ({shown}): it must "
            f"work before it can be tried as a resume{said(run)}"
        )
    events = lines_of(bench.client.events.read_bytes())
    check = bench.check(deadline_s)
    if check.problem or not check.succeeded:
        raise SubjectError(
            f"the check {ended(check)} after an undisturbed run of the changed pipeline {number} "
            f"({shown}): it must accept that result too{said(check)}"
        )
    return Variant(number=number, command=shown, run=run, check=check, events=events)
