"""Damaged states: which of all that could be damaged is, and in which order it is resumed from."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Final

from checkpoint_contracts.bad_state import CHECKSUMMED
from checkpoint_contracts.evidence import Coverage, Experiment, Fault
from checkpoint_contracts.table import gap, symptoms
from checkpoint_contracts.wording import place
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.conduct import conduct, looks_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.explore import Exploration, Starts, explore
from pytest_checkpoint.phases.second_crash.recoveries import single_keys
from pytest_checkpoint.record.describe import normalized, shown_path
from pytest_checkpoint.states.damage import Damages
from pytest_checkpoint.states.kill import CrashState, kill_state
from pytest_checkpoint.states.order import UniqueState, spread
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State

SHARE: Final = 0.25
"""Of the time budget, and of the states; apart from exploring."""
MOST_MOMENTS: Final = 4
MOST_FILES: Final = 8
"""Of the state at a moment, unless all are wanted."""


def damages_of(bench: Bench, source: StateSource) -> Damages:
    """What can be damaged of this run; from now on ``source`` knows these states."""
    subject = bench.subject
    known = source.further.setdefault(
        Fault.DAMAGE,
        Damages(
            source,
            outputs=subject.outputs,
            ephemeral=subject.ephemeral,
            checksummed=CHECKSUMMED in subject.capabilities,
            seed=bench.options.seed,
        ),
    )
    assert isinstance(known, Damages)
    return known


def explore_damages(
    bench: Bench,
    control: Control,
    source: StateSource,
    before: Exploration,
    progress: Progress,
    starts: Starts,
) -> Exploration:
    """Resume from damaged states, within their share of the budget."""
    options = bench.options
    damages = damages_of(bench, source)
    deadline = time.monotonic() + SHARE * options.time_budget_s
    progress.phase("damaging the recorded state")
    moments = damages.moments
    if not options.exhaustive:
        moments = tuple(moments[index] for index in sorted(spread(len(moments))[:MOST_MOMENTS]))
    sound, left_out, doubts = _sound(bench, control, source, moments, before.experiments)
    if CHECKSUMMED not in bench.subject.capabilities:
        left_out.append("no bit was flipped: the subject does not declare checksummed")
    plan = _Plan(source, damages, sound, exhaustive=options.exhaustive)
    plan.left_out, plan.doubts = tuple(left_out), tuple(doubts)
    if not options.exhaustive:
        plan.states = plan.states[: max(1, int(SHARE * options.max_states))]
    if plan.states:
        many = len(plan.states)
        progress.estimate(f"{many} damaged state{'' if many == 1 else 's'}")
    return explore(bench, control, source, plan, progress, starts, deadline=deadline)


def _sound(
    bench: Bench,
    control: Control,
    source: StateSource,
    moments: Iterable[int],
    experiments: Iterable[Experiment],
) -> tuple[list[int], list[str], list[str]]:
    """The moments from which the job resumes well undamaged; why others are left out; doubts."""
    known: dict[int, Experiment] = {}
    for one in experiments:
        if one.point.fault is Fault.KILL:
            known.update(dict.fromkeys((one.point.step, *one.equal_steps), one))
    sound: list[int] = []
    left_out: list[str] = []
    doubts: list[str] = []
    looks = looks_of(bench, control, source)
    for step in moments:
        crash = kill_state(step)
        one = known.get(step) or conduct(
            bench, source.point(crash), source.state(crash), control.deadlines, looks
        )
        unusable = gap(one)
        if unusable is not None:
            doubts.append(unusable)
        elif symptoms(one, control.reference):
            left_out.append(
                f"nothing was damaged of the state after step {step}: the job does not resume well "
                f"from there anyway ({place(one.point)})"
            )
        else:
            sound.append(step)
    return sound, left_out, doubts


class _Plan:
    """Damages that leave states which no kill and no torn write leaves; in order."""

    def __init__(
        self, source: StateSource, damages: Damages, moments: Sequence[int], *, exhaustive: bool
    ) -> None:
        self._source: Final = source
        self._damages: Final = damages
        self._derived = 0
        self._known: Final = single_keys(source, exhaustive=exhaustive, repeats=True)
        self._by_key: dict[bytes, UniqueState] = {}
        self._main: Final[dict[str, UniqueState]] = {}
        """Kind of damage and of file → the state that must be explored for it."""
        self.left_out: tuple[str, ...] = ()
        self.doubts: tuple[str, ...] = ()
        ranked = [moments[index] for index in _latest_but_one_first(len(moments))]
        for step in ranked:
            files = damages.files(step)
            self._add_moment(step, files if exhaustive else _sample(files))
        main = {state.crash: state for state in self._main.values()}
        others = {state.crash: state for state in self._by_key.values()}
        self.states: tuple[UniqueState, ...] = tuple({**main, **others}.values())

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
            unreached=tuple(
                self._source.point(state.crash).operation
                for state in self._main.values()
                if state.crash not in reached
            ),
            known_hangs=tuple(map(self._source.point, hangs)),
            left_out=self.left_out,
            doubts=self.doubts,
        )
        return {Fault.DAMAGE: coverage}

    def _add_moment(self, step: int, files: Sequence[bytes]) -> None:
        for path in files:
            for crash in self._damages.of_file(step, path):
                self._add(crash, _kind(crash, path))
        for one, other in _pairs(files):
            swapped = self._damages.swapped(step, one, other)
            if swapped is not None:
                self._add(swapped, _kind(swapped, one, other))

    def _add(self, crash: CrashState, kind: str) -> None:
        self._derived += 1
        key = self._source.state(crash).key
        if key in self._known:
            return
        unique = self._by_key.get(key)
        if unique is None:
            unique = self._by_key[key] = UniqueState(crash, key=key)
        else:
            unique.aliases.append(crash)
        self._main.setdefault(kind, unique)


def _kind(crash: CrashState, *paths: bytes) -> str:
    what = crash.variant.partition("-")[0]
    return " ".join((what, *(normalized(shown_path(path)) for path in paths)))


def _latest_but_one_first(count: int) -> list[int]:
    """In the middle of things most is at stake; then the end, then the rest."""
    return list(dict.fromkeys([*([count // 2, count - 1] if count else []), *range(count)]))


def _sample(files: Sequence[bytes]) -> list[bytes]:
    """One of each kind of name, then others: files that a loop has made are alike."""
    groups: dict[str, list[bytes]] = {}
    for path in files:
        groups.setdefault(normalized(shown_path(path)), []).append(path)
    most = max(map(len, groups.values()), default=0)
    found = [group[-1 - n] for n in range(most) for group in groups.values() if n < len(group)]
    return sorted(found[:MOST_FILES])


def _pairs(files: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each with the next one; the last with the first, if there are more than two."""
    yield from pairwise(files)
    if len(files) > 2:
        yield files[-1], files[0]
