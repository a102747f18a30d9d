"""Every contract there is, a line each, in the order in which reports show them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.finished_job import resume_is_idempotent
from checkpoint_contracts.keeps_work import resume_keeps_work
from checkpoint_contracts.power_loss import done_survives_power_loss
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    resume_skips_done,
    state_never_corrupt,
)
from checkpoint_contracts.whole_outputs import no_partial_under_final_name

_CONTRACTS: Final[tuple[Contract, ...]] = (
    resume_equals_uninterrupted,
    state_never_corrupt,
    resume_skips_done,
    resume_keeps_work,
    done_survives_power_loss,
    no_partial_under_final_name,
    resume_is_idempotent,
)

CATALOGUE: Final[Mapping[str, Contract]] = MappingProxyType(
    {contract.id: contract for contract in _CONTRACTS}
)
"""Contract id → contract."""
