"""What a stage of checkpoint_runtime does elsewhere is done once."""

import sys
from pathlib import Path

from pytest_checkpoint.api import CommandSubject, checkpoint_subject

JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]

SEEN_THERE = (
    "resume-keeps-work",
    "no-space-is-survived",
    "io-error-is-not-success",
    "crash-during-recovery",
)


@checkpoint_subject
def effects() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", "{workspace}"],
        resume=[*JOB, "resume", "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        ephemeral=["heartbeats/*"],
        capabilities=["effects", "exclusive"],
        not_applicable=dict.fromkeys(
            SEEN_THERE,
            "examples/pipeline, kept by the same runtime, is judged by it",
        ),
    )
