"""What the launcher is to do, and what came of it. Plain data, sent as JSON.

An execution whose command is :meth:`Plan.command` runs the job and, beside it, a second command.
When that begins is told by :class:`When`; what the request asks for has to go with it:

* ``TOGETHER``: nothing; both are executed at the same instant;
* ``STOPPED``: ``SignalAt(whom="job", number=SIGSTOP)``: the whole job stands at a step;
* ``TOLD``: ``SignalAt(whom="caller", number=SIGSTOP)``: one process of the job stands at a step;
  or ``HoldAt``: one call does not return, and all else goes on; or, with ``aside``, ``AsideAt``:
  one call is not even carried out;
* ``THROUGHOUT``: nothing; it is run again and again from the job's start until that has ended, and
  then once more.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import pytest_checkpoint
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.request import Result

_PROGRAM: Final = (
    f"import sys; sys.path[:0] = [{str(Path(pytest_checkpoint.__file__).parent.parent)!r}]; "
    "from pytest_checkpoint.record.companion.program import main; main()"
)
MARGIN_S: Final = 30.0
"""What a request has to allow the launcher beyond the deadline of its plan."""


class When(enum.StrEnum):
    """When the second command begins."""

    TOGETHER = "together"
    STOPPED = "stopped"
    TOLD = "told"
    THROUGHOUT = "throughout"


class Then(enum.StrEnum):
    """What becomes of the job after it."""

    CONTINUE = "continue"
    KILL = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``{workspace}`` is replaced in both commands already. Times in seconds."""

    first: tuple[str, ...]
    """The job."""
    beside: tuple[str, ...]
    preloads: str | None = None
    """A library that every process of the job is to have loaded: it is seen whether it has."""
    first_variables: Mapping[str, str] = field(default_factory=dict)
    """Of the environment, for the job alone."""
    beside_variables: Mapping[str, str] = field(default_factory=dict)
    """For the second command alone."""
    working_directory: str
    when: When
    then: Then = Then.CONTINUE
    aside: bool = False
    """The request puts a call aside: it is carried out when the job goes on."""
    crosses: bool = False
    """The request stops the second in its turn, by a ``SignalAt``: that is when the job goes on;
    and when the job has ended the second does."""
    deadline_s: float
    """Of everything; then both are ended."""
    beside_deadline_s: float
    """Of the second command, all its repetitions together."""
    repeat_every_s: float | None = None
    """From one beginning of it to the next; None: it is run once."""
    until: tuple[str, ...] | None = None
    """Not repeated any more when its whole standard output, stripped, is one of these words."""

    def command(self) -> tuple[str, ...]:
        """The root process of the execution, by the kit's own interpreter."""
        where = {"cwd": self.working_directory}
        asked = {
            "first": {"argv": self.first, "variables": dict(self.first_variables), **where},
            "beside": {
                "argv": self.beside,
                "variables": dict(self.beside_variables),
                **where,
                "deadline_s": self.beside_deadline_s,
                "repeat_every_s": self.repeat_every_s,
                "until": self.until,
            },
            "preloads": self.preloads,
            "when": self.when,
            "then": self.then,
            "aside": self.aside,
            "crosses": self.crosses,
            "deadline_s": self.deadline_s,
        }
        return (sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, json.dumps(asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One command that the launcher started."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    """It was ended at its deadline."""
    begin: float
    """On CLOCK_MONOTONIC, in seconds."""
    end: float
    output: str
    """The last part of it, if it was long."""
    error_output: str
    events_before: int
    """Size of the events file when it began …"""
    events_after: int
    """… and when it had ended, in bytes."""

    @property
    def wall_s(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a plan."""

    first: Ran
    beside: tuple[Ran, ...]
    """Each repetition; none: the moment did not come before the job had ended."""
    met: float | None
    """When the moment was, on CLOCK_MONOTONIC."""
    released: float | None
    """When the job went on, or was killed; where both cross, when the second went on."""
    crossed: float | None = None
    """When the second stood, and the job went on; None: it never did."""
    crossed_events: int = 0
    """Size of the events file then."""
    left: tuple[str, ...]
    """Processes of both that had to be ended: they outlived the commands, or their deadline."""
    loaded: bool = False
    """A process of the job was seen that had the library loaded."""
    not_loaded: tuple[str, ...] = ()
    """Processes of the job, by their command lines, that were seen without it."""

    @classmethod
    def of(cls, result: Result) -> Self:
        """Of the execution of :meth:`Plan.command`. HarnessError if the launcher told nothing."""
        try:
            told: dict[str, Any] = json.loads(result.output)
        except ValueError:
            how = dataclasses.replace(result, output="", error_output="")
            raise HarnessError(
                "the launcher of two commands did not tell what came of them: "
                f"{result.error_output.strip() or result.output.strip() or how}"
            ) from None
        return cls(
            first=Ran(**told["first"]),
            beside=tuple(Ran(**one) for one in told["beside"]),
            met=told["met"],
            released=told["released"],
            crossed=told["crossed"],
            crossed_events=told["crossed_events"],
            left=tuple(told["left"]),
            loaded=told["loaded"],
            not_loaded=tuple(told["not_loaded"]),
        )
