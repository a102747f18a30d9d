"""Shards of the job: two at the same instant, three one after the other, one of two killed.

``0.shards-together-2``: for the second time. ``0.shards-in-turn``. ``12.shard-killed``: whichever
of two makes the twelfth operation of both is killed right after it, with all its process group;
when the other has ended three are started, one after the other.
"""

from __future__ import annotations

import dataclasses
import re
import signal
from pathlib import Path
from typing import Final

from checkpoint_contracts.evidence import Evidence, Execution, Fault, Trial, TrialKind
from checkpoint_contracts.pair import Pair
from checkpoint_contracts.shards_once import shards_cover_once
from checkpoint_contracts.trial import Command, Leg, Shown
from checkpoint_contracts.tried import unusable
from pytest_checkpoint.phases.alone.pair import Both, both
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.companion.plan import MARGIN_S, Plan, When
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Command as CommandLine

TOGETHER: Final = 2
"""How often both are started at the same instant; and how many there are."""
IN_TURN: Final = 3
"""Shards that are started one after the other."""
MOST_KILLED: Final = 3
"""Operations at which one is killed, unless all are wanted."""
_AGAIN_AT_ONCE: Final = 10
"""How often two are started again, to see once more what chance has shown."""
_TRIES: Final = 3
"""How often a trial is made again in which no shard was killed beside another one."""
_LATEST: Final = 0.6
"""Of the operations of the undisturbed run the part at whose end the last kill comes: two shards
together may make fewer than the job does alone."""
_KINDS: Final = (
    TrialKind.SHARDS_TOGETHER,
    TrialKind.SHARDS_IN_TURN,
    TrialKind.SHARD_KILLED,
)
_INSTANT: Final = re.compile(rf"{TrialKind.SHARDS_TOGETHER}-([1-9]\d*)")


class Shards:
    """Of one subject. All start fresh."""

    def __init__(self, bench: Bench, control: Control) -> None:
        self._bench: Final = bench
        self._control: Final = control
        self._total: Final = len(control.recording.operations)

    # --- planning ---

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        match kind:
            case TrialKind.SHARDS_TOGETHER:
                every = [self._together(number) for number in range(1, TOGETHER + 1)]
                return every, len(every)
            case TrialKind.SHARDS_IN_TURN:
                return [self._in_turn()], 1
            case _:
                steps = range(1, max(1, int(self._total * _LATEST)) + 1)
                places = spread(len(steps))
                wanted = places if exhaustive else places[:MOST_KILLED]
                return [self._killed(steps[index]) for index in wanted], len(steps)

    def find(self, step: int, variant: str) -> PlannedFault | None:
        planned = (one for kind in _KINDS for one in self.planned(kind, exhaustive=True)[0])
        found = (one for one in planned if (one.point.step, one.point.variant) == (step, variant))
        return next(found, None)

    def _together(self, number: int) -> PlannedFault:
        kind = TrialKind.SHARDS_TOGETHER
        words = f"2 shards at the same instant (the {number}. time)"
        return self._one(kind, 0, f"{kind}-{number}", words, "2 shards at the same instant")

    def _in_turn(self) -> PlannedFault:
        words = f"{IN_TURN} shards, one after the other"
        return self._one(TrialKind.SHARDS_IN_TURN, 0, TrialKind.SHARDS_IN_TURN.value, words, words)

    def _killed(self, step: int) -> PlannedFault:
        kind = TrialKind.SHARD_KILLED
        words = f"one of 2 shards is killed after operation {step} of both, then {IN_TURN} resume"
        return self._one(kind, step, kind.value, words, "one of 2 shards is killed")

    def _one(
        self, kind: TrialKind, step: int, variant: str, words: str, signature: str
    ) -> PlannedFault:
        where = point(kind, step, variant, words, signature, self._total)
        return PlannedFault(kind=kind, point=where, action=None, covers=words)

    # --- trying ---

    def conduct(self, planned: PlannedFault) -> tuple[Trial, State]:
        """The trial, and what lay there when the first two, or the first alone, had ended."""
        return self._conduct(planned, longer=False)

    def _conduct(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        deadlines = self._control.deadlines.for_a_hang() if longer else self._control.deadlines
        match planned.kind:
            case TrialKind.SHARDS_TOGETHER:
                return self._at_once(planned, deadlines)
            case TrialKind.SHARDS_IN_TURN:
                return self._one_by_one(planned, deadlines)
            case _:
                made = self._death(planned, deadlines)
                for _ in range(_TRIES - 1):
                    if made[0].shown != Shown():
                        break
                    made = self._death(planned, deadlines)
                return made

    def again(self, planned: PlannedFault, *, longer: bool) -> tuple[Trial, State]:
        """The same once more. What chance has shown is looked for a while."""
        made = self._conduct(planned, longer=longer)
        more = 0 if planned.kind is TrialKind.SHARDS_IN_TURN else _AGAIN_AT_ONCE - 1
        for _ in range(more):
            if self._shows_something(made[0]):
                break
            made = self._conduct(planned, longer=longer)
        return made

    def _shows_something(self, trial: Trial) -> bool:
        known = Evidence(
            subject=self._bench.subject.name,
            capabilities=self._bench.subject.capabilities,
            faults=frozenset(Fault),
            reference=self._control.reference,
        )
        seen = shards_cover_once.look(trial, known, self._control.reference)
        return unusable(trial) is not None or (bool(seen) and not isinstance(seen, str))

    def _at_once(self, planned: PlannedFault, deadlines: Deadlines) -> tuple[Trial, State]:
        seen = self._both(deadlines)
        trial = self._of_both(planned, seen, Shown(step=0))
        left = self._bench.state()
        if seen.first.succeeded and seen.second is not None and seen.second.succeeded:
            trial = dataclasses.replace(trial, check=self._bench.check(deadlines.check_s))
        return trial, left

    def _one_by_one(self, planned: PlannedFault, deadlines: Deadlines) -> tuple[Trial, State]:
        bench, start = self._bench, self._control.start
        bench.put(start)
        first = self._shard(Command.RUN, 0, deadlines)
        trial = Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(first,),
            shards=IN_TURN,
        )
        left = bench.state()
        if not first.execution.succeeded:
            return trial, left
        # A check may write: what it saw is put back.
        trial = dataclasses.replace(trial, unresumed_check=bench.check(deadlines.check_s))
        bench.put(left)
        rest = self._shards(Command.RUN, range(1, IN_TURN), deadlines)
        return self._ended(trial, rest, deadlines), left

    def _death(self, planned: PlannedFault, deadlines: Deadlines) -> tuple[Trial, State]:
        stop = SignalAt(
            step=planned.point.step,
            number=signal.SIGKILL,
            grace_s=3 * deadlines.resume_s + MARGIN_S,
            whom="group",
        )
        seen = self._both(deadlines, stop)
        left = self._bench.state()
        dead = [one for one in (seen.first, seen.second) if one is not None and _was_killed(one)]
        fired = seen.result.fired_at if len(dead) == 1 else None
        if seen.second is not None and seen.second in dead:
            seen = dataclasses.replace(seen, first=seen.second, second=seen.first)
        trial = self._of_both(planned, seen, Shown(step=fired), killed=fired is not None)
        if fired is None or seen.second is None or not seen.second.succeeded:
            return trial, left
        legs = self._shards(Command.RESUME, range(IN_TURN), deadlines)
        trial = dataclasses.replace(trial, shards=IN_TURN)
        return self._ended(trial, legs, deadlines), left

    def _both(self, deadlines: Deadlines, stop: SignalAt | None = None) -> Both:
        bench = self._bench
        bench.put(self._control.start)
        plan = Plan(
            first=bench.expanded(bench.subject.run),
            first_variables=_variables(0, TOGETHER),
            beside=bench.expanded(bench.subject.run),
            beside_variables=_variables(1, TOGETHER),
            working_directory=str(bench.subject.working_directory),
            when=When.TOGETHER,
            deadline_s=2 * deadlines.resume_s,
            beside_deadline_s=deadlines.resume_s,
        )
        folder: Path = bench.client.scratch / "shards"
        remove_tree(folder)
        return both(bench, plan, folder, **({} if stop is None else {"signal": stop}))

    def _of_both(
        self, planned: PlannedFault, seen: Both, shown: Shown, *, killed: bool = False
    ) -> Trial:
        start = self._control.start
        leg = Leg(
            command=Command.RUN,
            execution=seen.first,
            events=self._bench.new_events(start.events),
            killed=killed,
        )
        pair = None if seen.second is None else Pair(second=seen.second, together=True)
        return Trial(
            point=planned.point,
            kind=planned.kind,
            events_before=lines_of(start.events),
            legs=(leg,),
            shown=shown,
            pair=pair,
        )

    # --- one shard ---

    def _shards(self, command: Command, numbers: range, deadlines: Deadlines) -> list[Leg]:
        """One after the other, up to the first that does not exit 0."""
        legs: list[Leg] = []
        for number in numbers:
            legs.append(self._shard(command, number, deadlines))
            if not legs[-1].execution.succeeded:
                break
        return legs

    def _shard(self, command: Command, number: int, deadlines: Deadlines) -> Leg:
        bench = self._bench
        before = bench.client.events.read_bytes()
        subject = bench.subject
        line = subject.run if command is Command.RUN else subject.resume
        attempts = 1 if command is Command.RUN else subject.resume_attempts
        execution = self._execution(line, number, deadlines)
        for _ in range(attempts - 1):
            if execution.succeeded or not execution.usable:
                break
            execution = self._execution(line, number, deadlines)
        return Leg(command=command, execution=execution, events=bench.new_events(before))

    def _execution(self, line: CommandLine, number: int, deadlines: Deadlines) -> Execution:
        bench = self._bench
        request = bench.request(bench.expanded(line), deadlines.resume_s)
        variables = {**request.environment, **_variables(number, IN_TURN)}
        result = bench.carry_out(dataclasses.replace(request, environment=variables))
        return bench.execution(result)

    def _ended(self, trial: Trial, legs: list[Leg], deadlines: Deadlines) -> Trial:
        """With these legs, and the check if all of them have exited 0."""
        check = None
        if all(leg.execution.succeeded for leg in legs):
            check = self._bench.check(deadlines.check_s)
        return dataclasses.replace(trial, legs=(*trial.legs, *legs), check=check)


def _was_killed(one: Execution) -> bool:
    """By the signal; who is ended at the deadline dies by one as well."""
    return one.signal == signal.SIGKILL and not one.timed_out


def _variables(number: int, count: int) -> dict[str, str]:
    """As torchrun sets them; nothing else is promised to a job."""
    return {"RANK": str(number), "WORLD_SIZE": str(count)}
