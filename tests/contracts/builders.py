"""Evidence for the tests: a sound subject of two stages; a test breaks what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.trial import Command, Leg, Shown

RESULT = '{"total": 42}\n'
EVENTS = ("start fetch", "done fetch", "start sum", "done sum")
STEPS = 20


def ran(exit_code: int | None = 0, **fields: Any) -> Execution:
    return Execution(exit_code=exit_code, **fields)


HUNG = ran(None, timed_out=True, wall_s=10.0)


def checked(output: str = RESULT, exit_code: int | None = 0, **fields: Any) -> Execution:
    return Execution(exit_code=exit_code, output=output, **fields)


def killed(step: int, operation: str = "write state.json", **fields: Any) -> CrashPoint:
    return CrashPoint(
        fault=Fault.KILL,
        step=step,
        variant="kill",
        operation=operation,
        signature=fields.get("signature", operation),
        total_steps=fields.get("total_steps", STEPS),
    )


def torn(
    step: int, cut: int = 128, operation: str = "write state.json", **fields: Any
) -> CrashPoint:
    return CrashPoint(
        fault=Fault.TORN,
        step=step,
        variant=f"torn-{cut}",
        operation=operation,
        signature=fields.get("signature", operation),
        total_steps=STEPS,
    )


def power_lost(step: int, operation: str = 'event "done 7"', **fields: Any) -> CrashPoint:
    return CrashPoint(
        fault=Fault.POWER_LOSS,
        step=step,
        variant="power-loss-names-kept-data-lost",
        operation=operation,
        signature=fields.get("signature", operation),
        total_steps=STEPS,
    )


def crashed_twice(
    step: int, again: int = 5, operation: str = "unlink state.json", **fields: Any
) -> CrashPoint:
    """Killed after ``step``, and the resume after ``again``."""
    return CrashPoint(
        fault=Fault.SECOND_CRASH,
        step=step,
        variant=f"kill+{again}.kill",
        operation=f"killed at step {step} (write state.json), then its resume killed at step "
        f"{again} ({operation})",
        signature=fields.get("signature", f"the resume: {operation}"),
        total_steps=STEPS,
    )


def tried(
    point: CrashPoint,
    resume: Execution | None = None,
    check: Execution | None = None,
    **fields: Any,
) -> Experiment:
    """An experiment that ended well, but for what is given."""
    resume = resume or ran()
    if check is None and resume.succeeded:
        check = checked()
    fields = {"events_before": EVENTS[:1], "events_after": EVENTS[1:], **fields}
    return Experiment(point=point, resume=resume, check=check, **fields)


def undisturbed(**fields: Any) -> Reference:
    values: dict[str, Any] = {
        "run": ran(user_cpu_s=0.1, startup_cpu_s=0.09, bytes_written=1000, operations=STEPS),
        "finished_resume": ran(user_cpu_s=0.08, startup_cpu_s=0.08),
        "finished_check": checked(),
        "check": checked(),
        "events": EVENTS,
    }
    return Reference(**{**values, **fields})


def explored(experiments: Iterable[Experiment], fault: Fault) -> Coverage:
    count = sum(experiment.point.fault is fault for experiment in experiments)
    return Coverage(derived=count, unique=count, explored=count)


SOUND = (
    tried(killed(0)),
    tried(killed(10), events_before=EVENTS[:3], events_after=EVENTS[2:], output_changes=()),
    tried(torn(12)),
    tried(killed(16), ran(bytes_written=200), unresumed_check=checked("half\n", 1)),
    tried(killed(18), ran(bytes_written=100), unresumed_check=checked("half\n", 1)),
    tried(crashed_twice(12)),
)


def sound_trial(kind: TrialKind, variant: str) -> Trial:
    """The run fails with a word, and the resume does the rest."""
    where = CrashPoint(
        fault=kind.fault,
        step=0,
        variant=variant,
        operation=f"{kind} at step 2 (write state.json)",
        signature=f"{kind} at write state.json",
        total_steps=STEPS,
    )
    run = Leg(command=Command.RUN, execution=ran(1, output="it failed\n"), events=EVENTS[:1])
    resume = Leg(command=Command.RESUME, execution=ran(), events=EVENTS)
    shown = Shown(step=2)
    return Trial(point=where, kind=kind, legs=(run, resume), check=checked(), shown=shown)


SOUND_TRIALS = (
    sound_trial(TrialKind.NO_SPACE, "room-1"),
    sound_trial(TrialKind.IO_ERROR, "eio"),
    sound_trial(TrialKind.BYSTANDER, "bystander"),
)
"""Of the faults that every subject has to do with."""


def seen(*experiments: Experiment, **fields: Any) -> Evidence:
    """What the experiments give together; complete, of all faults, unless said otherwise.

    Without experiments of a power loss: all that it may leave, a kill leaves too.
    """
    values: dict[str, Any] = {
        "subject": "etl",
        "capabilities": frozenset(),
        "faults": frozenset(Fault),
        "reference": undisturbed(),
        "experiments": experiments,
        "coverage": {fault: explored(experiments, fault) for fault in Fault},
        "trials": SOUND_TRIALS,
        "trial_coverage": {
            TrialKind.NO_SPACE: Coverage(derived=1, unique=1, explored=1),
            TrialKind.IO_ERROR: Coverage(derived=1, unique=1, explored=1),
            TrialKind.FAILED_SYNC: Coverage(derived=0, unique=0, explored=0),
            TrialKind.BYSTANDER: Coverage(derived=1, unique=1, explored=1),
        },
    }
    return Evidence(**{**values, **fields})
