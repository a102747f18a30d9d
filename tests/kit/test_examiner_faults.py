"""Which faults a subject is put to: those that some promise of its own needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from checkpoint_contracts import CATALOGUE, Contract, ExperimentContract
from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.groundwork import faults_of
from pytest_checkpoint.options import Options
from pytest_checkpoint.subject import Subject


def faults(
    *not_applicable: str,
    only: frozenset[str] | None = None,
    catalogue: Mapping[str, Contract] = CATALOGUE,
) -> frozenset[Fault]:
    options = Options(
        rootdir=Path("/"), faults=frozenset(Fault), contracts=only, catalogue=catalogue
    )
    command = ("job", "{workspace}")
    subject = Subject(
        name="job",
        run=command,
        resume=command,
        check=command,
        not_applicable=dict.fromkeys(not_applicable, "no promise of this job"),
        working_directory=Path("/"),
    )
    return faults_of(options, subject)


def test_all_of_them() -> None:
    assert faults() == frozenset(Fault)


def test_a_fault_that_only_disclaimed_promises_need_is_left_out() -> None:
    of_power_loss = [one.id for one in CATALOGUE.values() if Fault.POWER_LOSS in one.faults]
    assert Fault.POWER_LOSS not in faults(*of_power_loss)
    assert Fault.POWER_LOSS in faults(*of_power_loss[:-1])


def test_one_that_is_selected_has_its_faults() -> None:
    assert faults(only=frozenset({"resume-equals-uninterrupted"})) == {Fault.KILL}


def test_one_of_somebodys_own_has_its_faults() -> None:
    own = ExperimentContract(
        id="own", promise="it holds", judge=lambda *_: None, faults=frozenset({Fault.TORN})
    )
    assert faults(only=frozenset({"own"}), catalogue={**CATALOGUE, "own": own}) == {Fault.TORN}
