"""JSON written in place: breaks six promises, and we say so."""

import sys
from pathlib import Path

from pytest_checkpoint.api import CommandSubject, checkpoint_subject

JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]


@checkpoint_subject
def json_in_place() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        outputs=["state.json"],
        expected_failures={
            "resume-equals-uninterrupted": "killed between the truncation and the write, the job "
            "finds an empty state file and cannot start",
            "state-never-corrupt": "a write cut short leaves half a JSON text in the only copy",
            "done-survives-power-loss": "nothing is synced before a step is said to be done",
            "no-partial-under-final-name": "the file is emptied and filled under its final name",
            "no-space-is-survived": "the state is emptied before it is known whether there is room "
            "for the new one",
            "io-error-is-not-success": "a write that fails leaves an empty state file, and the job "
            "cannot start",
        },
    )
