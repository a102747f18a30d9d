"""Which crash states to explore, in which order, and how much of a recording that covers.

States that a subject could not tell apart are explored once. Each *unique* state remembers all the
crashes that leave it, so that exploring it counts for every one of them.

The order makes any early end as telling as can be. First one state per operation and kind of fault:
all kills, which are the fewest and decide the most contracts, then torn writes and power losses in
turn. Then the other main states of every operation: first, last and newline cuts of a write; then
names without data, data without names, zeros. Then the rest, shuffled by a seed. Within each, the
ends and the middle of the run come first, then ever finer.
"""

from __future__ import annotations

import gc
import random
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from checkpoint_contracts.evidence import Coverage, Fault
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.states.kill import BEFORE_FIRST, CrashState, kill_states, point
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.states.torn import cuts, first_cuts, torn_state

MAIN_LOSSES: Final = 5
"""Per step: all kept, nothing kept, names without data, zeros for data, data without names."""
MOST_LOSSES: Final = 64
"""Per step, unless all are wanted."""


@dataclass(slots=True)
class UniqueState:
    """One state, and all crashes that leave it."""

    crash: CrashState
    """The first of them, a kill if there is one: it stands for the state."""
    aliases: list[CrashState] = field(default_factory=list)
    """The others."""
    key: bytes = b""
    """The state's own."""


def plan(
    source: StateSource,
    *,
    faults: Set[Fault],
    seed: int,
    max_states: int,
    exhaustive: bool,
) -> Plan:
    """Derive the crash states of a recording, put equal ones together, and order them.

    ``max_states`` bounds what :attr:`Plan.states` holds, unless ``exhaustive``.
    """
    derivation = _Derivation(source)
    with _without_collections():
        if Fault.KILL in faults:
            derivation.add_kills()
        if Fault.TORN in faults:
            derivation.add_writes(exhaustive=exhaustive)
        if Fault.POWER_LOSS in faults:
            derivation.add_power_losses(exhaustive=exhaustive)
    ordered = _ordered(derivation, random.Random(seed))
    return Plan(source, derivation, tuple(ordered if exhaustive else ordered[:max_states]))


@contextmanager
def _without_collections() -> Iterator[None]:
    """Not one cycle among a million objects: the search for some takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Plan:
    """The unique states of a recording, in the order in which to explore them."""

    def __init__(
        self,
        source: StateSource,
        derivation: _Derivation,
        states: tuple[UniqueState, ...],
    ) -> None:
        """Made by :func:`plan`."""
        self._source: Final = source
        self._operations: Final = source.operations
        self._kills: Final = derivation.kills
        self._writes: Final = derivation.writes
        self._losses: Final = derivation.losses
        self._crashes: Final = frozenset(state.crash for state in derivation.states)
        unique = Counter(crash.fault for crash in self._crashes)
        self.states: Final = states
        """What to explore, in order; not more than was asked for."""
        self.derived: Final[Mapping[Fault, int]] = derivation.derived
        """Crashes per fault, before equal states were put together."""
        self.unique: Final[Mapping[Fault, int]] = {fault: unique[fault] for fault in self.derived}
        """States per fault; one that is left by a kill too counts under the kill only."""

    def materialize(self, state: UniqueState) -> State:
        """Its tree and events. Not kept: a run's images together would not fit in memory."""
        return self._source.state(state.crash)

    def __iter__(self) -> Iterator[tuple[UniqueState, State]]:
        """Each of :attr:`states` with what it holds, built when its turn comes."""
        return ((state, self.materialize(state)) for state in self.states)

    def coverage(
        self, explored: Set[CrashState], known_hangs: Iterable[CrashState] = ()
    ) -> Mapping[Fault, Coverage]:
        """How much was reached, given the :attr:`UniqueState.crash` of each explored state.

        ``known_hangs``, the same of states left out on purpose, do not count as unreached.
        """
        hangs = tuple(known_hangs)
        reached = {*explored, *hangs}
        strange = reached - self._crashes
        if strange:
            crash = min(strange)
            raise HarnessError(
                f"{crash.step}.{crash.variant} is said to be explored, but is no state of the plan"
            )
        unreached = {
            Fault.KILL: self._unreached_kills(reached),
            Fault.TORN: self._unreached(Fault.TORN, self._writes, reached, "main cuts"),
            Fault.POWER_LOSS: self._unreached(
                Fault.POWER_LOSS, self._losses, reached, "main losses"
            ),
        }
        counts = Counter(crash.fault for crash in explored)
        return {
            fault: Coverage(
                derived=self.derived[fault],
                unique=self.unique[fault],
                explored=counts[fault],
                unreached=tuple(unreached[fault]),
                known_hangs=tuple(
                    point(crash, self._operations) for crash in hangs if crash.fault is fault
                ),
            )
            for fault in self.derived
        }

    def _unreached_kills(self, reached: Set[CrashState]) -> Iterator[str]:
        for step, state in enumerate(self._kills):
            if state.crash not in reached:
                yield f"kill {self._place(step)}"

    def _unreached(
        self,
        fault: Fault,
        main: Mapping[int, Sequence[UniqueState]],
        reached: Set[CrashState],
        noun: str,
    ) -> Iterator[str]:
        for step, states in main.items():
            missing = sum(state.crash not in reached for state in states)
            if missing:
                yield f"{fault} {self._place(step)}: {missing} of {len(states)} {noun}"

    def _place(self, step: int) -> str:
        return f"at step {step} ({describe(self._operations[step - 1])})" if step else BEFORE_FIRST


class _Derivation:
    """All crashes of a recording, by the state that they leave."""

    def __init__(self, source: StateSource) -> None:
        self._source: Final = source
        self._by_key: dict[bytes, UniqueState] = {}
        self.derived: Final[dict[Fault, int]] = {}
        self.kills: Final[list[UniqueState]] = []
        """By step."""
        self.writes: Final[dict[int, list[UniqueState]]] = {}
        """Step → the states of its write's main cuts, most telling first."""
        self.losses: Final[dict[int, list[UniqueState]]] = {}
        """Step → the states of its main power losses, most telling first."""

    @property
    def states(self) -> Iterable[UniqueState]:
        return self._by_key.values()

    def add_kills(self) -> None:
        """First of all faults, so that a state which a kill leaves too counts under the kill."""
        crashes = kill_states(self._source.operations)
        timeline = self._source.timeline
        self.derived[Fault.KILL] = len(crashes)
        self.kills.extend(self._add(crash, timeline.key(crash.step)) for crash in crashes)

    def add_writes(self, *, exhaustive: bool) -> None:
        derived = 0
        for operation in self._source.operations:
            write = operation.write
            if write is None:
                continue
            step = operation.step
            places = cuts(write, exhaustive=exhaustive)
            keys = self._source.timeline.torn_keys(step, places)
            states = {
                cut: self._add(torn_state(step, cut), key)
                for cut, key in zip(places, keys, strict=True)
            }
            derived += len(places)
            if states:
                self.writes[step] = [states[cut] for cut in first_cuts(write)]
        self.derived[Fault.TORN] = derived

    def add_power_losses(self, *, exhaustive: bool) -> None:
        """Last, so that what a kill or a torn write leaves too does not count here."""
        derived = 0
        for step in range(len(self._source.operations) + 1):
            cap = None if exhaustive else MOST_LOSSES
            losses = self._source.power_losses(step, cap)
            states = [self._add(crash, key) for crash, key in losses]
            derived += len(states)
            main = [
                state
                for state, (crash, _) in zip(states[:MAIN_LOSSES], losses, strict=False)
                if state.crash == crash
            ]
            if main:
                self.losses[step] = main
        self.derived[Fault.POWER_LOSS] = derived

    def _add(self, crash: CrashState, key: bytes) -> UniqueState:
        state = self._by_key.get(key)
        if state is None:
            state = self._by_key[key] = UniqueState(crash, key=key)
        else:
            state.aliases.append(crash)
        return state


def _ordered(derivation: _Derivation, shuffler: random.Random) -> list[UniqueState]:
    kills = {step: [state] for step, state in enumerate(derivation.kills)}
    writes, losses = derivation.writes, derivation.losses
    steps = {*kills, *writes, *losses}
    places = spread(1 + max(steps, default=-1))
    order: dict[CrashState, UniqueState] = {}

    def take(rank: int, *kinds: Mapping[int, Sequence[UniqueState]]) -> None:
        for step in places:
            for kind in kinds:
                for state in kind.get(step, ())[rank : rank + 1]:
                    order.setdefault(state.crash, state)

    take(0, kills)
    take(0, writes, losses)
    for kind in (writes, losses):
        for rank in range(1, max(map(len, kind.values()), default=0)):
            take(rank, kind)
    rest = [state for state in derivation.states if state.crash not in order]
    shuffler.shuffle(rest)
    return [*order.values(), *rest]


def spread(count: int) -> list[int]:
    """0 to ``count`` - 1, so ordered that any beginning of it covers the whole range evenly.

    >>> spread(5)
    [0, 4, 2, 1, 3]
    """
    order = list(dict.fromkeys((0, count - 1))) if count else []
    gaps = deque([(0, count - 1)])
    while gaps:
        first, last = gaps.popleft()
        if last - first > 1:
            middle = (first + last) // 2
            order.append(middle)
            gaps += [(first, middle), (middle, last)]
    return order
