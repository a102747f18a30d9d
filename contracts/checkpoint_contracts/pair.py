"""A second start of the job on one workspace, beside the first: what a trial saw of both."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoint_contracts.execution import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The second start; the first is the trial's first leg."""

    second: Execution
    together: bool = False
    """Both began at the same instant. Else the second began when the first stood, and the first
    goes on when the second has ended."""
    resumes: bool = False
    """The second is the resume command, and that is another than the run."""
    same_command: bool = True
    """Run and resume are one command."""
    before: tuple[str, ...] = ()
    """Lines of the events file that the first wrote before it stood."""
    meanwhile: tuple[str, ...] = ()
    """Those that were written while it stood: by the second."""
    later: tuple[str, ...] = ()
    """Those that were written when it had gone on. Of both at the same instant: all lines."""
    then: Execution | None = None
    """The check on what lay there when the second had ended with exit 0 and the first still stood.
    None: that was not looked at."""
    operations_later: int = 0
    """Recorded operations after that: of the first."""
    operations_all: int = 0
    """Of both together."""
