from __future__ import annotations

import pytest

from checkpoint_contracts.evidence import Execution
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    resume_skips_done,
    state_never_corrupt,
)
from checkpoint_contracts.verdict import Finding
from checkpoint_contracts.wording import TEXT_LIMIT, differing, ending, listed, place
from tests.contracts.builders import HUNG, checked, killed, ran, seen, torn, tried

RENAME = killed(16, "rename state.json.tmp → state.json")


def test_where_it_was() -> None:
    assert place(RENAME) == "killed at step 16 (rename state.json.tmp → state.json)"
    assert place(killed(0)) == "killed before the first operation"
    point = torn(12, operation="write state.json, 128 of 4096 bytes")
    assert place(point) == "write cut short at step 12 (write state.json, 128 of 4096 bytes)"


@pytest.mark.parametrize(
    ("execution", "text"),
    [
        (ran(0), "exits 0"),
        (ran(3), "exits 3"),
        (ran(None, signal=11), "dies by SIGSEGV"),
        (ran(None, signal=99), "dies by signal 99"),
        (ran(None), "ends without an exit code"),
        (HUNG, "had not ended after 10.0 s"),
    ],
)
def test_how_it_ended(execution: Execution, text: str) -> None:
    assert ending(execution) == text


def only(findings: tuple[Finding, ...]) -> Finding:
    (finding,) = findings
    return finding


def test_a_failed_resume_is_told_with_its_last_words_and_a_second_attempt() -> None:
    resume = ran(1, output="Traceback …\n  File …\nJSONDecodeError: Extra data\n\n")
    experiment = tried(RENAME, resume, second_resume=ran(1))
    finding = only(state_never_corrupt.findings(seen(experiment)))
    assert finding.headline == (
        "killed at step 16 (rename state.json.tmp → state.json): resume exits 1"
    )
    assert finding.expected == 'the resume exits 0 and the check says: {"total": 42}'
    assert finding.seen == (
        "the resume exits 1 and says last: JSONDecodeError: Extra data\n"
        "a second resume fails too: it exits 1"
    )


def test_a_second_resume_that_succeeds_is_told() -> None:
    experiment = tried(RENAME, ran(None, signal=9), second_resume=ran())
    finding = only(state_never_corrupt.findings(seen(experiment)))
    assert finding.seen == "the resume dies by SIGKILL\na second resume succeeds"


def test_a_hang_is_told_with_its_deadline() -> None:
    finding = only(resume_equals_uninterrupted.findings(seen(tried(RENAME, HUNG))))
    assert finding.headline.endswith(": resume had not ended after 10.0 s")


def test_a_check_that_fails_is_told_with_both_texts() -> None:
    check = checked("BROKEN: 3 of 8\n", 1, error_output="no such file\n")
    finding = only(resume_equals_uninterrupted.findings(seen(tried(RENAME, check=check))))
    assert finding.headline.endswith(": resume exits 0, but the check exits 1")
    assert finding.expected == 'the check exits 0 and says: {"total": 42}'
    assert finding.seen == "the check exits 1 and says: BROKEN: 3 of 8\nno such file"


def test_a_check_that_hangs_is_told() -> None:
    finding = only(resume_equals_uninterrupted.findings(seen(tried(RENAME, check=HUNG))))
    assert finding.headline.endswith(": resume exits 0, but the check had not ended after 10.0 s")
    assert finding.seen == "the check had not ended after 10.0 s"


def test_different_results_are_told_with_both_texts() -> None:
    experiment = tried(RENAME, check=checked('{"total": 41}\n'))
    finding = only(resume_equals_uninterrupted.findings(seen(experiment)))
    assert finding.headline.endswith(
        ": resume exits 0 with another result than the undisturbed run"
    )
    assert finding.expected == 'the check says: {"total": 42}'
    assert finding.seen == 'the check says: {"total": 41}'


def test_stages_done_again_are_named() -> None:
    experiment = tried(
        RENAME, events_before=("start fetch", "done fetch"), events_after=("start fetch",)
    )
    finding = only(resume_skips_done.findings(seen(experiment)))
    assert finding.headline.endswith(": resume runs fetch again, which had been done")
    assert finding.seen == "the resume appended start fetch"


def test_long_texts_are_cut_so_that_their_difference_shows() -> None:
    common = "x" * 5000
    expected, seen_text = differing(common + "A" + common, common + "B" + common)
    assert "A" in expected
    assert "B" in seen_text
    assert expected.startswith("… x")
    assert expected.endswith("x …")
    assert max(len(expected), len(seen_text)) <= TEXT_LIMIT + 4


def test_one_text_that_is_the_beginning_of_the_other_shows_where_it_ends() -> None:
    expected, seen_text = differing("x" * 1000 + "THE END", "x" * 1000)
    assert expected.endswith("THE END")
    assert seen_text.endswith("x")


def test_texts_that_differ_in_white_space_only_or_are_empty_are_shown_quoted() -> None:
    assert differing("42\n", "42") == ("'42\\n'", "'42'")
    assert differing("42\n", "") == ("'42\\n'", "''")


def test_long_lists_are_cut() -> None:
    assert listed(("a", "b")) == "a, b"
    assert listed(tuple("abcdefg")) == "a, b, c, d, e and 2 more"
