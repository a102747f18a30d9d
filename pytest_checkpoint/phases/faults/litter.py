"""Kills in a row at one operation, and the names that lie in the workspace after each.

Nothing is really killed: every resume is recorded, and the recording tells what a kill after one of
its operations would have left. From there the next resume starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.litter import CLEANS_UP, KILLS
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.describe import describe, normalized, shown_path, signature
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import WORKSPACE, Operation
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import Image

MOST: Final = 12
"""Operations at which it is killed, unless all are wanted."""
FEWEST: Final = 3
"""Also where the undisturbed run leaves nothing behind: a resume may."""
_LOOKED_AT: Final = 200
"""Operations after which is counted what lies there."""
VARIANT: Final = "crash-loop"


@dataclass(frozen=True, slots=True)
class _Loop:
    """What was seen of one."""

    state: State
    counts: tuple[int, ...]
    stopped: Leg | None = None
    """A resume that could not be seen through."""


class Litter:
    """Of one subject."""

    def __init__(self, bench: Bench, control: Control, source: StateSource) -> None:
        self._bench = bench
        self._control = control
        self._source = source
        self._ephemeral = Globs(bench.subject.ephemeral)
        self._final = self._forms(source.timeline.after(source.timeline.steps).image)

    def leftovers(self, image: Image) -> tuple[str, ...]:
        """Names in the workspace that a finished job does not have."""
        left: list[str] = []
        have: Counter[str] = Counter()
        for name in self._names(image):
            form = normalized(name)
            have[form] += 1
            if have[form] > self._final[form]:
                left.append(name)
        return tuple(left)

    def planned(self, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """Where to kill it, first where most is to be expected; and how many there are in all."""
        operations = self._source.operations
        telling = self._telling(operations)
        alike: dict[str, int] = {}
        for step in telling:
            alike.setdefault(signature(operations[step - 1]), step)
        steps = dict.fromkeys(alike.values())
        if exhaustive:
            steps |= dict.fromkeys(range(1, len(operations) + 1))
        else:
            steps = dict.fromkeys(list(steps)[:MOST])
            places = (index + 1 for index in spread(len(operations)))
            while len(steps) < min(FEWEST, len(operations)):
                steps[next(places)] = None
        return [self._at(step) for step in steps], len(operations)

    def leaves_something(self) -> bool:
        """Whether the undisturbed run has names on its way that it has not at its end."""
        return bool(self._telling(self._source.operations))

    def find(self, step: int, variant: str) -> PlannedFault | None:
        known = variant == VARIANT and 1 <= step <= len(self._source.operations)
        return self._at(step) if known else None

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and what lay there after the last kill."""
        bench, deadlines = self._bench, self._control.deadlines.for_a_hang()
        loop = self._loop(planned.point.step, deadlines.resume_s)
        leg, check = loop.stopped, None
        litter: tuple[str, ...] = ()
        if leg is None:
            bench.put(loop.state)
            execution = bench.resume(deadlines.resume_s)
            events = bench.new_events(loop.state.events)
            leg = Leg(command=Command.RESUME, execution=execution, events=events)
            litter = self.leftovers(bench.look())
            check = bench.check(deadlines.check_s) if execution.succeeded else None
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(loop.state.events),
            legs=(leg,),
            check=check,
            leftovers=loop.counts,
            litter=litter,
        )
        return trial, loop.state

    def _loop(self, step: int, deadline_s: float) -> _Loop:
        bench, like = self._bench, self._source.operations[step - 1]
        state = self._source.state(kill_state(step))
        counts = [len(self.leftovers(state.image))]
        folder = bench.client.scratch / "loop"
        while len(counts) < KILLS:
            bench.put(state)
            execution = bench.execution(self._recorded(folder, deadline_s))
            if not execution.usable or execution.timed_out:
                events = bench.new_events(state.events)
                leg = Leg(command=Command.RESUME, execution=execution, events=events)
                return _Loop(state, tuple(counts), leg)
            state = self._killed(journal.load(folder), like)
            counts.append(len(self.leftovers(state.image)))
        return _Loop(state, tuple(counts))

    def _recorded(self, folder: Path, deadline_s: float) -> Result:
        remove_tree(folder)
        return self._bench.resume_told(deadline_s, folder)

    def _killed(self, resume: Recording, like: Operation) -> State:
        """What a kill leaves after the first operation of a resume that is like another."""
        source = StateSource(resume, Model.LINUX)
        wanted = signature(like)
        for operation in resume.operations:
            if signature(operation) == wanted:
                return source.state(kill_state(operation.step))
        steps = spread(len(resume.operations) + 1)[:_LOOKED_AT]
        counted = {step: self._count(source, step) for step in sorted(steps)}
        return source.state(kill_state(max(counted, key=lambda step: counted[step])))

    def _telling(self, operations: Sequence[Operation]) -> list[int]:
        """Steps after which names lie there that a finished job does not have, most names first."""
        steps = sorted(index + 1 for index in spread(len(operations))[:_LOOKED_AT])
        counts = {step: self._count(self._source, step) for step in steps}
        return sorted((step for step in steps if counts[step]), key=lambda step: -counts[step])

    def _count(self, source: StateSource, step: int) -> int:
        return len(self.leftovers(source.timeline.after(step).image))

    def _at(self, step: int) -> PlannedFault:
        operation = self._source.operations[step - 1]
        words = f"killed {KILLS} times in a row after step {step} ({describe(operation)})"
        total = len(self._source.operations)
        sign = f"killed in a row after {signature(operation)}"
        return PlannedFault(
            kind=TrialKind.CRASH_LOOP,
            point=point(TrialKind.CRASH_LOOP, step, VARIANT, words, sign, total),
            action=None,
            covers=words,
        )

    def _names(self, image: Image) -> list[str]:
        return [
            shown_path(path)
            for path, _, _ in walk(image)
            if path.startswith(WORKSPACE + b"/") and not self._ephemeral.match(path)
        ]

    def _forms(self, image: Image) -> Mapping[str, int]:
        return Counter(map(normalized, self._names(image)))


def left_behind(bench: Bench, control: Control, source: StateSource) -> tuple[str, ...]:
    """A note on what killed attempts leave, where there is something on the way of the job."""
    litter = Litter(bench, control, source)
    if not litter.leaves_something():
        return ()
    planned, _ = litter.planned(exhaustive=False)
    trial, _ = litter.conduct(planned[0])
    if not trial.leftovers[-1]:
        return ()
    counts = ", ".join(map(str, trial.leftovers))
    note = (
        f"{trial.point.operation}, it had {counts} names more than a finished job has"
        f" (declare {CLEANS_UP} to have that judged)"
    )
    return (note,)
