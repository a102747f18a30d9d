"""owns-only-its-own: signals that went astray, and what became of bystanders."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoint_contracts import judge, replays_needed, wants_second_look
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Finished,
    OtherRun,
    Reference,
    Trial,
    TrialKind,
)
from checkpoint_contracts.owns_own import owns_only_its_own
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.verdict import Outcome, Symptom, Verdict
from tests.contracts.builders import (
    EVENTS,
    HUNG,
    STEPS,
    killed,
    ran,
    seen,
    torn,
    tried,
    undisturbed,
)

ASTRAY = ("SIGTERM to 4711 (python job.py)",)
GONE = "$TMPDIR/render-x, which is not its own, is gone"


def beside(execution: Execution | None = None, *harmed: str, step: int = 7) -> Trial:
    kind = TrialKind.BYSTANDER
    where = f"killed after step {step} (write state.json) and resumed beside others"
    point = CrashPoint(
        fault=kind.fault,
        step=step,
        variant="bystander",
        operation=where,
        signature=where,
        total_steps=STEPS,
    )
    leg = Leg(command=Command.RESUME, execution=execution or ran())
    return Trial(point=point, kind=kind, legs=(leg,), harmed=harmed)


def evidence(*trials: Trial, experiments: tuple[Experiment, ...] = (), **fields: Any) -> Evidence:
    """Each was made again, with the same end."""
    count = len(trials)
    values: dict[str, Any] = {
        "trials": trials,
        "trial_replays": trials,
        "trial_coverage": {
            TrialKind.BYSTANDER: Coverage(derived=count, unique=count, explored=count)
        },
        "replays": experiments,
    }
    return seen(*experiments, **{**values, **fields})


def judged(*trials: Trial, **fields: Any) -> Verdict:
    return judge(evidence(*trials, **fields), owns_only_its_own)


def broken(*trials: Trial, **fields: Any) -> list[tuple[Symptom, str]]:
    verdict = judged(*trials, **fields)
    assert verdict.outcome is Outcome.FAILED, verdict.reason
    found = [failure.finding for failure in verdict.failures]
    assert all(one.expected and one.seen and one.likely_cause for one in found)
    return [(one.symptom, one.headline) for one in found]


def test_left_alone() -> None:
    verdict = judged(beside(), beside(ran(1)))
    assert (verdict.outcome, verdict.reason, verdict.states_total) == (Outcome.PASSED, "", 2)


def test_a_file_is_gone() -> None:
    where = "killed after step 7 (write state.json) and resumed beside others"
    assert broken(beside(None, GONE)) == [(Symptom.STRANGER_HARMED, f"{where}: {GONE}")]


def test_harm_counts_however_the_resume_ends() -> None:
    assert broken(beside(ran(1), GONE))
    assert broken(beside(HUNG, GONE))


def test_a_resume_that_does_not_end_shows_nothing_else() -> None:
    verdict = judged(beside(HUNG))
    assert (verdict.outcome, "not known" in verdict.reason) == (Outcome.INCONCLUSIVE, True)


def test_where_no_resume_succeeds_nothing_is_seen() -> None:
    verdict = judged(beside(ran(1)), beside(ran(1), step=9))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.startswith("nothing was seen: no resume beside others succeeded")
    assert "and resumed beside others: the resume exits 1" in verdict.reason


def test_a_signal_astray() -> None:
    ((symptom, text),) = broken(beside(ran(strayed=ASTRAY)))
    assert symptom is Symptom.STRANGER_SIGNALLED
    assert "it sends SIGTERM to 4711 (python job.py), which is not a process of its own" in text


def test_wherever_it_shows_it_is_one_flaw() -> None:
    trials = (beside(ran(strayed=ASTRAY)), beside(ran(strayed=ASTRAY), GONE, step=9))
    verdict = judged(*trials)
    assert [(one.finding.symptom, one.count) for one in verdict.failures] == [
        (Symptom.STRANGER_SIGNALLED, 2),
        (Symptom.STRANGER_HARMED, 1),
    ]


def test_a_signal_astray_after_a_kill() -> None:
    wrong = tried(killed(7), ran(strayed=ASTRAY))
    ((symptom, text),) = broken(beside(), experiments=(wrong,))
    assert symptom is Symptom.STRANGER_SIGNALLED
    assert text.startswith("killed at step 7 (write state.json): it sends SIGTERM")
    only_kills = frozenset({Fault.KILL})
    assert broken(beside(), experiments=(wrong,), faults=only_kills)
    wanted = replays_needed(evidence(beside(), experiments=(wrong,), replays=()), [CONTRACT])
    assert wanted == (wrong.point,)


CONTRACT = owns_only_its_own


def test_other_experiments_say_nothing() -> None:
    elsewhere = tried(torn(7), ran(strayed=ASTRAY))
    unseen = tried(killed(7), ran(problem="it could not be seen through"))
    assert judged(beside(), experiments=(elsewhere, unseen)).outcome is Outcome.PASSED


def sent(run: Execution, other: tuple[str, ...] = (), **fields: Any) -> Reference:
    other_run = OtherRun(events=EVENTS, strayed=other)
    return undisturbed(run=run, other_run=other_run, **fields)


def test_a_signal_astray_in_the_undisturbed_run() -> None:
    reference = sent(ran(strayed=ASTRAY), ASTRAY)
    ((symptom, text),) = broken(beside(), reference=reference)
    assert (symptom, text[:13]) == (Symptom.STRANGER_SIGNALLED, "undisturbed: ")
    once = judged(beside(), reference=sent(ran(strayed=ASTRAY)))
    assert (once.outcome, once.reason[:5]) == (Outcome.INCONCLUSIVE, "flaky")


@pytest.mark.parametrize("again", [True, False])
def test_a_signal_astray_in_the_resume_of_the_finished_job(again: bool) -> None:
    astray = ran(strayed=ASTRAY)
    reference = sent(
        ran(),
        finished_resume=astray,
        finished_again=Finished(resume=astray if again else ran()),
    )
    assert wants_second_look(reference)
    outcome = judged(beside(), reference=reference).outcome
    assert outcome is (Outcome.FAILED if again else Outcome.INCONCLUSIVE)


def test_what_was_not_tried_is_not_passed() -> None:
    none = {TrialKind.BYSTANDER: Coverage(derived=9, unique=9, explored=0, unreached=("step 3",))}
    assert judged(trial_coverage=none).outcome is Outcome.INCONCLUSIVE


def test_not_asked_for() -> None:
    verdict = judged(beside(), faults=frozenset({Fault.KILL}))
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.reason == "it needs the fault bystander, which was not asked for"
