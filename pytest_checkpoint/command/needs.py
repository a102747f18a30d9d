"""What a contract needs, in words: how a subject declares it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import Fault

DECLARED_BY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cleans-up": "--checkpoint-capability cleans-up: it removes what killed attempts left",
        "effects": "--checkpoint-capability effects: it tells what it sends, by "
        "$CHECKPOINT_EFFECTS_URL or $CHECKPOINT_EFFECTS_FILE",
        "exclusive": "--checkpoint-capability exclusive: it refuses a second run",
        "handoff": "--checkpoint-handoff PATH: the file that tells a reader where the job stands",
        "heartbeat": "--checkpoint-heartbeat-file GLOB or --checkpoint-heartbeat-command CMD, with "
        "--checkpoint-stale-after SECONDS",
        "outputs": "--checkpoint-outputs GLOB: files that must be whole under their final name",
        "preemption": "--checkpoint-capability preemption: it ends well at SIGTERM and Ctrl-C",
        "refuses-bad-state": "--checkpoint-capability refuses-bad-state: it notices a damaged "
        "state",
        "s3": "--checkpoint-s3 s3://BUCKET/PREFIX: it uploads there",
        "shards": "--checkpoint-capability shards: RANK and WORLD_SIZE say which part it does",
        "stage-faults": "--checkpoint-capability stage-faults: it honours "
        "CHECKPOINT_STAGE_FAULT=raise:NAME:TIMES",
        "stage-inputs": "the job writes `input NAME SHA256` lines to $CHECKPOINT_EVENTS",
        "stages": "the job writes `start NAME` and `done NAME` lines to $CHECKPOINT_EVENTS",
        "staging": "--checkpoint-staging PATH and --checkpoint-staging-bound SIZE: what it makes "
        "passes through",
        "variants": "--checkpoint-changed CMD: the job after somebody changed it",
    }
)
"""Capability → how it is declared, or seen."""


def needs_of(contract: Contract) -> tuple[str, ...]:
    """In the order in which they are told."""
    return tuple(sorted(contract.needs))


def faults_of(contract: Contract) -> tuple[str, ...]:
    """The words of ``--checkpoint-faults``, in the order of the help."""
    return tuple(fault.value for fault in Fault if fault in contract.faults)
