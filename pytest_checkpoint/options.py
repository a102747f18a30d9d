"""What the user asked for, validated once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from checkpoint_contracts import CATALOGUE, Contract
from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.subject import Subject

KEEP_BYTES = 1 << 30
SELF_CHECK_POINTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All ``--checkpoint-*`` values that an examination depends on. Times in seconds."""

    rootdir: Path
    """Where ``.checkpoint-contracts/`` is kept."""
    faults: frozenset[Fault] = frozenset(Fault)
    model: Model = Model.LINUX
    """Which losses and reorderings a power loss may show."""
    time_budget_s: float = 120.0
    max_states: int = 2000
    typed: frozenset[str] = frozenset()
    """Which of these two stand in the command itself: they hold, whatever a subject says."""
    exhaustive: bool = False
    seed: int = 0
    run_deadline_s: float = 600.0
    """Of setup, run and the first check."""
    deadline_s: float | None = None
    """Of a resume or a later check; None: max(10, 5 × its undisturbed time)."""
    allow_network: bool = False
    allow_outside: tuple[Path, ...] = ()
    keep_tmpdir: bool = False
    workdir: Path | None = None
    """Under which workspaces are made; None: /dev/shm if it has room, else TMPDIR."""
    keep_bytes: int = KEEP_BYTES
    """Cap of all kept wrecks together."""
    fresh: bool = False
    """Start every resume and check as a new process."""
    self_check_points: int = SELF_CHECK_POINTS
    restart_ratio: float = 0.9
    attempts: int = 25
    """How often a stage may be started in one execution, or be killed, before that is endless."""
    grace_s: float = 10.0
    """How long the job may take to end after SIGTERM or SIGINT."""
    depth: int = 2
    """So many crashes in a row: 1, the run only; 2, the resume too; and so on."""
    s3_endpoint: str = ""
    """The object store behind the proxy; empty: the kit's own."""
    catalogue: Mapping[str, Contract] = field(default_factory=lambda: CATALOGUE)
    """Id → contract: those there are, and those that other repositories have added."""
    contracts: frozenset[str] | None = None
    """Ids that were selected; None: all. Faults that none of them needs are not explored."""
    session: str = ""
    """The id under which what is judged is kept, until the session has ended."""
    continues: bool = False
    """Go on with what was judged in that session before it was interrupted."""

    def of(self, subject: Subject) -> Options:
        """With the bounds that a subject has of its own: more time, fewer states."""
        time_budget_s, max_states = self.time_budget_s, self.max_states
        if "time_budget_s" not in self.typed:
            time_budget_s = max(time_budget_s, subject.time_budget_s or 0.0)
        if "max_states" not in self.typed:
            max_states = min(max_states, subject.max_states or max_states)
        return dataclasses.replace(self, time_budget_s=time_budget_s, max_states=max_states)
