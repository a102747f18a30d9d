"""What a heartbeat says while somebody watches: the answers, their times, and what is said of them.

Whoever watches a job asks it again and again. The times of an answer count from the moment at which
the fault began (of a run that is watched whole, from its start), on the monotonic clock of the kit.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

HEARTBEAT: Final = "heartbeat"
"""The capability: a file that changes, or a command that says how the worker is."""


class Word(enum.StrEnum):
    """What a heartbeat command may say."""

    ALIVE = "alive"
    STALE = "stale"
    STALLED = "stalled"
    FINISHED = "finished"
    FAILED = "failed"
    PREEMPTED = "preempted"
    WAITING = "waiting"
    """There has been no beat yet."""


DEAD: Final = (Word.STALE, Word.FINISHED, Word.FAILED, Word.PREEMPTED)
"""What must not be said of a worker that lives and has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """How a subject shows that it is alive."""

    what: str
    """For people: ``the heartbeat file beat.json``, ``python watch.py {workspace}``."""
    stale_after_s: float
    """So long after its last sign of life a worker has to be called stale."""
    stalled_after_s: float | None = None
    """So long after its last progress it has to be called stalled; None: it promises nothing."""
    is_file: bool = False
    """A file, of which the kit itself looks whether it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was said to one question."""

    word: str
    """One of :class:`Word`; anything else is what was said instead, shortened."""
    asked_s: float
    said_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A job that is watched during a fault. Times as the head of this module says."""

    answers: tuple[Answer, ...]
    bound_s: float
    """By then it has to be noticed: what the subject promises, and :attr:`slack_s`."""
    slack_s: float
    """What is granted above that: the time between two questions, that of an answer, and what a
    loaded machine may take away."""
    over_s: float
    """When the fault was over, or the run."""
    starved_s: float = 0.0
    """The longest time for which the kit itself did not get to run."""
    patience_s: float = 1.0
    """If that is longer, nothing is said against the job."""
    answer_s: float = 0.0
    """The longest time that an answer took undisturbed."""
    lasts_s: float = 0.0
    """Of a call that is held: how long it had to be held at least."""

    @property
    def during(self) -> tuple[Answer, ...]:
        """The answers that were given while the fault lasted."""
        return tuple(one for one in self.answers if one.said_s <= self.over_s)

    @property
    def since_first_beat(self) -> tuple[Answer, ...]:
        """Those of :attr:`during` from the first on that knows of a beat."""
        seen = False
        found: list[Answer] = []
        for one in self.during:
            seen = seen or one.word in (Word.ALIVE, Word.STALLED)
            if seen:
                found.append(one)
        return tuple(found)

    @property
    def starved(self) -> str | None:
        """Why nothing may be said against the job: a sentence's end; None: the kit kept up."""
        if self.starved_s <= self.patience_s:
            return None
        return (
            f"the machine was so loaded that the kit itself did not run for {self.starved_s:.1f} s"
        )


def first(answers: tuple[Answer, ...], *words: str) -> Answer | None:
    return next((one for one in answers if one.word in words), None)


def told_answers(answers: tuple[Answer, ...]) -> str:
    """``alive (3 times, 0.0 s to 0.4 s), stale (at 0.5 s)``."""
    return ", ".join(_runs(answers)) or "nothing was said"


def _runs(answers: tuple[Answer, ...]) -> Iterator[str]:
    """Equal answers in a row as one."""
    position = 0
    while position < len(answers):
        end = position
        while end + 1 < len(answers) and answers[end + 1].word == answers[position].word:
            end += 1
        word = answers[position].word or "nothing"
        begun, last = answers[position].said_s, answers[end].said_s
        if end == position:
            yield f"{word} (at {begun:.1f} s)"
        else:
            yield f"{word} ({end - position + 1} times, {begun:.1f} s to {last:.1f} s)"
        position = end + 1


def odd_answer(answers: tuple[Answer, ...]) -> str | None:
    """What was said that is none of the words; None: there is no such answer."""
    known = {str(word) for word in Word}
    return next((one.word or "nothing" for one in answers if one.word not in known), None)
