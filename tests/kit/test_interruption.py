"""What an interrupted examination says of what it had seen: nothing of it counts as passed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

from checkpoint_contracts import CATALOGUE, ExperimentContract, judge_all
from checkpoint_contracts.evidence import Coverage, Evidence, Fault, PartialOutput
from checkpoint_contracts.verdict import Outcome
from pytest_checkpoint.interruption import Before, as_interrupted, seen_so_far, too_early
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.explore import ENDED, Ended, Exploration, Explored
from pytest_checkpoint.phases.further import DAMAGES, SECOND_CRASHES
from pytest_checkpoint.phases.trying import TRIALS_ENDED, Tried
from pytest_checkpoint.subject import Subject
from tests.contracts.builders import SOUND, crashed_twice, killed, ran, seen, sound_trial, tried
from tests.contracts.builders import explored as covered

EQUALS, CORRUPT, OUTPUTS = (
    CATALOGUE["resume-equals-uninterrupted"],
    CATALOGUE["state-never-corrupt"],
    CATALOGUE["no-partial-under-final-name"],
)


def test_what_would_have_passed_is_inconclusive() -> None:
    evidence = seen(*SOUND)
    whole = judge_all(evidence, CATALOGUE.values())
    assert {one.outcome for one in whole.values()} > {Outcome.PASSED}

    examination = as_interrupted(evidence, CATALOGUE.values(), ["a note"])

    assert examination.interrupted
    assert examination.notes == ("a note",)
    assert list(examination.verdicts) == list(CATALOGUE)
    for name, verdict in examination.verdicts.items():
        if whole[name].outcome is Outcome.PASSED:
            assert verdict.outcome is Outcome.INCONCLUSIVE
            assert verdict.reason.startswith("interrupted after ")


def test_a_failure_that_was_not_replayed_is_told_and_accuses_nobody() -> None:
    evidence = seen(tried(killed(3), resume=ran(1)))
    verdict = as_interrupted(evidence, [EQUALS], []).verdicts[EQUALS.id]
    assert verdict.outcome is Outcome.INCONCLUSIVE
    (note,) = verdict.notes
    assert note.startswith("seen once and not yet replayed: killed at step 3 ")


def test_a_contract_of_somebodys_own_that_raises_hides_nothing() -> None:
    def raises(*anything: object) -> None:
        raise ZeroDivisionError("planted")

    own = ExperimentContract(id="own", promise="it holds", judge=raises)
    evidence = seen(tried(killed(3), resume=ran(1)))
    verdicts = as_interrupted(evidence, [own, EQUALS], []).verdicts
    assert verdicts["own"].outcome is Outcome.INCONCLUSIVE
    assert verdicts[EQUALS.id].notes


def test_a_failure_that_needs_no_replay_stands() -> None:
    part = PartialOutput(
        point=killed(3), path="out", size_bytes=1, final_size_bytes=2, why="it is in place"
    )
    evidence = dataclasses.replace(seen(), outputs=("out",), partial_outputs=(part,))
    verdict = as_interrupted(evidence, [OUTPUTS], []).verdicts[OUTPUTS.id]
    assert verdict.outcome is Outcome.FAILED


SUBJECT = Subject(
    name="job", run=("job",), resume=("job",), check=("job",), working_directory=Path()
)
OPTIONS = Options(rootdir=Path())


def test_before_the_control_run_has_ended_nothing_is_known() -> None:
    verdicts = too_early(SUBJECT, OPTIONS).verdicts
    assert {one.outcome for one in verdicts.values()} == {Outcome.INCONCLUSIVE}
    assert verdicts[EQUALS.id].reason == (
        "interrupted before its control run had ended: nothing was judged"
    )


class Planned:
    """Says as much of the coverage as it is told was explored."""

    def coverage(self, explored: Any) -> dict[Fault, Coverage]:
        return {Fault.KILL: Coverage(derived=9, unique=9, explored=len(explored))}


def logbook_of(folder: Path) -> KeptLogbook:
    logbook = KeptLogbook(folder)
    logbook.begin(Begun(session="s", subject="job", definition={}))
    return logbook


def so_far(logbook: KeptLogbook) -> Evidence:
    known = seen()
    known = dataclasses.replace(known, experiments=(), trials=(), coverage={}, trial_coverage={})
    return seen_so_far(SUBJECT, OPTIONS, known, cast("Any", Planned()), logbook)


def test_all_that_the_logbook_knows_is_judged_by(tmp_path: Path) -> None:
    trial = sound_trial(next(iter(seen().trials)).kind, "once")
    with logbook_of(tmp_path) as logbook:
        for step in (1, 2):
            one = Explored(experiments=(tried(killed(step)),), warm=False, took_s=0.0)
            logbook.keep(f"state {step}.kill", one)
        logbook.keep("tried it", trial)
        evidence = so_far(logbook)
        assert [one.point for one in evidence.experiments] == [killed(1), killed(2)]
        assert evidence.coverage[Fault.KILL].explored == 2
        assert evidence.trials == (trial,)
        assert not evidence.trial_coverage
        assert Before.of(logbook).told() == (
            "continued: judged before the interruption: 2 states, 1 trial"
        )

        again = tried(crashed_twice(1, 2))
        logbook.keep(ENDED, Ended(coverage={Fault.KILL: covered([], Fault.KILL)}, unlike=None))
        second = Coverage(derived=1, unique=1, explored=1)
        logbook.keep(
            SECOND_CRASHES,
            Exploration(experiments=(again,), coverage={Fault.SECOND_CRASH: second}),
        )
        ended = Tried(trials=(trial,), coverage={trial.kind: second}, variants=(), room="a room")
        logbook.keep(TRIALS_ENDED, ended)
        evidence = so_far(logbook)
        assert evidence.experiments[-1] == again
        assert evidence.coverage.keys() == {Fault.KILL, Fault.SECOND_CRASH}
        assert evidence.room == "a room"
        assert Before.of(logbook).told(evidence) == (
            "continued: judged before the interruption: 2 of 0 states, 1 of 1 trial, all second "
            "crashes"
        )
        assert DAMAGES not in Before.of(logbook).further
