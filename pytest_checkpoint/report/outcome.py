"""From a verdict to what pytest calls an outcome, as INTERFACE lays down.

* failed → failed, with the failure text; an expected failure → xfailed.
* passed → passed; expected to fail → failed (expectations are strict).
* not applicable → skipped with the reason; expected to fail → failed.
* inconclusive → failed, with that word first; tolerated → skipped with that word, never passed;
  expected to fail → failed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import pytest

from checkpoint_contracts.verdict import Outcome, Verdict


class Shown(enum.StrEnum):
    """The word in the matrix: the verdict, or what an expectation made of it."""

    PASSED = "passed"
    FAILED = "FAILED"
    EXPECTED = "failed as expected"
    UNEXPECTED = "PASSED UNEXPECTEDLY"
    NOT_APPLICABLE = "not applicable"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What an item is to end with; ``raise_it`` does so."""

    shown: Shown
    kind: str
    """``pass``, ``fail``, ``skip`` or ``xfail``."""
    text: str = ""

    def raise_it(self) -> None:
        if self.kind == "fail":
            pytest.fail(self.text, pytrace=False)
        if self.kind == "skip":
            raise pytest.skip.Exception(self.text, _use_item_location=True)
        if self.kind == "xfail":
            pytest.xfail(self.text)


def conclude(
    verdict: Verdict, *, expected: str | None, tolerate_inconclusive: bool, text: str = ""
) -> Conclusion:
    """``expected``: the reason of an expected failure; None: it is expected to hold.

    ``text``: how a failure is told; where it is inconclusive, what is said in place of the reason.
    """
    if verdict.outcome is Outcome.FAILED:
        if expected is not None:
            return Conclusion(Shown.EXPECTED, "xfail", expected)
        return Conclusion(Shown.FAILED, "fail", text)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        text = f"inconclusive: {text or verdict.reason}"
        if expected is not None:
            text += f"\n(it is an expected failure: {expected}; only a seen failure counts as one)"
        elif tolerate_inconclusive:
            return Conclusion(Shown.INCONCLUSIVE, "skip", text)
        return Conclusion(Shown.INCONCLUSIVE, "fail", text)
    if expected is None:
        if verdict.outcome is Outcome.PASSED:
            return Conclusion(Shown.PASSED, "pass")
        return Conclusion(Shown.NOT_APPLICABLE, "skip", f"not applicable: {verdict.reason}")
    if verdict.outcome is Outcome.PASSED:
        return Conclusion(
            Shown.UNEXPECTED,
            "fail",
            f"{verdict.contract} holds, although it is expected to fail ({expected}): "
            "take it out of expected_failures",
        )
    return Conclusion(
        Shown.NOT_APPLICABLE,
        "fail",
        f"{verdict.contract} is not applicable ({verdict.reason}), although it is expected to "
        f"fail ({expected}): take it out of expected_failures",
    )
