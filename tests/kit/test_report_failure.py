"""A failure's text, to the letter."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from checkpoint_contracts.evidence import (
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Trial,
    TrialKind,
)
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.verdict import Failure, Finding, Outcome, Symptom, Verdict
from pytest_checkpoint.examination import Examination, Wreck
from pytest_checkpoint.report.failure import failure_text

CONTRACT = "resume-equals-uninterrupted"
POINT = CrashPoint(
    fault=Fault.KILL,
    step=41,
    variant="kill",
    operation="rename state.json.tmp → state.json",
    signature="rename state.json.tmp → state.json",
    total_steps=60,
)


def finding(point: CrashPoint = POINT, seen: str = "exit 1", headline: str = "") -> Finding:
    return Finding(
        contract=CONTRACT,
        point=point,
        symptom=Symptom.RESUME_FAILED,
        headline=headline or f"killed at step {point.step} ({point.operation}): resume exits 1",
        expected="exit 0",
        seen=seen,
        likely_cause="The status is saved before the output. Save both in one rename.",
    )


def failed(*failures: Failure) -> Verdict:
    return Verdict(contract=CONTRACT, outcome=Outcome.FAILED, failures=failures)


def examination(*experiments: Experiment, wreck: Wreck | None = None) -> Examination:
    return Examination(
        evidence=Evidence(
            subject="etl",
            capabilities=frozenset(),
            faults=frozenset({Fault.KILL}),
            experiments=experiments,
        ),
        verdicts={},
        wrecks={(CONTRACT, POINT.id): wreck} if wreck else {},
    )


def text_of(verdict: Verdict, seen: Examination) -> str:
    return failure_text(
        "etl", "after any kill it ends as if never killed", verdict, seen, "RE PLAY"
    )


def test_all_of_it() -> None:
    resume = Execution(exit_code=1, output="Traceback …\nKeyError: 'frames'\n")
    experiment = Experiment(
        point=POINT,
        events_before=(),
        resume=resume,
        second_resume=Execution(exit_code=0),
    )
    wreck = Wreck(
        folder=Path("/kept/wreck"),
        listing=("state.json  0 bytes",),
        operations=("  40 write state.json.tmp", "> 41 rename state.json.tmp → state.json"),
    )
    verdict = failed(
        Failure(finding=finding(), count=13, notes=("seen again when replayed",)),
        Failure(finding=finding(headline="killed at step 3: check differs"), count=4),
    )

    assert text_of(verdict, examination(experiment, wreck=wreck)).splitlines() == [
        "etl: killed at step 41 (rename state.json.tmp → state.json): resume exits 1",
        "",
        "promise: after any kill it ends as if never killed (resume-equals-uninterrupted)",
        "operation: kill after step 41 of 60: rename state.json.tmp → state.json",
        "around it:",
        "      40 write state.json.tmp",
        "    > 41 rename state.json.tmp → state.json",
        "in the directory then:",
        "    state.json  0 bytes",
        "resume (exit 1) printed:",
        "    Traceback …",
        "    KeyError: 'frames'",
        "a second resume succeeds",
        "expected: exit 0",
        "seen: exit 1",
        "and 12 more states with the same cause",
        "note: seen again when replayed",
        "also:",
        "    killed at step 3: check differs (4 states)",
        "",
        "likely cause: The status is saved before the output. Save both in one rename.",
        "wreck: /kept/wreck",
        "replay: RE PLAY",
    ]


def test_the_check_is_shown_if_it_failed() -> None:
    experiment = Experiment(
        point=POINT,
        events_before=(),
        resume=Execution(exit_code=0),
        check=Execution(exit_code=None, signal=11, error_output="segmentation fault"),
    )

    text = text_of(failed(Failure(finding=finding(), count=1)), examination(experiment))

    assert "resume (exit 0) printed:\n    (nothing)\n" in text
    assert "check (died by signal 11) printed:\n    segmentation fault\n" in text
    assert "more state" not in text


def test_long_output_is_cut_from_the_front() -> None:
    output = "\n".join(f"line {number}" for number in range(100)) + "\n" + "x" * 1000
    experiment = Experiment(
        point=POINT, events_before=(), resume=Execution(exit_code=1, output=output)
    )

    lines = text_of(failed(Failure(finding=finding(), count=2)), examination(experiment))

    assert "    … 86 lines before" in lines
    assert "    line 85\n" not in lines
    assert max(len(line) for line in lines.splitlines()) < 210
    assert "and 1 more state with the same cause" in lines


def test_several_lines_of_seen_keep_their_shape() -> None:
    verdict = failed(Failure(finding=finding(seen="frames 6\nsound 0\n"), count=1))

    assert "seen:\n    frames 6\n    sound 0\n" in text_of(verdict, examination())


def tried(*legs: Leg, check: Execution | None = None) -> tuple[Verdict, Examination]:
    """A trial that failed, two of its cause, and one of another."""
    point = dataclasses.replace(
        POINT,
        fault=Fault.STAGE_KILLED,
        step=7,
        variant="killed-always",
        operation="stage render is killed at every attempt",
    )
    found = finding(point, headline=f"{point.operation}: crashes do not count")
    trial = Trial(point=point, kind=TrialKind.KILLED_ALWAYS, legs=legs, check=check)
    seen = examination()
    evidence = dataclasses.replace(seen.evidence, trials=(trial,))
    verdict = failed(Failure(finding=found, count=3), Failure(finding=found, count=2))
    return verdict, dataclasses.replace(seen, evidence=evidence)


def test_a_trial_tells_what_its_last_legs_printed() -> None:
    died = Execution(exit_code=None, signal=9, output="starting\n")
    killed = [
        Leg(command=command, execution=died, killed=True)
        for command in (Command.RUN, Command.RESUME, Command.RESUME)
    ]
    last = Leg(command=Command.RESUME, execution=Execution(exit_code=0))
    check = Execution(exit_code=1, error_output="not finished")

    text = text_of(*tried(*killed, last, check=check))

    assert text.splitlines()[3:19] == [
        "operation: stage render is killed at every attempt (step 7 of 60 of the undisturbed run)",
        "… 2 executions before, each killed",
        "resume (killed by the kit) printed:",
        "    starting",
        "resume (exit 0) printed:",
        "    (nothing)",
        "check (exit 1) printed:",
        "    not finished",
        "expected: exit 0",
        "seen: exit 1",
        "and 2 more trials with the same cause",
        "also:",
        "    stage render is killed at every attempt: crashes do not count (2 trials)",
        "",
        "likely cause: The status is saved before the output. Save both in one rename.",
        "replay: RE PLAY",
    ]


def test_a_failure_without_findings_gives_its_reason() -> None:
    verdict = Verdict(contract=CONTRACT, outcome=Outcome.FAILED, reason="it starts over")

    assert text_of(verdict, examination()) == "etl: it starts over"
