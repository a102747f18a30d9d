from __future__ import annotations

import pytest

from checkpoint_contracts.causes import likely_cause
from checkpoint_contracts.evidence import CrashPoint
from checkpoint_contracts.verdict import Symptom
from tests.contracts.builders import killed, power_lost, torn


@pytest.mark.parametrize(
    ("point", "symptom", "words"),
    [
        (torn(3, operation="write state.json"), Symptom.RESUME_FAILED, "os.replace()"),
        (torn(3, operation="write log.jsonl"), Symptom.DIFFERENT_RESULT, "checksum"),
        (killed(3, "truncate state.json"), Symptom.RESUME_FAILED, "written in place"),
        (killed(3, "create state.json"), Symptom.CHECK_FAILED, "written in place"),
        (killed(3, "rename s.tmp → s"), Symptom.DIFFERENT_RESULT, "Save the output first"),
        (killed(3, "write state.log (43 bytes at 0)"), Symptom.DIFFERENT_RESULT, "recorded here"),
        (killed(3, "unlink old.pt"), Symptom.RESUME_FAILED, "removed before the new one"),
        (killed(3, "mkdir out"), Symptom.DIFFERENT_RESULT, "the folder exists"),
        (killed(3, 'event "done fetch"'), Symptom.DIFFERENT_RESULT, "recorded as done before"),
        (killed(3, "create job.lock"), Symptom.HANG, "waits for a lock"),
        (killed(3, "create job.pid"), Symptom.RESUME_FAILED, "taken for a live one"),
        (killed(3, "write state.json"), Symptom.HANG, "give every wait a deadline"),
        (killed(3, "write block-3.bin"), Symptom.HANG, "give every wait a deadline"),
        (killed(0, "before the first operation"), Symptom.RESUME_FAILED, "leftovers"),
        (killed(3, "write state.json"), Symptom.DONE_AGAIN, "after each stage"),
    ],
)
def test_the_cause_is_guessed_from_the_operation_and_the_symptom(
    point: CrashPoint, symptom: Symptom, words: str
) -> None:
    assert words in likely_cause(point, symptom)


@pytest.mark.parametrize("symptom", Symptom)
@pytest.mark.parametrize(
    "point", [killed(1, "something new"), torn(1, operation=""), power_lost(1)]
)
def test_there_is_always_a_guess(point: CrashPoint, symptom: Symptom) -> None:
    assert likely_cause(point, symptom)
