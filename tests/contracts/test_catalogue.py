from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import checkpoint_contracts
from checkpoint_contracts import CATALOGUE, Contract
from checkpoint_contracts.evidence import Fault
from checkpoint_contracts.table import TABLE


def test_the_order_is_stable() -> None:
    assert list(CATALOGUE) == [
        "resume-equals-uninterrupted",
        "state-never-corrupt",
        "resume-skips-done",
        "resume-keeps-work",
    ]


def test_what_each_looks_at() -> None:
    kill, both = frozenset({Fault.KILL}), frozenset(Fault)
    assert [contract.faults for contract in CATALOGUE.values()] == [kill, both, both, kill]
    assert [sorted(contract.needs) for contract in CATALOGUE.values()] == [[], [], ["stages"], []]


@pytest.mark.parametrize("contract", CATALOGUE.values())
def test_each_says_its_promise_and_explains_itself(contract: Contract) -> None:
    assert CATALOGUE[contract.id] is contract
    assert contract.promise
    assert not contract.promise.endswith(".")
    assert "\n" not in contract.promise
    assert "Keep it:" in contract.explanation


def test_the_table_names_contracts_of_the_catalogue_for_faults_that_they_look_at() -> None:
    for cells in TABLE.values():
        assert set(cells) == set(Fault)
        for fault, names in cells.items():
            assert all(fault in CATALOGUE[name].faults for name in names)


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(checkpoint_contracts.__path__)]
)
def test_the_examples_in_docstrings_hold(name: str) -> None:
    module = importlib.import_module(f"checkpoint_contracts.{name}")
    assert doctest.testmod(module).failed == 0
