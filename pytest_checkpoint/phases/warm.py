"""Whether experiments may start warm: tried out before, doubted afterwards.

A warm start is a child of an interpreter that has its imports loaded already. It is to be as a
fresh process; whether it is for this subject is not believed but seen. Before exploring, the resume
of the finished job and the check are made both ways and compared. After it, what failed was
replayed in fresh processes: a failure of a warm start that does not show there is no finding but a
doubt about all the others, and everything is explored again with fresh processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from checkpoint_contracts import RESUME_KEEPS_WORK
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.cost import cpu_comparable, scale_of
from checkpoint_contracts.evidence import CrashPoint, Evidence, Execution, Fault, Reference
from checkpoint_contracts.own import asked
from checkpoint_contracts.replay import hold
from pytest_checkpoint.callables.reference import is_callable_command
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.conduct import hung
from pytest_checkpoint.phases.control import Control, set_up
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.signatures import order, signatures
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.states.timeline import State

FEWEST_STATES: Final = 8
"""With fewer states to explore, trying it out takes longer than it saves."""

_SEVERAL: Final = {"events", "effects", "objects", "operations", "files outside"}
_LONG_S: Final = 0.5
"""A job that takes longer is run once more to learn what it imports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmth:
    """What was decided for one subject."""

    on: bool
    notes: tuple[str, ...] = ()
    cpu_counts: bool = False
    """Some contract judges by the CPU of resumes after kills, which the reference has fresh."""
    saves_s: float = 0.0
    """How much less an experiment takes than with fresh processes."""
    cpu_counts_at_the_end: bool = False
    """The same, only after the last step."""

    def serves(self, where: CrashPoint, equal_steps: tuple[int, ...]) -> bool:
        """Whether the experiment there may start warm."""
        if not self.on:
            return False
        if where.fault is not Fault.KILL:
            return True
        last = max(where.step, *equal_steps, 0) >= where.total_steps
        return not (self.cpu_counts or (self.cpu_counts_at_the_end and last))


COLD: Final = Warmth(on=False)


def try_warm(
    bench: Bench, control: Control, finished: State, states: int, progress: Progress
) -> Warmth:
    """Make the resume of the finished job and the check both ways; decide by what that gave."""
    if bench.options.fresh or states < FEWEST_STATES:
        return COLD
    progress.phase("trying warm starts")
    # What a function's file imports cannot be read off the program that calls it.
    learns = control.reference.run.wall_s >= _LONG_S or is_callable_command(bench.subject.run)
    rehearsal = _learned(bench) if learns else None
    warm = _Sample.taken(bench, finished, warm=True)
    if not warm.stories:
        return Warmth(on=False, notes=warm.notes)
    fresh = _Sample.taken(bench, finished, warm=False)
    unlike = warm.unlike(fresh)
    if unlike:
        # What two fresh ones do not have in common either says nothing.
        varying = _Sample.taken(bench, finished, warm=False).unlike(fresh)
        unlike = {what: how for what, how in unlike.items() if what not in varying}
    if unlike:
        how = "; ".join(unlike.values())
        return Warmth(on=False, notes=(f"resumes and checks start fresh: warm, {how}",))
    bench.keeps_order = rehearsal is not None and (
        order(rehearsal) == order(control.recording)
        and order(warm.recording) == order(fresh.recording)
    )
    saves_s = max(0.0, fresh.wall_s - warm.wall_s)
    return _judged_by(control.reference, warm.notes, saves_s, bench.options.contracts)


def _learned(bench: Bench) -> Recording:
    """Find out what the job imports; the recording of a run that has all of it loaded."""
    set_up(bench)
    bench.learn_imports()
    set_up(bench)
    folder = bench.client.scratch / "rehearsed"
    bench.rehearse(folder)
    return journal.load(folder)


def _judged_by(
    reference: Reference,
    notes: tuple[str, ...],
    saves_s: float,
    contracts: frozenset[str] | None,
) -> Warmth:
    judged = contracts is None or RESUME_KEEPS_WORK in contracts
    cpu_counts = judged and scale_of(reference).cpu_unjudged is None
    if cpu_counts:
        notes = (*notes, "resumes after kills start fresh: what CPU they use is judged")
    return Warmth(
        on=True,
        notes=notes,
        saves_s=saves_s,
        cpu_counts=cpu_counts,
        cpu_counts_at_the_end=judged and cpu_comparable(reference.run),
    )


def doubt(
    evidence: Evidence,
    contracts: Iterable[Contract],
    warm: frozenset[CrashPoint],
    deadlines: Deadlines,
) -> CrashPoint | None:
    """A failure seen in a warm start that a fresh replay did not show; None: there is none."""
    seen = {experiment.point: experiment for experiment in evidence.experiments}
    for replay in evidence.replays:
        first = seen[replay.point]
        if (
            replay.point in warm
            and hung(first)
            and _in_time(replay.resume, replay.check, deadlines)
        ):
            return replay.point
    for contract in contracts:
        if contract.explores:
            point = asked(contract, None, partial(_not_repeated, evidence, contract, warm))
            if point is not None:
                return point
    return None


def _not_repeated(
    evidence: Evidence, contract: Contract, warm: frozenset[CrashPoint]
) -> CrashPoint | None:
    judged = hold(evidence, contract).evidence
    for finding in contract.findings(judged):
        if finding.point in warm and contract.repeated(judged, finding) is False:
            return finding.point
    return None


def _in_time(resume: Execution, check: Execution | None, deadlines: Deadlines) -> bool:
    """It ended within the deadline that the first one had, of which it is known to have hung."""
    return resume.wall_s < deadlines.resume_s and (
        check is None or check.wall_s < deadlines.check_s
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """The resume of the finished job and the check after it."""

    resume: Result
    check: Result
    seen: dict[str, object]
    """What is to be the same, by its name."""
    recording: Recording
    """Its operations are to be the same, but for folders that are made first in one of the two."""

    @classmethod
    def taken(cls, bench: Bench, finished: State, *, warm: bool) -> _Sample:
        folder = bench.client.scratch / "tried"
        deadline_s = bench.options.run_deadline_s
        bench.put(finished)
        with bench.warmly(on=warm):
            resume = bench.resume_told(deadline_s, folder, in_order=False)
            events = bench.new_events(finished.events)
            effects = bench.new_effects(finished.effects)
            objects = bench.stored()
            check = bench.check_told(deadline_s)
        seen: dict[str, object] = {"events": events, "effects": effects, "objects": objects}
        for name, result in (("resume", resume), ("check", check)):
            seen[f"{name}'s exit"] = (result.exit_code, result.signal, result.timed_out)
            seen[f"{name}'s output"] = bench.clean(result.output)
            seen[f"{name}'s error output"] = bench.clean(result.error_output)
        seen["files outside"] = resume.created_outside
        return cls(resume, check, seen, journal.load(folder))

    @property
    def wall_s(self) -> float:
        return self.resume.wall_s + self.check.wall_s

    @property
    def stories(self) -> list[str]:
        return [one.warm for one in (self.resume, self.check) if one.warm is not None]

    @property
    def notes(self) -> tuple[str, ...]:
        """In which way the two started."""
        texts = [_text(self.resume), _text(self.check)]
        if texts[0] == texts[1]:
            return (f"resumes and checks start {texts[0]}",) if texts[0] else ()
        named = zip(("resumes", "checks"), texts, strict=True)
        return tuple(f"{name} start {text}" for name, text in named if text)

    def unlike(self, other: _Sample) -> dict[str, str]:
        """What differs, in words."""
        found = {}
        first = [os.fsencode(one) for it in (self, other) for one in it.resume.made_first]
        ours, theirs = (
            it.seen | {"operations": signatures(it.recording, without=first)}
            for it in (self, other)
        )
        for name, value in ours.items():
            wanted = theirs[name]
            if value != wanted:
                found[name] = f"the {name} {_verb(name)} {_shown(value)}, not {_shown(wanted)}"
        return found


def _text(result: Result) -> str:
    if result.warm is not None:
        return f"warm ({result.warm})"
    return f"fresh: {result.fresh_because}" if result.fresh_because else ""


def _verb(name: str) -> str:
    return "are" if name in _SEVERAL else "is"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
