"""The states that crashes of the chosen resumes leave, in the order in which to explore them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Final

from checkpoint_contracts.evidence import Coverage, Fault
from checkpoint_contracts.wording import counted
from pytest_checkpoint.phases.second_crash.recoveries import Recorder, Recoveries
from pytest_checkpoint.record.describe import describe, signature
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.kill import CrashState, kill_state
from pytest_checkpoint.states.order import UniqueState, spread
from pytest_checkpoint.states.resumes import crashed_again
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.states.torn import cuts, first_cuts, torn_state

_FOR_ALL: Final = 0.8
"""So much of the time is planned for, since no estimate is exact."""
_LEAST: Final = 2
"""So many resumes are crashed whether there is time for them or not."""


class SecondCrashes:
    """The states of the chosen resumes that were not met before: all kills, then torn writes."""

    def __init__(
        self,
        source: StateSource,
        recorder: Recorder,
        found: Recoveries,
        known: Set[bytes],
        *,
        torn: bool,
        broken: Set[tuple[Fault, str]],
        exhaustive: bool,
    ) -> None:
        """``torn``: writes are cut short too. ``broken``: kinds of operations at which a single
        crash of that fault is not survived either: they tell nothing more.
        """
        self._broken: Final = broken
        self._told_by_others = 0
        self._excused: Final[set[bytes]] = set()
        self._source: Final = source
        self._recorder: Final = recorder
        self._found: Final = found
        self._derived = 0
        self._by_key: dict[bytes, UniqueState] = {}
        self._kills: Final[dict[CrashState, dict[int, UniqueState]]] = {}
        """First crash → step of its resume → the state, where it is a new one."""
        self._torn: Final[dict[CrashState, list[UniqueState]]] = {}
        self._known: Final = known
        """Of the states that fewer crashes leave."""
        self._crashed: list[CrashState] = list(found.chosen)
        for crash in found.chosen:
            self._add_kills(crash)
            self._torn[crash] = []
            if torn:
                self._add_torn(crash, exhaustive=exhaustive)
        self.states: tuple[UniqueState, ...] = ()

    def limit(self, time_s: float | None, one_s: float | None, most: int) -> None:
        """Take as many resumes as the time is enough for, and ``most`` states; None: all.

        Those that leave the fewest new states come first. ``one_s``: what an experiment takes;
        None: what it takes to record a resume.
        """
        self._found.chosen.sort(key=lambda crash: len(self._kills[crash]))
        self._crashed = list(self._found.chosen)
        if time_s is not None:
            if one_s is None:
                one_s = self._found.took_s / max(1, self._found.recorded)
            affordable = min(most, int(_FOR_ALL * max(0.0, time_s) / max(0.001, one_s)))
            count = 0
            for number, crash in enumerate(self._found.chosen):
                count += len(self._kills[crash])
                if number >= _LEAST and count > affordable:
                    self._crashed = self._found.chosen[:number]
                    break
        ordered = [*self._in_turn_kills(), *self._in_turn_torn()]
        unique = tuple({state.crash: state for state in ordered}.values())
        self.states = unique if time_s is None else unique[:most]

    def __iter__(self) -> Iterator[tuple[UniqueState, State]]:
        return ((unique, self._source.state(unique.crash)) for unique in self.states)

    def coverage(
        self, explored: Set[CrashState], known_hangs: Iterable[CrashState] = ()
    ) -> Mapping[Fault, Coverage]:
        hangs = tuple(known_hangs)
        reached = {*explored, *hangs}
        coverage = Coverage(
            derived=self._derived,
            unique=len(self._by_key),
            explored=len(explored),
            unreached=tuple(self._unreached(reached)),
            known_hangs=tuple(map(self._source.point, hangs)),
            left_out=tuple(self._left_out()),
            doubts=tuple(self._found.doubts),
        )
        return {Fault.SECOND_CRASH: coverage}

    def _left_out(self) -> Iterator[str]:
        yield from self._found.left_out
        if self._told_by_others:
            yield (
                f"left out: {counted(self._told_by_others, 'crash state')} of resumes at kinds of "
                "operations at which one crash is not survived either"
            )
        crashed, chosen = len(self._crashed), len(self._found.chosen)
        if crashed < chosen:
            yield (
                f"{crashed} of {chosen} recorded resumes were crashed: more do not fit into a "
                "quarter of the budget (--checkpoint-time-budget, --checkpoint-max-states)"
            )

    def _unreached(self, reached: Set[CrashState]) -> Iterator[str]:
        if self._found.ran_out:
            yield "the resume after a crash: none was recorded"
        for crash in self._crashed:
            operations = self._recorder.resumes.after(crash).operations
            for step, state in self._kills[crash].items():
                if state.crash not in reached:
                    what = describe(operations[step - 1])
                    after = self._source.point(crash).id
                    yield f"the resume after {after}, killed at its step {step} ({what})"

    def _add_kills(self, crash: CrashState) -> None:
        states = self._recorder.resumes.after(crash)
        kills = self._kills[crash] = {}
        for operation in states.operations:
            key = states.timeline.key(operation.step, repeats=False)
            unique = self._new(crash, kill_state(operation.step), operation, key)
            if unique is not None:
                kills[operation.step] = unique

    def _add_torn(self, crash: CrashState, *, exhaustive: bool) -> None:
        states = self._recorder.resumes.after(crash)
        for operation in states.operations:
            write = operation.write
            if write is None:
                continue
            places = cuts(write, exhaustive=True) if exhaustive else sorted(first_cuts(write))
            keys = states.timeline.torn_keys(operation.step, places, repeats=False)
            for cut, key in zip(places, keys, strict=True):
                unique = self._new(crash, torn_state(operation.step, cut), operation, key)
                if unique is not None:
                    self._torn[crash].append(unique)

    def _new(
        self, first: CrashState, then: CrashState, operation: Operation, key: bytes
    ) -> UniqueState | None:
        """The state, if no single crash leaves it, nor breaks at such an operation."""
        self._derived += 1
        if key in self._known:
            return None
        if key in self._excused or (then.fault, signature(operation)) in self._broken:
            self._excused.add(key)  # a sync after it leaves the same
            self._told_by_others += 1
            return None
        crash = crashed_again(first, then)
        unique = self._by_key.get(key)
        if unique is None:
            unique = self._by_key[key] = UniqueState(crash, key=key)
        else:
            unique.aliases.append(crash)
        return unique

    def _in_turn_kills(self) -> Iterator[UniqueState]:
        yield from _in_turn([list(self._kills[crash].values()) for crash in self._crashed])

    def _in_turn_torn(self) -> Iterator[UniqueState]:
        yield from _in_turn([self._torn[crash] for crash in self._crashed])


def _in_turn(groups: list[list[UniqueState]]) -> Iterator[UniqueState]:
    """Of each resume in turn, the ends and the middle of it first."""
    ordered = [[group[index] for index in spread(len(group))] for group in groups]
    for rank in range(max(map(len, ordered), default=0)):
        yield from (group[rank] for group in ordered if rank < len(group))
