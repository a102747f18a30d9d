"""Resumes after a crash, recorded so that they can be crashed in turn.

Of all crashes of a run, or of a resume, some are chosen whose resumes differ in what they do before
they go on as the undisturbed run does: how a loop goes on is the same in every round. A resume that
does not end well by itself is not chosen; that is told by other contracts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checkpoint_contracts.evidence import Experiment, Fault
from checkpoint_contracts.table import gap, symptoms
from checkpoint_contracts.wording import place
from pytest_checkpoint.phases.bench import Bench, lines_of
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.signatures import signatures
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.states.kill import CrashState, kill_state
from pytest_checkpoint.states.order import spread
from pytest_checkpoint.states.resumes import Resumes, crash_id, kind_of
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.torn import cuts, first_cuts, torn_state

MOST: Final = 8
"""So many resumes are crashed, unless all are wanted."""
_MOST_RECORDED: Final = 3 * MOST
"""So many are recorded to find them."""


@dataclass(slots=True)
class Recoveries:
    """What was found of one kind: the resumes of the run, or of resumes."""

    chosen: list[CrashState] = field(default_factory=list)
    """The crashes whose resumes were recorded, and are to be crashed."""
    recorded: int = 0
    took_s: float = 0.0
    """For all that were recorded, and checked."""
    failing: int = 0
    """Crashes that the first resume did not survive."""
    broken: set[tuple[Fault, str]] = field(default_factory=set)
    """What these were, and the kinds of operations that they stood at."""
    ran_out: bool = False
    """The time was over before any was chosen."""
    doubts: list[str] = field(default_factory=list)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Why some were not chosen, sentences without a full stop."""
        if not self.failing:
            return ()
        crashes = "1 crash" if self.failing == 1 else f"{self.failing} crashes"
        return (f"left out: {crashes} from which the first resume does not end well by itself",)


class Recorder:
    """Records resumes of one subject and keeps those that are chosen."""

    def __init__(self, bench: Bench, control: Control, source: StateSource, folder: Path) -> None:
        """``folder``: where the recordings are kept, each under the id of its crash."""
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._folder: Final = folder
        self._undisturbed: Final = signatures(control.recording)
        self.resumes: Final = Resumes.of(source)

    def choose(
        self,
        crashes: Sequence[CrashState],
        *,
        known_failing: Collection[str],
        known_sound: Collection[str],
        known_keys: Set[bytes],
        deadline: float,
        found: Recoveries,
    ) -> None:
        """Record resumes in this order until enough are chosen, or the time is over.

        ``known_failing``, ``known_sound``: ids of crashes whose resumes were made already;
        ``known_keys``: of states that need not be resumed from any more. A resume that leaves none
        but these costs nothing more, and does not count as one of so many.
        """
        exhaustive = self._bench.options.exhaustive
        kinds: set[tuple[str, ...]] = set()
        counted = 0
        for crash in crashes:
            enough = counted >= MOST or found.recorded >= _MOST_RECORDED
            if not exhaustive and (enough or time.monotonic() >= deadline):
                found.ran_out = not enough and not found.chosen
                return
            if crash_id(crash) in known_failing:
                found.failing += 1
                continue
            with self._bench.reusing_checks():
                first = self.record(crash)
            found.recorded += 1
            check = first.check
            found.took_s += first.resume.wall_s + (check.wall_s if check is not None else 0.0)
            if not self._is_survived(crash, first, known_sound, found):
                self.forget(crash)
                continue
            kind = self._beginning(crash)
            if not self.resumes.after(crash).operations or (kind in kinds and not exhaustive):
                self.forget(crash)
                continue
            kinds.add(kind)
            found.chosen.append(crash)
            timeline = self.resumes.after(crash).timeline
            counted += any(
                timeline.key(step, repeats=False) not in known_keys
                for step in range(timeline.steps + 1)
            )

    def record(self, crash: CrashState) -> Experiment:
        """The resume from a crash, in a fresh process; what came of it."""
        bench, deadlines = self._bench, self._control.deadlines
        state = self._source.state(crash)
        folder = self._folder / crash_id(crash)
        remove_tree(folder)
        bench.put(state)
        result = bench.resume_told(deadlines.resume_s, folder)
        resume = bench.execution(result)
        if result.unreadable:
            sentence = (
                "in a resume stores through a shared mapping could not be read, so the states that "
                f"it leaves are not known: {', '.join(result.unreadable)}"
            )
            resume = dataclasses.replace(resume, problem=resume.problem or sentence)
        events = bench.new_events(state.events)
        for _ in range(bench.subject.resume_attempts - 1):
            if resume.succeeded or not resume.usable:
                break
            resume = bench.resume(deadlines.resume_s)
            events = bench.new_events(state.events)
        self.resumes.add(crash, journal.load(folder))
        return Experiment(
            point=self._source.point(crash),
            events_before=lines_of(state.events),
            events_after=events,
            resume=resume,
            check=bench.check(deadlines.check_s) if resume.succeeded else None,
        )

    def recall(self, crash: CrashState) -> bool:
        """Whether the recording of an earlier examination is there, and is taken up again."""
        folder = self._folder / crash_id(crash)
        if not folder.is_dir():
            return False
        self.resumes.add(crash, journal.load(folder))
        return True

    def forget(self, crash: CrashState) -> None:
        self.resumes.forget(crash)
        remove_tree(self._folder / crash_id(crash))

    def _is_survived(
        self, crash: CrashState, first: Experiment, known_sound: Collection[str], found: Recoveries
    ) -> bool:
        unusable = gap(first)
        if unusable is not None:
            found.doubts.append(unusable)
            return False
        if not symptoms(first, self._control.reference):
            return True
        if crash_id(crash) in known_sound:
            found.doubts.append(
                f"flaky subject: {place(first.point)}: the resume ended well at first, and not "
                "when it was made again to be recorded"
            )
        else:
            found.failing += 1
            found.broken.add(kind_of(first.point))
        return False

    def _beginning(self, crash: CrashState) -> tuple[str, ...]:
        """What it does until it goes on as the undisturbed run ends."""
        done = signatures(self.resumes.after(crash).recording)
        common = 0
        for one, other in zip(reversed(done), reversed(self._undisturbed), strict=False):
            if one != other:
                break
            common += 1
        return done[: len(done) - common]


def crashes_of(states: StateSource, *, torn: bool, exhaustive: bool) -> list[CrashState]:
    """Kills, and with ``torn`` writes cut short, in an order of which any beginning tells much.

    Those that stand at the same kind of operation are one group. First one of each group, from the
    middle of the run; the start of the whole run is the last of all.
    """
    groups: dict[tuple[Fault, str], list[CrashState]] = {}
    for crash in _all_crashes(states, torn=torn, exhaustive=exhaustive):
        where = states.point(crash)
        groups.setdefault((crash.fault, where.signature), []).append(crash)
    return in_turn(list(groups.values()))


def in_turn(groups: Sequence[Sequence[CrashState]]) -> list[CrashState]:
    """One of each group, then another of each: the middle ones first, then ever finer."""
    ordered = [[group[index] for index in _from_the_middle(len(group))] for group in groups]
    most = max(map(len, ordered), default=0)
    found = [group[rank] for rank in range(most) for group in ordered if rank < len(group)]
    return sorted(found, key=lambda crash: crash.step == 0)


def _from_the_middle(count: int) -> list[int]:
    middle = count // 2
    return list(dict.fromkeys([*([middle] if count else []), *spread(count)]))


def single_keys(source: StateSource, *, exhaustive: bool, repeats: bool) -> frozenset[bytes]:
    """Of all states that a kill or a torn write of the run leaves, explored or not.

    ``repeats``: as :meth:`Timeline.key` says.
    """
    timeline = source.timeline
    keys = {timeline.key(step, repeats=repeats) for step in range(timeline.steps + 1)}
    for operation in source.operations:
        if operation.write is not None:
            places = cuts(operation.write, exhaustive=exhaustive)
            keys.update(timeline.torn_keys(operation.step, places, repeats=repeats))
    return frozenset(keys)


def _all_crashes(states: StateSource, *, torn: bool, exhaustive: bool) -> Iterator[CrashState]:
    seen: set[bytes] = set()
    timeline = states.timeline
    for step in range(len(states.operations) + 1):
        key = timeline.key(step)
        if key not in seen:
            seen.add(key)
            yield kill_state(step)
    for operation in states.operations if torn else ():
        if operation.write is not None:
            places = first_cuts(operation.write)
            for cut in places if exhaustive else places[:1]:
                yield torn_state(operation.step, cut)
