"""All faults that answer, tried on one subject: what covers an operation first, then the rest.

A run with a fault, its resume and its check may start warm, as resumes of crash states do. What a
warm one shows to be broken is made again with fresh processes before it counts, once for each
cause: if it does not show there, nothing that started warm is believed
(:class:`~pytest_checkpoint.phases.faults.doubts.DoubtedWarmth`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from checkpoint_contracts.evidence import Coverage, CrashPoint, Trial, TrialKind
from checkpoint_contracts.no_space import REAL
from checkpoint_contracts.wording import counted
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.effects.replies import planned_replies
from pytest_checkpoint.phases.faults import aftermath, errors, rooms, signals
from pytest_checkpoint.phases.faults.aftermath import Crash
from pytest_checkpoint.phases.faults.conduct import Conducted, Faulty
from pytest_checkpoint.phases.faults.conductors import Conductor, Conductors, is_fresh
from pytest_checkpoint.phases.faults.doubts import Doubts
from pytest_checkpoint.phases.faults.planned import KINDS, PlannedFault
from pytest_checkpoint.phases.logbook import FORGETFUL, Logbook, trial_name
from pytest_checkpoint.states.source import StateSource

_HANGS_KNOWN: Final = 2
"""After so many hangs at one operation its further trials are left out."""
_SIGNALS_CRASHED: Final = 4
"""Runs with each signal that are crashed before their grace is over, unless all are."""


class FaultTrials:
    """Those of some kinds, of one subject."""

    def __init__(
        self,
        bench: Bench,
        control: Control,
        source: StateSource,
        kinds: Collection[TrialKind],
        *,
        warm: bool,
        logbook: Logbook = FORGETFUL,
    ) -> None:
        """``warm``: what may start warm does."""
        self._logbook: Final = logbook
        self.made: Final[list[Trial]] = []
        self.notes: Final[list[str]] = []
        self._bench: Final = bench
        self._control: Final = control
        self._source: Final = source
        self._warm: Final = warm
        self._faulty: Final = Faulty(bench, control)
        self._conductors: Final = Conductors(bench, control, source)
        self._needed: Final[dict[TrialKind, list[PlannedFault]]] = {}
        self._others: Final[dict[TrialKind, list[PlannedFault]]] = {}
        self._totals: Final[Counter[TrialKind]] = Counter()
        self._crashes: Final[dict[TrialKind, list[CrashPoint]]] = {}
        """Of the kinds that come with others: all that were found."""
        self._kinds: Final = tuple(kind for kind in KINDS if kind in kinds)
        self._left_out: Final[list[PlannedFault]] = []
        self._hangs: Final[Counter[str]] = Counter()
        self._crashed: Final[Counter[str]] = Counter()
        self._seen: Final[set[bytes]] = set()
        """Keys of states after a failed sync that were resumed."""
        self._undisturbed: frozenset[bytes] | None = None
        self._doubts: Final = Doubts(
            control.reference, bench.subject, bench.options.catalogue.values()
        )
        self._rooms: Final[list[str]] = []
        self._no_room = ""
        for kind in self._kinds:
            self._plan(kind)

    def _plan(self, kind: TrialKind) -> None:
        options = self._bench.options
        recording, exhaustive = self._control.recording, options.exhaustive
        others: list[PlannedFault] = []
        match kind:
            case TrialKind.NO_SPACE:
                needed, others, total = rooms.planned_rooms(
                    recording, seed=options.seed, most=options.max_states, exhaustive=exhaustive
                )
            case TrialKind.IO_ERROR:
                with self._bench.warmly(on=self._warm):
                    closes = self._faulty.closes()
                if not closes:
                    self.notes.append(
                        "no close was made to fail: an undisturbed run, to see where files are "
                        "closed, did not exit 0"
                    )
                operations = recording.operations
                needed, others = errors.planned_errors(operations, closes, exhaustive=exhaustive)
                total = errors.count_of(operations, closes)
            case TrialKind.SIGNALLED:
                needed = signals.planned_signals(recording.operations, options.grace_s)
                total = len(needed)
            case TrialKind.CRASH_LOOP:
                needed, total = self._conductors.litter.planned(exhaustive=exhaustive)
            case TrialKind.LOST_REPLY:
                needed, total = planned_replies(recording.operations, exhaustive=exhaustive)
            case TrialKind.TWO_SENDERS:
                needed = self._conductors.two.planned()
                total = len(needed)
            case TrialKind.BYSTANDER:
                needed, total = self._conductors.beside.planned(exhaustive=exhaustive)
            case _:
                family = self._conductors.family(kind)
                if family is None:
                    self._crashes[kind] = []
                    return
                needed, total = family.planned(kind, exhaustive=exhaustive)
                if not exhaustive:
                    needed = needed[: options.max_states]
        self._needed[kind], self._others[kind], self._totals[kind] = needed, others, total

    @property
    def count(self) -> int:
        """How many are planned."""
        return sum(map(len, (*self._needed.values(), *self._others.values())))

    # --- trying ---

    def needed(self) -> list[Iterator[None]]:
        """What covers every operation, a piece of work for each kind; each step is a trial."""
        return [self._work(planned) for planned in self._needed.values()]

    def others(self) -> list[Iterator[None]]:
        """The rest."""
        return [self._work(planned) for planned in self._others.values() if planned]

    def _work(self, planned: list[PlannedFault]) -> Iterator[None]:
        for one in planned:
            if self._hangs[one.point.signature] >= _HANGS_KNOWN:
                self._left_out.append(one)
                continue
            name = trial_name(one.kind, one.point)
            trial = None if self._is_needed(one) else self._logbook.recall(name, Trial)
            made = None
            if trial is None:
                made, trial = self._tried(one)
            if trial is None:
                continue
            self._hangs[one.point.signature] += trial.hung
            self.made.append(trial)
            yield
            if made is not None:
                yield from self._crashes_after(one, made)

    def _is_needed(self, planned: PlannedFault) -> bool:
        """Whether it takes more than its trial to go on with it: the run itself, or its room."""
        if planned.point.variant.endswith(REAL):
            return True
        if planned.kind is TrialKind.SIGNALLED:
            return TrialKind.GRACE_TOO_SHORT in self._crashes
        return TrialKind.FAILED_SYNC in self._crashes and self._is_sync(planned)

    def _tried(self, planned: PlannedFault) -> tuple[Conducted | None, Trial | None]:
        """The run with a fault, if it is one; and the trial, unless none could be made."""
        conductor = self._conductors.of(planned.kind)
        made = None
        if conductor is not None:
            trial = self._conducted(planned, conductor)
        else:
            made = self._try(planned)
            if made is None:
                return None, None
            trial = made.trial
        self._logbook.keep(trial_name(planned.kind, planned.point), trial)
        return made, trial

    def _conducted(self, planned: PlannedFault, conductor: Conductor) -> Trial:
        warm = self._warm and not is_fresh(planned.kind)
        with self._bench.warmly(on=warm):
            trial, _ = conductor.conduct(planned)
        if warm and self._doubts.counts(trial):
            fresh, _ = conductor.conduct(planned)
            self._doubts.confirm(trial, fresh)
            trial = fresh
        return trial

    def _try(self, planned: PlannedFault) -> Conducted | None:
        """None: no real file system is to be had."""
        is_real = planned.point.variant.endswith(REAL)
        if is_real and self._no_room:
            return None
        with self._bench.reusing_checks(), self._bench.warmly(on=self._warm and not is_real):
            made = self._faulty.conduct(planned)
        if is_real and made.no_room:
            self._no_room = made.no_room
            return None
        if is_real:
            self._rooms.append(made.room)
        if self._warm and not is_real and self._doubts.counts(made.trial):
            fresh = self._faulty.conduct(planned)
            self._doubts.confirm(made.trial, fresh.trial)
            made = fresh
        return made

    def _crashes_after(self, planned: PlannedFault, made: Conducted) -> Iterator[None]:
        crashes = self._crashes_of(planned, made)
        for crash in crashes:
            self._crashes[crash.kind].append(crash.point)
        for crash in crashes:
            with self._bench.reusing_checks(), self._bench.warmly(on=self._warm):
                trial = aftermath.resumed(self._faulty, made, crash)
            if self._warm and self._doubts.counts(trial):
                fresh = aftermath.resumed(self._faulty, made, crash)
                self._doubts.confirm(trial, fresh)
                trial = fresh
            self._logbook.keep(trial_name(crash.kind, crash.point), trial)
            self.made.append(trial)
            yield

    def _crashes_of(self, planned: PlannedFault, made: Conducted) -> list[Crash]:
        """Those that are to be tried after a run with a fault."""
        options, trial = self._bench.options, made.trial
        shown, run = trial.shown, trial.legs[0].execution
        if shown is None or shown.step is None or shown.drift or not run.usable or run.timed_out:
            return []
        most = len(self._source.operations) * 100 if options.exhaustive else aftermath.MOST
        if TrialKind.FAILED_SYNC in self._crashes and self._is_sync(planned):
            model = self._source.model
            found = list(aftermath.losses(made, model, self._seen, most=most))
            self._seen.update(crash.state.key for crash in found)
            return found
        if TrialKind.GRACE_TOO_SHORT in self._crashes and planned.kind is TrialKind.SIGNALLED:
            self._crashed[planned.point.variant] += 1
            if options.exhaustive or self._crashed[planned.point.variant] <= _SIGNALS_CRASHED:
                return list(aftermath.kills(made, self._kills(), most=most))
        return []

    def _is_sync(self, planned: PlannedFault) -> bool:
        """Whether its fault is a sync that fails once."""
        operation = self._source.operations[planned.point.step - 1]
        return planned.point.variant == "eio" and errors.is_sync(operation)

    def _kills(self) -> frozenset[bytes]:
        if self._undisturbed is None:
            timeline = self._source.timeline
            self._undisturbed = frozenset(
                timeline.key(step) for step in range(len(self._source.operations) + 1)
            )
        return self._undisturbed

    # --- what came of it ---

    def coverage(self) -> Mapping[TrialKind, Coverage]:
        made = {trial.point for trial in self.made}
        left_out = {one.point for one in self._left_out}
        found = {}
        for kind, needed in self._needed.items():
            explored = sum(trial.kind is kind for trial in self.made)
            hangs = tuple(one.point for one in self._left_out if one.kind is kind)
            found[kind] = Coverage(
                derived=self._totals[kind],
                unique=self._totals[kind],
                explored=explored,
                unreached=tuple(
                    one.covers
                    for one in needed
                    if one.point not in made and one.point not in left_out
                ),
                known_hangs=hangs,
            )
        for kind, points in self._crashes.items():
            found[kind] = Coverage(
                derived=len(points),
                unique=len(points),
                explored=sum(one in made for one in points),
                unreached=tuple(one.operation for one in points if one not in made),
            )
        return found

    @property
    def room(self) -> str:
        """How the disk was made full, a sentence."""
        if TrialKind.NO_SPACE not in self._needed or not self._needed[TrialKind.NO_SPACE]:
            return ""
        text = "the disk was full by the kit's own count of blocks and inodes"
        if self._rooms:
            points = counted(len(self._rooms), "point")
            return f"{text}, and at {points} in truth: {self._rooms[0]}"
        why = self._no_room or "none was tried before the time was over"
        if not any(one.point.variant.endswith(REAL) for one in self._others[TrialKind.NO_SPACE]):
            why = "no boundary leaves it a block, and none can be made without"
        return f"{text}; on no real file system of that size: {why}"
