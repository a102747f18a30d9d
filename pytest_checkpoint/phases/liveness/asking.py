"""Asking a job how it is, and what its answers mean."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkpoint_contracts.heartbeat import Answer, Heartbeat, Word
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.record.companion.plan import Ran
from pytest_checkpoint.subject import Command, HeartbeatSource, Subject

_PROGRAM: Final = str(Path(__file__).with_name("look_program.py"))
_SHOWN: Final = 120
_LEAST_EVERY_S: Final = 0.02
_LEAST_SLACK_S: Final = 1.0
NO_ANSWER: Final = "(no answer in time)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """By when something has to be noticed. In seconds."""

    source: HeartbeatSource
    answer_s: float
    """The longest time that an answer took undisturbed."""

    @property
    def every_s(self) -> float:
        """From one question to the next."""
        return max(_LEAST_EVERY_S, self.source.stale_after_s / 10)

    def slack_s(self, promised_s: float) -> float:
        """What is granted above what the subject promises."""
        return max(_LEAST_SLACK_S, promised_s / 2) + self.every_s + 2 * self.answer_s

    @property
    def stale_s(self) -> float:
        return self.source.stale_after_s + self.slack_s(self.source.stale_after_s)

    @property
    def stalled_s(self) -> float:
        promised_s = self.source.stalled_after_s or self.source.stale_after_s
        return promised_s + self.slack_s(promised_s)

    @property
    def patience_s(self) -> float:
        """So long the kit may not get to run, where nothing is to be called stale."""
        return max(0.1, self.source.stale_after_s / 4)


def source_of(subject: Subject) -> HeartbeatSource:
    assert subject.heartbeat is not None
    return subject.heartbeat


def declared(subject: Subject) -> Heartbeat | None:
    """As the evidence has it; None: it shows nothing."""
    source = subject.heartbeat
    if source is None:
        return None
    command = shlex.join(source.command).replace("'{workspace}'", "{workspace}")
    return Heartbeat(
        what=f"the heartbeat file {source.glob}" if source.glob else command,
        stale_after_s=source.stale_after_s,
        stalled_after_s=source.stalled_after_s,
        is_file=bool(source.glob),
    )


def question(bench: Bench) -> Command:
    """The command that says how the job is: the subject's, or one that looks at its file."""
    source = source_of(bench.subject)
    if not source.glob:
        return bench.expanded(source.command)
    looks = (sys.executable, "-I", "-S", "-B", _PROGRAM, str(bench.client.workspace))
    return (*looks, source.glob, str(source.stale_after_s))


def answer(bench: Bench, ran: Ran, since_s: float) -> Answer:
    """``since_s``: on CLOCK_MONOTONIC, from when its times are to count."""
    return answer_of(
        bench,
        ran.output,
        ran.error_output,
        late=ran.timed_out,
        asked_s=ran.begin - since_s,
        said_s=ran.end - since_s,
    )


def answer_of(
    bench: Bench, output: str, errors: str, *, late: bool, asked_s: float, said_s: float
) -> Answer:
    """``late``: it did not end in time."""
    word = output.strip()
    if late:
        word = NO_ANSWER
    elif word not in list(Word):
        said = bench.clean(f"{output}\n{errors}").strip().splitlines()
        word = said[-1][:_SHOWN] if said else ""
    return Answer(word=word, asked_s=asked_s, said_s=said_s)
