"""Two starts of the job at the same instant, on one workspace: do both send?"""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Trial, TrialKind
from checkpoint_contracts.trial import Command, Leg, Shown
from pytest_checkpoint.phases.alone.pair import both
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.companion.plan import Plan, When
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.timeline import State

EXCLUSIVE: Final = "exclusive"
"""The capability of a job of which only one works at a time: of that ``one-writer`` is judged."""
_TIMES: Final = 3
_AGAIN: Final = 10
"""How often they are started again to see once more what chance has shown."""


class TwoSenders:
    """Of one subject. All start fresh."""

    def __init__(self, bench: Bench, control: Control) -> None:
        self._bench: Final = bench
        self._control: Final = control

    def planned(self) -> list[PlannedFault]:
        """None where the job says that only one of it works at a time."""
        if EXCLUSIVE in self._bench.subject.capabilities:
            return []
        return [self._at(number) for number in range(1, _TIMES + 1)]

    def find(self, step: int, variant: str) -> PlannedFault | None:
        found = (one for one in self.planned() if one.point.variant == variant and step == 0)
        return next(found, None)

    def again(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The same once more, for a while: the first that shows more than was sent undisturbed."""
        usual = len(self._control.reference.effects)
        made = self.conduct(planned)
        for _ in range(_AGAIN - 1):
            if sum(len(leg.effects) for leg in made[0].legs) != usual:
                break
            made = self.conduct(planned)
        return made

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and what both have left. Which of the two sent what is not known."""
        bench, start = self._bench, self._control.start
        deadline_s = self._control.deadlines.resume_s
        bench.put(start)
        plan = Plan(
            first=bench.expanded(bench.subject.run),
            beside=bench.expanded(bench.subject.resume),
            working_directory=str(bench.subject.working_directory),
            when=When.TOGETHER,
            deadline_s=2 * deadline_s,
            beside_deadline_s=deadline_s,
        )
        folder = bench.client.scratch / "both"
        remove_tree(folder)
        seen = both(bench, plan, folder)
        first = Leg(
            command=Command.RUN,
            execution=seen.first,
            events=bench.new_events(start.events),
            effects=bench.new_effects(start.effects),
        )
        legs = [first]
        if seen.second is not None:
            legs.append(Leg(command=Command.RESUME, execution=seen.second))
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=tuple(legs),
            shown=Shown(step=0),
        )
        return trial, bench.state()

    def _at(self, number: int) -> PlannedFault:
        kind = TrialKind.TWO_SENDERS
        words = f"two starts at the same instant (the {number}. time)"
        total = len(self._control.recording.operations)
        where = point(kind, 0, f"{kind}-{number}", words, "two starts at the same instant", total)
        return PlannedFault(kind=kind, point=where, action=None, covers=words)
