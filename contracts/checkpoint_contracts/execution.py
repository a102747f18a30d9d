"""One process tree of the subject: how it ended, what it cost, what it said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One process tree of the subject, from its start until no descendant was left."""

    exit_code: int | None
    """None if it died by a signal or was ended at its deadline."""
    signal: int | None = None
    timed_out: bool = False
    wall_s: float = 0.0
    user_cpu_s: float = 0.0
    """User CPU of all its processes."""
    startup_cpu_s: float = 0.0
    """User CPU up to its first recorded operation or event (all of it, if there was none)."""
    bytes_written: int = 0
    """Under the workspace, and sent to its object store; TMPDIR is not counted."""
    operations: int = 0
    """Recorded operations, events not counted."""
    output: str = ""
    """Standard output of a check; standard output and error together of anything else."""
    error_output: str = ""
    """Standard error of a check."""
    refusal: str | None = None
    """The sentence of a call that was refused for safety: the experiment says nothing then."""
    strayed: tuple[str, ...] = ()
    """Signals that it tried to send to processes that are not its own, in words."""
    problem: str | None = None
    """A sentence: why the kit itself could not see this execution through (a surviving process)."""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    @property
    def usable(self) -> bool:
        """Whether anything may be concluded from it."""
        return self.refusal is None and self.problem is None
