"""What the exit codes of ``checkpoint-contracts`` mean."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """``.meaning`` is what the help says."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member

    GOOD = 0, "what was asked for; inspect: it resumes, the check passes, what was done stays done"
    BAD = 1, "inspect only: it does not"
    USAGE = 2, "the command line or the machine is not as it must be"
    INCONCLUSIVE = 3, "inspect only: nothing can be said (a refusal, a deadline)"
    INTERRUPTED = (
        130,
        "inspect only: Ctrl-C, SIGTERM; the job's processes are ended, the copy is removed",
    )
