"""The runtime's own pipeline: every promise that a job can make without a network."""

import sys
from pathlib import Path

from pytest_checkpoint.api import CommandSubject, checkpoint_subject

HERE = Path(__file__).parent
JOB = [sys.executable, str(HERE / "job.py")]
CHANGED = [sys.executable, str(HERE / "changed.py")]


@checkpoint_subject
def pipeline() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", "{workspace}"],
        resume=[*JOB, "resume", "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        changed=[[*CHANGED, change, "{workspace}"] for change in ("renamed", "reordered", "input")],
        handoff="handoff.json",
        outputs=["*.frame"],
        ephemeral=["heartbeats/*"],
        capabilities=[
            "stage-faults",
            "preemption",
            "cleans-up",
            "exclusive",
            "refuses-bad-state",
            "checksummed",
        ],
    )
