"""The heartbeat of checkpoint_runtime, and its watcher: what is slow is not taken for dead."""

import sys
from pathlib import Path

from pytest_checkpoint.api import CommandSubject, HeartbeatCommand, checkpoint_subject

JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]
WATCH = [sys.executable, "-m", "checkpoint_runtime.command.main", "watch", "--once"]

SEEN_THERE = (
    "state-never-corrupt",
    "resume-skips-done",
    "resume-keeps-work",
    "done-survives-power-loss",
    "outputs-cross-resume",
    "re-entry-is-safe",
    "no-space-is-survived",
    "io-error-is-not-success",
    "crash-during-recovery",
)


@checkpoint_subject
def watched() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", "{workspace}", "0.25"],  # a resume need not take so long
        resume=[*JOB, "resume", "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        heartbeat=HeartbeatCommand(
            [*WATCH, "--stale-after=0.6", "--stalled-after=1.2", "{workspace}"],
            stale_after_s=0.6,
            stalled_after_s=1.2,
        ),
        ephemeral=["heartbeats/*", "heartbeats/.*"],
        not_applicable=dict.fromkeys(
            SEEN_THERE,
            "a run takes seconds here: examples/pipeline is judged by it, with the same runtime",
        ),
    )
