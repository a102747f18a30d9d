"""What an item tells junit and other tools."""

from __future__ import annotations

from checkpoint_contracts.verdict import Verdict


def properties_of(verdict: Verdict, replay: str) -> list[tuple[str, object]]:
    """``replay`` is empty unless something failed. All values are plain, for xdist and XML."""
    return [
        ("contract", verdict.contract),
        ("verdict", str(verdict.outcome)),
        ("faults_failed", ",".join(verdict.faults_failed)),
        ("states_explored", verdict.states_explored),
        ("states_total", verdict.states_total),
        ("replay", replay),
    ]
