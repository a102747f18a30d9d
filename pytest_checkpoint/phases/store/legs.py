"""Executions one after the other in one workspace, each with what it asked of the store."""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Execution
from checkpoint_contracts.trial import Command, Leg
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.store.markers import names_of_markers
from pytest_checkpoint.phases.store.reading import objects_of, requests_of
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.record.store.faults import StoreFault
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Command as CommandLine


class StoreLegs:
    """Of one trial."""

    def __init__(self, bench: Bench, deadlines: Deadlines, start: State) -> None:
        """Puts ``start`` into the slot."""
        self.made: Final[list[Leg]] = []
        self._bench: Final = bench
        self._deadlines: Final = deadlines
        self.left: State = start
        """What the last leg left."""
        bench.put(start)

    def make(
        self,
        kind: Command,
        command: CommandLine,
        *,
        fault: StoreFault | None = None,
        signal: SignalAt | None = None,
    ) -> Result:
        """One execution; of a resume as many as the subject says it may take."""
        attempts = self._bench.subject.resume_attempts if kind is Command.RESUME else 1
        before = self.left
        result, execution = self._once(command, fault, signal)
        asked = requests_of(result.requests)
        for _ in range(attempts - 1):
            if execution.succeeded or not execution.usable:
                break
            result, execution = self._once(command, fault, signal)
            asked += requests_of(result.requests)
        self.left = self._bench.state()
        leg = Leg(
            command=kind,
            execution=execution,
            events=self._bench.new_events(before.events),
            effects=self._bench.new_effects(before.effects),
            requests=asked,
            objects=objects_of(self.left.objects),
            markers=names_of_markers(self._bench.subject, self.left),
            killed=result.killed_at is not None,
        )
        self.made.append(leg)
        return result

    def resume(self) -> None:
        self.make(Command.RESUME, self._bench.subject.resume)

    def check(self) -> Execution | None:
        """None if the last leg did not end with exit 0."""
        if not self.made[-1].execution.succeeded:
            return None
        return self._bench.check(self._deadlines.check_s)

    def _once(
        self, command: CommandLine, fault: StoreFault | None, signal: SignalAt | None
    ) -> tuple[Result, Execution]:
        bench, deadline_s = self._bench, self._deadlines.resume_s
        if signal is not None:
            deadline_s += signal.grace_s
        return bench.faulted(
            command,
            deadline_s,
            signal=signal,
            store_faults=() if fault is None else (fault,),
        )
