"""What a heartbeat said, and how that is told."""

from __future__ import annotations

from checkpoint_contracts.archive import dump, load
from checkpoint_contracts.evidence import TrialKind
from checkpoint_contracts.heartbeat import Word, first, odd_answer, told_answers
from checkpoint_contracts.stale_heartbeat import stale_heartbeat_is_noticed
from tests.contracts.watch_builders import answers, evidence, watch, watched

SAID = answers(("waiting", 0.1), ("alive", 0.2), ("alive", 0.6), ("stale", 1.3))


def test_told_with_equal_answers_as_one() -> None:
    assert told_answers(SAID) == (
        "waiting (at 0.1 s), alive (2 times, 0.2 s to 0.6 s), stale (at 1.3 s)"
    )
    assert told_answers(()) == "nothing was said"
    assert told_answers(answers(("", 1.0))) == "nothing (at 1.0 s)"


def test_the_first_of_some_words() -> None:
    found = first(SAID, Word.STALE, Word.ALIVE)
    assert found is not None
    assert found.said_s == 0.2
    assert first(SAID, Word.FINISHED) is None


def test_what_is_no_word() -> None:
    assert odd_answer(SAID) is None
    assert odd_answer(answers(("alive", 0.1), ("Traceback", 0.2))) == "Traceback"
    assert odd_answer(answers(("", 0.1))) == "nothing"


def test_only_what_was_said_while_it_lasted_counts_from_the_first_beat_on() -> None:
    seen = watch(("stale", 0.1), ("alive", 0.2), ("stale", 0.9), ("stale", 1.1), over_s=1.0)
    assert [one.said_s for one in seen.during] == [0.1, 0.2, 0.9]
    assert [one.said_s for one in seen.since_first_beat] == [0.2, 0.9]


def test_it_is_kept_and_read_again() -> None:
    trial = watched(TrialKind.STOPPED, watch(("alive", 0.3), ("stale", 1.2)))
    known = evidence(stale_heartbeat_is_noticed, trial)
    assert load(dump(known)) == known
