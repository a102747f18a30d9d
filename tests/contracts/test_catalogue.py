from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import checkpoint_contracts
from checkpoint_contracts import CATALOGUE, Contract
from checkpoint_contracts.evidence import CRASHES, Fault
from checkpoint_contracts.table import TABLE
from checkpoint_contracts.verdict import Symptom


def test_the_order_is_stable() -> None:
    assert list(CATALOGUE) == [
        "resume-equals-uninterrupted",
        "state-never-corrupt",
        "resume-skips-done",
        "resume-keeps-work",
        "done-survives-power-loss",
        "no-partial-under-final-name",
        "resume-is-idempotent",
        "outputs-cross-resume",
        "failed-stage-is-retried",
        "poison-fails-fast",
        "re-entry-is-safe",
        "changed-pipeline-is-noticed",
        "handoff-tells-next",
        "no-space-is-survived",
        "io-error-is-not-success",
        "preemption-is-clean",
        "leaves-no-litter",
        "effects-fire-once",
        "one-writer",
        "owns-only-its-own",
        "crash-during-recovery",
        "bad-state-is-refused",
        "stale-heartbeat-is-noticed",
        "slow-is-not-stale",
        "alive-is-not-progress",
        "marker-implies-object",
        "upload-faults-are-survived",
        "reconcile-tells-the-truth",
        "no-space-in-staging",
        "backpressure-bounds-staging",
        "markers-outlive-staging",
        "shards-cover-once",
    ]


def test_what_each_looks_at() -> None:
    kill, power = frozenset({Fault.KILL}), frozenset({Fault.POWER_LOSS})
    both, none = frozenset({Fault.KILL, Fault.TORN}), frozenset[Fault]()
    raises, changed = frozenset({Fault.STAGE_RAISES}), frozenset({Fault.CHANGED})
    poison = raises | {Fault.STAGE_KILLED}
    contracts = CATALOGUE.values()
    assert [(one.faults, one.explores, sorted(one.needs)) for one in contracts] == [
        (kill, True, []),
        (both, True, []),
        (both, True, ["stages"]),
        (kill, True, []),
        (power, True, []),
        (both, False, ["outputs"]),
        (none, False, []),
        (kill, True, ["stage-inputs", "stages"]),
        (raises, False, ["stage-faults", "stages"]),
        (poison, False, ["stage-faults", "stages"]),
        (kill, True, ["stages"]),
        (changed, False, ["stages", "variants"]),
        (kill, True, ["handoff", "stages"]),
        (frozenset({Fault.NO_SPACE}), False, []),
        (frozenset({Fault.IO_ERROR}), False, []),
        (frozenset({Fault.SIGNAL}), False, ["preemption"]),
        (frozenset({Fault.CRASH_LOOP}), False, ["cleans-up"]),
        (CRASHES | {Fault.LOST_REPLY, Fault.DOUBLE_START}, True, ["effects"]),
        (frozenset({Fault.DOUBLE_START}), False, ["exclusive"]),
        (kill | {Fault.BYSTANDER}, False, []),
        (frozenset({Fault.SECOND_CRASH}), True, []),
        (frozenset({Fault.DAMAGE}), True, ["refuses-bad-state"]),
        (frozenset({Fault.FROZEN}), False, ["heartbeat"]),
        (frozenset({Fault.SLOWED}), False, ["heartbeat"]),
        (frozenset({Fault.BLOCKED}), False, ["heartbeat"]),
        (CRASHES | {Fault.SIGNAL, Fault.STORE_LIES}, True, ["s3"]),
        (frozenset({Fault.STORE_FAILS}), False, ["s3"]),
        (frozenset({Fault.STORE_CHANGED}), False, ["s3"]),
        (frozenset({Fault.STAGING_FULL}), False, ["staging"]),
        (frozenset({Fault.STORE_SLOW}), False, ["s3", "staging"]),
        (frozenset({Fault.STAGING_GONE}), False, ["staging"]),
        (frozenset({Fault.SHARDS}), False, ["shards"]),
    ]


@pytest.mark.parametrize("contract", CATALOGUE.values())
def test_each_says_its_promise_and_explains_itself(contract: Contract) -> None:
    assert CATALOGUE[contract.id] is contract
    assert contract.promise
    assert not contract.promise.endswith(".")
    assert "\n" not in contract.promise
    assert "Keep it:" in contract.explanation


def test_the_table_names_contracts_of_the_catalogue_for_faults_that_they_look_at() -> None:
    for symptom, cells in TABLE.items():
        # Never started, and a wrong end: after a power loss the wrong end says it all.
        missing = {Fault.POWER_LOSS} if symptom is Symptom.SKIPPED else set()
        assert set(cells) == (CRASHES | {Fault.SECOND_CRASH}) - missing
        for fault, names in cells.items():
            assert all(fault in CATALOGUE[name].faults for name in names)


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(checkpoint_contracts.__path__)]
)
def test_the_examples_in_docstrings_hold(name: str) -> None:
    module = importlib.import_module(f"checkpoint_contracts.{name}")
    assert doctest.testmod(module).failed == 0
