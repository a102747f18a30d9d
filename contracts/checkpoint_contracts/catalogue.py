"""Every contract there is, a line each, in the order in which reports show them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from checkpoint_contracts.alive_not_progress import alive_is_not_progress
from checkpoint_contracts.backpressure import backpressure_bounds_staging
from checkpoint_contracts.bad_state import bad_state_is_refused
from checkpoint_contracts.changed_pipeline import changed_pipeline_is_noticed
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.effects import effects_fire_once
from checkpoint_contracts.failed_stage import failed_stage_is_retried
from checkpoint_contracts.finished_job import resume_is_idempotent
from checkpoint_contracts.handoff import handoff_tells_next
from checkpoint_contracts.io_error import io_error_is_not_success
from checkpoint_contracts.keeps_work import resume_keeps_work
from checkpoint_contracts.litter import leaves_no_litter
from checkpoint_contracts.marker_implies import marker_implies_object
from checkpoint_contracts.markers_outlive import markers_outlive_staging
from checkpoint_contracts.no_space import no_space_is_survived
from checkpoint_contracts.one_writer import one_writer
from checkpoint_contracts.outputs_cross import outputs_cross_resume
from checkpoint_contracts.owns_own import owns_only_its_own
from checkpoint_contracts.poison import poison_fails_fast
from checkpoint_contracts.power_loss import done_survives_power_loss
from checkpoint_contracts.preemption import preemption_is_clean
from checkpoint_contracts.re_entry import re_entry_is_safe
from checkpoint_contracts.reconcile_truth import reconcile_tells_the_truth
from checkpoint_contracts.resume_contracts import (
    resume_equals_uninterrupted,
    resume_skips_done,
    state_never_corrupt,
)
from checkpoint_contracts.second_crash import crash_during_recovery
from checkpoint_contracts.shards_once import shards_cover_once
from checkpoint_contracts.slow_not_stale import slow_is_not_stale
from checkpoint_contracts.staging_full import no_space_in_staging
from checkpoint_contracts.stale_heartbeat import stale_heartbeat_is_noticed
from checkpoint_contracts.upload_faults import upload_faults_are_survived
from checkpoint_contracts.whole_outputs import no_partial_under_final_name

_CONTRACTS: Final[tuple[Contract, ...]] = (
    resume_equals_uninterrupted,
    state_never_corrupt,
    resume_skips_done,
    resume_keeps_work,
    done_survives_power_loss,
    no_partial_under_final_name,
    resume_is_idempotent,
    outputs_cross_resume,
    failed_stage_is_retried,
    poison_fails_fast,
    re_entry_is_safe,
    changed_pipeline_is_noticed,
    handoff_tells_next,
    no_space_is_survived,
    io_error_is_not_success,
    preemption_is_clean,
    leaves_no_litter,
    effects_fire_once,
    one_writer,
    owns_only_its_own,
    crash_during_recovery,
    bad_state_is_refused,
    stale_heartbeat_is_noticed,
    slow_is_not_stale,
    alive_is_not_progress,
    marker_implies_object,
    upload_faults_are_survived,
    reconcile_tells_the_truth,
    no_space_in_staging,
    backpressure_bounds_staging,
    markers_outlive_staging,
    shards_cover_once,
)

CATALOGUE: Final[Mapping[str, Contract]] = MappingProxyType(
    {contract.id: contract for contract in _CONTRACTS}
)
"""Contract id → contract."""
