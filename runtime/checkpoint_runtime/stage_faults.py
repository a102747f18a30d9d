"""Raise in a stage on request: ``CHECKPOINT_STAGE_FAULT=raise:NAME:TIMES``.

A test tool asks for it, to see what a pipeline does with a stage that fails. NAME raises in its
first TIMES executions of this process. Without the variable nothing happens.
"""

from __future__ import annotations

import os
from typing import Self

from checkpoint_runtime.errors import EnvironmentVariableError
from checkpoint_runtime.stages import Stages, known_anywhere

VARIABLE = "CHECKPOINT_STAGE_FAULT"


class InjectedStageFault(Exception):
    """Raised in place of a stage's own work, because the environment asked for it."""


class StageFaults:
    """How often which stage has yet to raise."""

    def __init__(self, stage: str = "", times: int = 0) -> None:
        self._stage = stage
        self._left = times

    @classmethod
    def from_environment(cls, stages: Stages) -> Self:
        """
        :param stages: those that are about to run.
        :raises EnvironmentVariableError: the variable is not of the form, or names what is no stage
            or item of them, nor of another pipeline that this process has defined.
        """
        text = os.environ.get(VARIABLE, "")
        if not text:
            return cls()
        verb, _, rest = text.partition(":")
        stage, _, times = rest.rpartition(":")
        if verb != "raise" or not stage or not times.isdecimal():
            raise EnvironmentVariableError(f"{VARIABLE}={text!r} is not raise:NAME:TIMES.")
        # Of several pipelines in one process the variable means one; the others run undisturbed.
        if not stages.has(stage) and not known_anywhere(stage):
            raise EnvironmentVariableError(
                f"{VARIABLE}={text!r} names {stage!r}, which is no stage: there are "
                f"{', '.join(repr(known.name) for known in stages)}."
            )
        return cls(stage, int(times))

    def strike(self, stage: str) -> None:
        """
        :raises InjectedStageFault: it is this stage's turn.
        """
        if stage == self._stage and self._left > 0:
            self._left -= 1
            raise InjectedStageFault(f"asked for by {VARIABLE}")
