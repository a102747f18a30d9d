"""What the head of a session says: the options in force, and what the machine can do."""

from __future__ import annotations

from pytest_checkpoint.record import abilities
from pytest_checkpoint.session.arguments import Arguments
from pytest_checkpoint.session.settings import Settings


def header_lines(settings: Settings, arguments: Arguments, began: str = "") -> list[str]:
    """``began``: when the session that is continued was begun; empty: none is."""
    options = settings.options
    budget = f"{options.time_budget_s:g} s and {options.max_states} states per subject"
    if options.exhaustive:
        budget = "every state"
    faults = ", ".join(sorted(options.faults))
    lines = [f"checkpoint-contracts: faults {faults}; {budget}; seed {options.seed}"]
    if began:
        lines.append(f"checkpoint-contracts: continuing the session of {began}")
    if settings.replay is not None:
        lines.append(f"checkpoint-contracts: replaying {settings.replay}")
    if settings.subject is not None and arguments.paths:
        lines.append(
            "checkpoint-contracts: --checkpoint-run judges that job alone; not collected: "
            + ", ".join(arguments.paths)
        )
    return [*lines, *(f"checkpoint-contracts: {line}" for line in abilities.describe())]
