"""JSON written aside and renamed: keeps its promises."""

import sys
from pathlib import Path

from pytest_checkpoint.api import CommandSubject, checkpoint_subject

JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]


@checkpoint_subject
def json_writer() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        outputs=["state.json"],
    )
