"""What may come after a fault: the power is lost, or the grace was too short.

The run with the fault is itself a recording, and gives crash states like any other. Only those are
of interest that would not be there without the fault: after a failed sync, the losses that would
not be possible had it succeeded; after a signal, the kills that leave what no kill of the
undisturbed run leaves. All others are the business of other contracts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts import ACKNOWLEDGES_EXIT, io_error
from checkpoint_contracts.evidence import CrashPoint, Execution, Fault, Trial, TrialKind
from checkpoint_contracts.trial import Shown
from pytest_checkpoint.phases.faults.conduct import Conducted, Faulty, after_crash
from pytest_checkpoint.phases.faults.planned import THEN
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import Event, Operation, Sync
from pytest_checkpoint.states.kill import CrashState, kill_state
from pytest_checkpoint.states.order import MAIN_LOSSES, MOST_LOSSES, spread
from pytest_checkpoint.states.power_loss.losses import Loss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

MOST: Final = 40
"""Crashes after one fault, unless all are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """A crash after a fault."""

    point: CrashPoint
    kind: TrialKind
    state: State
    without: State | None = None
    """What the same loss leaves where the sync had succeeded; of a kill None."""
    before: State | None = None
    """What it leaves where the power is lost right before the sync; of a kill None."""
    lost: tuple[str, ...] = ()
    after_end: bool = False


def losses(conducted: Conducted, model: Model, seen: Set[bytes], *, most: int) -> Iterator[Crash]:
    """After its failed sync: the power is lost at the end, or after a later done line.

    ``seen``: the keys of states that need not be looked at again.
    """
    recording = _recorded(conducted)
    fired = _step(conducted.trial.shown)
    granted = _with_sync(recording, fired)
    if granted is None:
        return
    source, without = StateSource(recording, model), StateSource(granted, model)
    total = len(recording.operations)
    moments = [total, *(one.step for one in recording.operations if _acknowledges(one, fired))]
    found: dict[bytes, Loss] = {}
    for step in dict.fromkeys(moments):
        possible = {key for _, key in without.power_losses(step, MOST_LOSSES)}
        possible.add(without.timeline.key(step))
        for loss in source.power.losses(step, MAIN_LOSSES):
            if _is_plain(loss) and loss.key not in possible and loss.key not in seen:
                found.setdefault(loss.key, loss)
    chosen = list(found.values())
    for index in spread(len(chosen))[:most]:
        loss = chosen[index]
        crash = CrashState(Fault.POWER_LOSS, loss.step, loss.variant)
        yield Crash(
            point=_point(conducted, source, crash, "power lost"),
            kind=TrialKind.FAILED_SYNC,
            state=source.state(crash),
            without=without.power.state(loss.step, loss),
            before=source.power.state(fired - 1, loss),
            lost=source.words(crash).lost,
            after_end=crash.step == total,
        )


def _is_plain(loss: Loss) -> bool:
    """It treats all names and all data alike, so it means the same of another recording."""
    return not loss.names.number and loss.data.node is None


def kills(conducted: Conducted, undisturbed: Set[bytes], *, most: int) -> Iterator[Crash]:
    """After its signal: killed after an operation since then.

    ``undisturbed``: the keys of states that need not be looked at: kills of the undisturbed run.
    """
    recording = _recorded(conducted)
    source = StateSource(recording, Model.LINUX)
    first = _step(conducted.trial.shown) + 1
    found: dict[bytes, int] = {}
    for step in range(first, len(recording.operations) + 1):
        key = source.timeline.key(step)
        if key not in undisturbed:
            found.setdefault(key, step)
    steps = list(found.values())
    for index in spread(len(steps))[:most]:
        crash = kill_state(steps[index])
        yield Crash(
            point=_point(conducted, source, crash, "killed"),
            kind=TrialKind.GRACE_TOO_SHORT,
            state=source.state(crash),
        )


def _recorded(conducted: Conducted) -> Recording:
    assert conducted.recording is not None
    return conducted.recording


def _step(shown: Shown | None) -> int:
    assert shown is not None
    assert shown.step is not None
    return shown.step


def _point(conducted: Conducted, source: StateSource, crash: CrashState, how: str) -> CrashPoint:
    fault, then = conducted.trial.point, source.point(crash)
    return dataclasses.replace(
        fault,
        variant=f"{fault.variant}{THEN}{crash.step}.{crash.variant}",
        operation=f"{fault.operation}, and {how} after step {then.step} ({then.operation})",
        signature=f"{fault.signature}, and {how}",
    )


def _acknowledges(operation: Operation, after: int) -> bool:
    """A done line, written after a step."""
    data = b"".join(one.data for one in operation.effects if isinstance(one, Event))
    return operation.step > after and any(line.startswith(b"done ") for line in data.splitlines())


def _with_sync(recording: Recording, step: int) -> Recording | None:
    """As it would be had the sync at this step succeeded; None: of what it was is not known."""
    failed = recording.operations[step - 1]
    if failed.node is None:
        return None
    sync = Sync(failed.node, data_only=failed.call == "fdatasync")
    succeeded = dataclasses.replace(failed, error=0, effects=(sync,))
    operations = (*recording.operations[: step - 1], succeeded, *recording.operations[step:])
    return dataclasses.replace(recording, operations=operations)


def resumed(faulty: Faulty, conducted: Conducted, crash: Crash) -> Trial:
    """The crash as a trial: its state restored, resumed without the fault, and checked."""
    trial = after_crash(conducted.trial, crash.point, crash.kind, crash.state)
    unresumed = _unresumed(faulty, conducted, crash)
    faulty.bench.put(crash.state)
    trial = dataclasses.replace(trial, lost=crash.lost, unresumed_check=unresumed)
    trial = faulty.resumed(trial, crash.state)
    reference = faulty.control.reference
    if crash.without is None or not io_error.shows_loss(trial, reference):
        return trial
    # Whatever the same loss does had the sync succeeded is no matter of the sync.
    faulty.bench.put(crash.without)
    twin = faulty.resumed(
        after_crash(conducted.trial, crash.point, crash.kind, crash.without), crash.without
    )
    if crash.before is not None and not io_error.shows_same_loss(trial, twin, reference):
        # Nor is what was lost before the sync was made: it was acknowledged without it.
        faulty.bench.put(crash.before)
        early = faulty.resumed(
            after_crash(conducted.trial, crash.point, crash.kind, crash.before), crash.before
        )
        if io_error.shows_same_loss(trial, early, reference):
            twin = early
    return dataclasses.replace(trial, unspoilt=twin.legs[1:], unspoilt_check=twin.check)


def _unresumed(faulty: Faulty, conducted: Conducted, crash: Crash) -> Execution | None:
    """The check before the resume, where exit 0 acknowledges and only the sync is to blame."""
    bench, reference = faulty.bench, faulty.control.reference
    acknowledged = ACKNOWLEDGES_EXIT in bench.subject.capabilities and crash.after_end
    if crash.without is None or not acknowledged:
        return None
    if not conducted.trial.legs[0].execution.succeeded:
        return None
    bench.put(crash.without)
    twin = bench.check(faulty.deadlines.check_s)
    if not twin.succeeded or twin.output != reference.check.output:
        return None
    bench.put(crash.state)
    return bench.check(faulty.deadlines.check_s)
