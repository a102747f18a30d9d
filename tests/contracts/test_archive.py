"""Kept evidence comes back equal and is judged the same; all else is refused in a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint_contracts import ArchiveError, dump, judge_all, load
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Finished,
    PartialOutput,
    Reference,
    Trial,
    TrialKind,
    Variant,
)
from checkpoint_contracts.observations import Handoff, OtherRun, OutputChange
from checkpoint_contracts.trial import Command, Leg
from checkpoint_contracts.verdict import Outcome
from tests.contracts.builders import SOUND, checked, killed, seen, tried

TEXT = st.text(st.characters(codec=None), max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
COUNT = st.integers(0, 1 << 70)
SECONDS = st.floats(0, allow_nan=False)
FAULT = st.sampled_from(Fault)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


EXECUTION = st.builds(
    Execution,
    exit_code=maybe(st.integers(0, 255)),
    signal=maybe(st.integers(1, 64)),
    timed_out=st.booleans(),
    wall_s=SECONDS,
    user_cpu_s=SECONDS,
    startup_cpu_s=SECONDS,
    bytes_written=COUNT,
    operations=COUNT,
    output=TEXT,
    error_output=TEXT,
    refusal=maybe(TEXT),
    problem=maybe(TEXT),
)
POINT = st.builds(
    CrashPoint,
    fault=FAULT,
    step=COUNT,
    variant=TEXT,
    operation=TEXT,
    signature=TEXT,
    total_steps=COUNT,
)
HANDOFF = st.builds(
    Handoff,
    absent=TEXT,
    unread=TEXT,
    problem=TEXT,
    done=TEXTS,
    next=TEXTS,
    names_next=st.booleans(),
    failed=TEXTS,
    text=TEXT,
)
OUTPUT_CHANGE = st.builds(
    OutputChange, path=TEXT, change=TEXT, digest=TEXT, same_size=st.booleans()
)
OTHER_RUN = st.builds(OtherRun, events=TEXTS, varying_outputs=TEXTS, varying_names=TEXTS)
EXPERIMENT = st.builds(
    Experiment,
    point=POINT,
    events_before=TEXTS,
    events_after=TEXTS,
    resume=EXECUTION,
    second_resume=maybe(EXECUTION),
    check=maybe(EXECUTION),
    unresumed_check=maybe(EXECUTION),
    lost=TEXTS,
    missing_syncs=TEXTS,
    missing_kinds=TEXTS,
    output_changes=maybe(st.lists(OUTPUT_CHANGE, max_size=2).map(tuple)),
    handoff=maybe(HANDOFF),
)
FINISHED = st.builds(
    Finished,
    resume=EXECUTION,
    events=TEXTS,
    check=maybe(EXECUTION),
    changes=TEXTS,
    notes=TEXTS,
)
PARTIAL = st.builds(
    PartialOutput,
    point=POINT,
    path=TEXT,
    size_bytes=COUNT,
    final_size_bytes=COUNT,
    why=TEXT,
)
COVERAGE = st.builds(
    Coverage,
    derived=COUNT,
    unique=COUNT,
    explored=COUNT,
    unreached=TEXTS,
    known_hangs=st.lists(POINT, max_size=2).map(tuple),
)
KIND = st.sampled_from(TrialKind)
LEG = st.builds(
    Leg,
    command=st.sampled_from(Command),
    execution=EXECUTION,
    events=TEXTS,
    killed=st.booleans(),
)
TRIAL = st.builds(
    Trial,
    point=POINT,
    kind=KIND,
    stage=TEXT,
    variant=COUNT,
    limit=COUNT,
    events_before=TEXTS,
    legs=st.lists(LEG, max_size=2).map(tuple),
    check=maybe(EXECUTION),
    unspoilt=st.lists(LEG, max_size=1).map(tuple),
    unspoilt_check=maybe(EXECUTION),
)
VARIANT = st.builds(
    Variant, number=COUNT, command=TEXT, run=EXECUTION, check=EXECUTION, events=TEXTS
)
EVIDENCE = st.builds(
    Evidence,
    subject=TEXT,
    capabilities=st.frozensets(TEXT, max_size=3),
    faults=st.frozensets(FAULT),
    not_applicable=st.dictionaries(TEXT, TEXT, max_size=2),
    invalid=maybe(TEXT),
    unobservable=st.dictionaries(FAULT, TEXT),
    reference=maybe(
        st.builds(
            Reference,
            run=EXECUTION,
            finished_resume=EXECUTION,
            finished_resume_events=TEXTS,
            finished_check=maybe(EXECUTION),
            finished_changes=TEXTS,
            finished_notes=TEXTS,
            finished_again=maybe(FINISHED),
            steps=COUNT,
            other_run=maybe(OTHER_RUN),
            check=EXECUTION,
            events=TEXTS,
        )
    ),
    experiments=st.lists(EXPERIMENT, max_size=2).map(tuple),
    replays=st.lists(EXPERIMENT, max_size=1).map(tuple),
    coverage=st.dictionaries(FAULT, COVERAGE),
    trials=st.lists(TRIAL, max_size=2).map(tuple),
    trial_replays=st.lists(TRIAL, max_size=1).map(tuple),
    trial_coverage=st.dictionaries(KIND, COVERAGE),
    variants=st.lists(VARIANT, max_size=1).map(tuple),
    restart_ratio=SECONDS,
    outputs=TEXTS,
    partial_outputs=st.lists(PARTIAL, max_size=2).map(tuple),
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(EVIDENCE)
def test_round_trip(evidence: Evidence) -> None:
    text = dump(evidence)
    text.encode("ascii")
    assert load(text) == evidence
    assert dump(load(text)) == text


def test_kept_evidence_is_judged_the_same() -> None:
    wrong = tried(killed(5), check=checked("41\n"))
    evidence = seen(*SOUND, wrong, replays=(wrong,))
    assert judge_all(load(dump(evidence))) == judge_all(evidence)


def test_what_has_a_default_may_be_missing() -> None:
    kept = json.loads(dump(seen(*SOUND)))
    for name in ("restart_ratio", "outputs", "partial_outputs"):
        del kept["evidence"][name]
    for experiment in kept["evidence"]["experiments"]:
        for name in ("lost", "missing_syncs", "missing_kinds"):
            del experiment[name]
    assert load(json.dumps(kept)) == seen(*SOUND)


def test_what_older_evidence_does_not_tell_of_the_finished_job_is_inconclusive() -> None:
    kept = json.loads(dump(seen(*SOUND)))
    for name in ("check", "changes", "notes", "again"):
        del kept["evidence"]["reference"][f"finished_{name}"]
    verdict = judge_all(load(json.dumps(kept)))["resume-is-idempotent"]
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_what_older_evidence_does_not_tell_of_outputs_and_handoffs_is_inconclusive() -> None:
    kept = json.loads(dump(seen(*SOUND, outputs=("a",), capabilities=frozenset({"handoff"}))))
    del kept["evidence"]["reference"]["other_run"]
    for experiment in kept["evidence"]["experiments"]:
        for name in ("output_changes", "handoff"):
            del experiment[name]
    verdicts = judge_all(load(json.dumps(kept)))
    for contract in ("re-entry-is-safe", "handoff-tells-next"):
        assert verdicts[contract].outcome is Outcome.INCONCLUSIVE


def test_a_whole_number_of_seconds_is_a_float() -> None:
    ratio = load(spoiled(restart_ratio=1)).restart_ratio
    assert (ratio, type(ratio)) == (1.0, float)


def spoiled(**members: Any) -> str:
    kept = json.loads(dump(seen(*SOUND)))
    kept["evidence"].update(members)
    return json.dumps(kept)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "no member 'evidence'"),
        ('{"evidence": {}}', "has format None; this version reads 1"),
        ('{"evidence": {}, "format": 2}', "has format 2; this version reads 1"),
        ('{"evidence": {}, "format": 1}', "missing"),
        (spoiled(surprise=1), "evidence has surprise"),
        (spoiled(subject=None), "evidence.subject is NoneType, not str"),
        (spoiled(faults=["fire"]), "evidence.faults[0]: 'fire' is not a valid Fault"),
        (spoiled(experiments={}), "evidence.experiments is dict, not list"),
        (spoiled(restart_ratio=True), "evidence.restart_ratio is bool, not float"),
        (spoiled(experiments=[{"point": 1}]), "evidence.experiments[0].point is int, not dict"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ArchiveError) as refusal:
        load(text)
    assert sentence in str(refusal.value)
