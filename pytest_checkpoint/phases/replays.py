"""Replay before report: what failed is done again, until it is known what holds."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping

from checkpoint_contracts import RESTORED, outputs_cross, re_entry, replays_needed
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import CrashPoint, Evidence, Experiment, Trial, Variant
from checkpoint_contracts.verdict import Verdict
from pytest_checkpoint.errors import HarnessError, UserError
from pytest_checkpoint.examination import Progress
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.conduct import conduct, hung, looks_of, told
from pytest_checkpoint.phases.control import Control
from pytest_checkpoint.phases.trials_again import TrialsAgain
from pytest_checkpoint.states.kill import CrashState, parse
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State


class Replays:
    """The experiments and trials of one subject that are made again."""

    def __init__(
        self, bench: Bench, control: Control, source: StateSource, progress: Progress
    ) -> None:
        self._bench = bench
        self._control = control
        self._source = source
        self._progress = progress
        self._trials = TrialsAgain(bench, control, source)
        self._left: dict[CrashPoint, State] = {}
        """What lay there after the last leg of a trial that was made again."""

    def added_to(self, evidence: Evidence, contracts: Iterable[Contract]) -> Evidence:
        """With the first failure of each cause done again, until no contract wants more."""
        contracts = tuple(contracts)
        seen = {experiment.point: experiment for experiment in evidence.experiments}
        seen_trials = {trial.point: trial for trial in evidence.trials}
        made: set[CrashPoint] = set()
        while needed := replays_needed(evidence, contracts):
            replays, trials = list(evidence.replays), list(evidence.trial_replays)
            for where in needed:
                if where in made:
                    raise HarnessError(
                        f"the replay of {where.id} was asked for again: a fault of the kit, which "
                        "does not know it by its name"
                    )
                made.add(where)
                self._progress.phase(f"replaying failure {len(made)} (step {where.step})")
                if where.fault in RESTORED:
                    replays.append(self._replay(where, seen[where]))
                else:
                    trials.append(self._try_again(where, seen_trials[where], evidence.variants))
            evidence = dataclasses.replace(
                evidence, replays=tuple(replays), trial_replays=tuple(trials)
            )
        return evidence

    def states(self, verdicts: Mapping[str, Verdict]) -> dict[CrashPoint, State]:
        """The states of all confirmed failures."""
        points = {
            failure.finding.point for verdict in verdicts.values() for failure in verdict.failures
        }
        crashed = {
            where: self._source.state(parse(where.id))
            for where in points
            if where.fault in RESTORED
        }
        return self._left | crashed

    def _replay(self, where: CrashPoint, seen: Experiment) -> Experiment:
        deadlines = self._control.deadlines
        if hung(seen):
            deadlines = deadlines.for_a_hang()
        crash = parse(where.id)
        state = self._source.state(crash)
        looks = looks_of(self._bench, self._control, self._source)
        if outputs_cross.shows_what_may_vary(
            seen, self._control.reference
        ) or re_entry.shows_what_may_vary(seen):
            _await_another_second()
        again = conduct(self._bench, where, state, deadlines, looks, seen.equal_steps)
        return told(again, self._source, crash)

    def _try_again(self, where: CrashPoint, seen: Trial, variants: Iterable[Variant]) -> Trial:
        again = self._trials.again_as(seen, variants)
        self._left[where] = again.left
        return again.trial


def _await_another_second() -> None:
    """What shows again in another second does not hold the time in whole seconds.

    Of a quick job two undisturbed runs, an experiment and its replay may all be within one.
    """
    # The job reads the wall clock, and nothing happens that could be waited for but its next tick.
    second = int(time.time())  # noqa: TID251
    while (now_s := time.time()) < second + 1:  # noqa: TID251
        time.sleep(second + 1 - now_s)  # noqa: TID251


def require_state(crash: CrashState, source: StateSource) -> State:
    """UserError with a sentence if the recording has no such state."""
    steps = source.timeline.steps
    if crash.step <= steps:
        try:
            return source.state(crash)
        except HarnessError as error:
            raise UserError(
                f"there is no crash state {crash.step}.{crash.variant}: {error}"
            ) from error
    raise UserError(
        f"there is no step {crash.step}: the recording has {steps}; copy the replay line "
        "from a failure of this recording"
    )


def same_point(evidence: Evidence | None, where: CrashPoint) -> Experiment | None:
    """The experiment that was made there, if one was."""
    experiments = evidence.experiments if evidence else ()
    return next((one for one in experiments if one.point.id == where.id), None)
