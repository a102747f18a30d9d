"""Resume from every crash state, in order, within the budget."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from checkpoint_contracts import ACKNOWLEDGES_EXIT, after_exit
from checkpoint_contracts.evidence import Coverage, CrashPoint, Experiment, Fault
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.again_fresh import Sample
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.conduct import conduct, hung, looks_of, told, usable
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook
from pytest_checkpoint.states.kill import CrashState
from pytest_checkpoint.states.order import UniqueState
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

EXPLORED: Final = "state "
"""Begins what a logbook calls a state that was explored; its crash's id follows."""
ENDED: Final = "exploring ended"
_HANGS_KNOWN: Final = 2
"""After so many hangs at one operation × kind its further states are not explored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    experiments: tuple[Experiment, ...]
    coverage: Mapping[Fault, Coverage]
    warm: frozenset[CrashPoint] = frozenset()
    """Where the experiment started warm."""
    unlike: CrashPoint | None = None
    """Where a warm start could not be used, and a fresh one could; or both, to another end."""
    keys: frozenset[bytes] = frozenset()
    """Of the states that were resumed from."""
    took_s: float = 0.0

    def with_more(self, other: Exploration) -> Exploration:
        """Both; of other faults."""
        return Exploration(
            experiments=(*self.experiments, *other.experiments),
            coverage={**self.coverage, **other.coverage},
            warm=self.warm | other.warm,
            unlike=self.unlike or other.unlike,
            keys=self.keys | other.keys,
            took_s=self.took_s + other.took_s,
        )


NOTHING_EXPLORED: Final = Exploration(experiments=(), coverage={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What was seen of one state, and is known from then on."""

    experiments: tuple[Experiment, ...]
    """The one that was made; then the same for the power losses that leave the state too."""
    warm: bool
    unlike: bool = False
    """A warm start could not be used, and a fresh one could."""
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """That the exploring is over, and how."""

    coverage: Mapping[Fault, Coverage]
    unlike: CrashPoint | None
    """As :attr:`Exploration.unlike`."""


class Starts(Protocol):
    """Who decides which experiments start warm (:class:`~pytest_checkpoint.phases.warm.Warmth`)."""

    def serves(self, where: CrashPoint, equal_steps: tuple[int, ...]) -> bool: ...


class States(Protocol):
    """What is to be explored, in order (:class:`~pytest_checkpoint.states.order.Plan`)."""

    @property
    def states(self) -> tuple[UniqueState, ...]: ...

    def __iter__(self) -> Iterator[tuple[UniqueState, State]]: ...

    def coverage(
        self, explored: Set[CrashState], known_hangs: Iterable[CrashState] = ()
    ) -> Mapping[Fault, Coverage]: ...


def explore(
    bench: Bench,
    control: Control,
    source: StateSource,
    plan: States,
    progress: Progress,
    starts: Starts,
    *,
    deadline: float | None = None,
    logbook: Logbook = FORGETFUL,
) -> Exploration:
    """One experiment per unique state, until all are done or the budget is spent.

    ``deadline``: when it is, by :func:`time.monotonic`; None: the time budget from now on.
    ``logbook``: what is known already is not made again, and costs nothing of the budget.
    """
    options = bench.options
    if deadline is None:
        deadline = time.monotonic() + options.time_budget_s
    ended = logbook.recall(ENDED, Ended)
    explorer = _Explorer(bench, control, source, starts, logbook)
    for number, (unique, state) in enumerate(plan):
        if not explorer.recalls(unique, state):
            if ended is not None:
                continue
            if time.monotonic() >= deadline and not options.exhaustive:
                break
            if explorer.leaves_out(unique):
                continue
            explorer.explore(unique, state)
        progress.advance(number + 1, len(plan.states))
    if ended is None:
        ended = Ended(
            coverage=plan.coverage(explorer.explored, explorer.left_out),
            unlike=explorer.unlike or explorer.sample.unlike(),
        )
        logbook.keep(ENDED, ended)
    # In the order of the run, so that of each cause the earliest is reported.
    experiments = sorted(
        explorer.experiments,
        key=lambda one: (one.point.step, list(Fault).index(one.point.fault)),
    )
    return Exploration(
        experiments=tuple(experiments),
        coverage=ended.coverage,
        warm=frozenset(explorer.warm),
        unlike=ended.unlike,
        keys=frozenset(explorer.keys),
        took_s=explorer.took_s,
    )


class _Explorer:
    """The experiments of one exploration, one after the other."""

    def __init__(
        self,
        bench: Bench,
        control: Control,
        source: StateSource,
        starts: Starts,
        logbook: Logbook,
    ) -> None:
        self.experiments: Final[list[Experiment]] = []
        self.explored: Final[set[CrashState]] = set()
        self.keys: Final[set[bytes]] = set()
        self.left_out: Final[list[CrashState]] = []
        self.warm: Final[set[CrashPoint]] = set()
        self.unlike: CrashPoint | None = None
        self.sample: Final = Sample(bench.options.seed)
        self.took_s = 0.0
        self._bench, self._control, self._source = bench, control, source
        self._starts, self._logbook = starts, logbook
        self._looks: Final = looks_of(bench, control, source)
        self._hangs: Final[Counter[tuple[Fault, str]]] = Counter()

    def leaves_out(self, unique: UniqueState) -> bool:
        """Whether others at that operation hung."""
        where = self._source.point(unique.crash)
        known = self._hangs[where.fault, where.signature] >= _HANGS_KNOWN
        if known:
            self.left_out.append(unique.crash)
        return known

    def recalls(self, unique: UniqueState, state: State) -> bool:
        """Whether it was explored before the session was interrupted."""
        where = self._source.point(unique.crash)
        known = self._logbook.recall(f"{EXPLORED}{where.id}", Explored)
        if known is None:
            return False
        first = known.experiments[0]
        self._take(unique, known)
        if known.warm:
            also = tuple(one.point for one in known.experiments[1:])
            self.sample.offer(first, self._making(unique, state, also))
        return True

    def explore(self, unique: UniqueState, state: State) -> None:
        begun = time.monotonic()
        bench, source = self._bench, self._source
        where, equal = source.point(unique.crash), equal_steps(unique)
        also = _also_lost(bench, source, unique)
        made = self._making(unique, state, tuple(also.values()))
        serves = self._starts.serves(where, equal)
        with bench.reusing_checks(), bench.warmly(on=serves) as is_warm:
            experiment = made()
        unlike = False
        if is_warm and not usable(experiment):
            experiment = made()
            is_warm, unlike = False, usable(experiment)
        elif is_warm:
            self.sample.offer(experiment, made)
        experiments = [told(experiment, source, unique.crash)]
        for crash, loss in also.items():
            same = dataclasses.replace(experiment, point=loss, equal_steps=())
            experiments.append(told(same, source, crash))
        known = Explored(
            experiments=tuple(experiments),
            warm=is_warm,
            unlike=unlike,
            took_s=time.monotonic() - begun,
        )
        self._logbook.keep(f"{EXPLORED}{where.id}", known)
        self._take(unique, known)

    def _making(
        self, unique: UniqueState, state: State, also: tuple[CrashPoint, ...]
    ) -> Callable[[], Experiment]:
        where, equal = self._source.point(unique.crash), equal_steps(unique)
        deadlines = self._control.deadlines
        return partial(conduct, self._bench, where, state, deadlines, self._looks, equal, also)

    def _take(self, unique: UniqueState, known: Explored) -> None:
        first = known.experiments[0]
        if known.unlike:
            self.unlike = self.unlike or first.point
        self._hangs[first.point.fault, first.point.signature] += hung(first)
        self.experiments.extend(known.experiments)
        if known.warm:
            self.warm.update(one.point for one in known.experiments)
        self.explored.add(unique.crash)
        self.keys.add(unique.key)
        self.took_s += known.took_s


def _also_lost(
    bench: Bench, source: StateSource, unique: UniqueState
) -> dict[CrashState, CrashPoint]:
    """Power losses that leave the state of a kill or a torn write: judged as what they are too.

    One stands for all. After an exit that acknowledges each counts: what is right after a kill is
    a failure there, as the un-resumed check says.
    """
    if unique.crash.fault is Fault.POWER_LOSS:
        return {}
    losses = [alias for alias in unique.aliases if alias.fault is Fault.POWER_LOSS]
    wanted = losses[:1]
    if ACKNOWLEDGES_EXIT in bench.subject.capabilities:
        wanted += [alias for alias in losses[1:] if after_exit(source.point(alias))]
    return {alias: source.point(alias) for alias in wanted}


def equal_steps(unique: UniqueState) -> tuple[int, ...]:
    """Further steps after which a kill leaves the state."""
    return tuple(alias.step for alias in unique.aliases if alias.fault is Fault.KILL)
