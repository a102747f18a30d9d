"""Checkpoints that nobody loads: breaks one promise, and we say so."""

import sys
from pathlib import Path

from pytest_checkpoint.api import CommandSubject, checkpoint_subject

JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]


@checkpoint_subject
def never_reads_checkpoint() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        expected_failures={
            "resume-keeps-work": "it saves a checkpoint after every step and never loads one",
        },
    )
