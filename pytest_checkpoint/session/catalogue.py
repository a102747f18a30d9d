"""The contracts of one session: the kit's, and those that other repositories' hooks return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, cast

import pytest

from checkpoint_contracts import CATALOGUE, CRASHES, Contract, Fault
from checkpoint_contracts.bad_state import REFUSES_BAD_STATE
from checkpoint_contracts.litter import CLEANS_UP
from checkpoint_contracts.mixed import MixedContract
from checkpoint_contracts.tried import TrialContract
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.foreign import CONTRACTS, Returned, implementations, returned
from pytest_checkpoint.session.registration import KNOWN_CAPABILITIES

_ID: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_METHODS: Final = ("inapplicable", "findings", "repeated", "gaps", "too_little", "notes")
_PROMISED_ONLY: Final = frozenset(
    {CLEANS_UP, REFUSES_BAD_STATE, "exclusive", "preemption", "stages"}
)
"""Capabilities that are promises: what is tried needs nothing of the subject for them."""

_KEY: Final = pytest.StashKey[Mapping[str, Contract]]()
_ASKED: Final = pytest.StashKey[frozenset[str]]()


def read_catalogue(config: pytest.Config) -> Mapping[str, Contract]:
    """Ask the hooks, once, and keep what there is. Raises UserError for a contract that is none."""
    found = dict(CATALOGUE)
    for one in returned(config, CONTRACTS):
        for contract in _contracts(one):
            if contract.id in found:
                whose = "the kit's" if contract.id in CATALOGUE else "another one's"
                raise UserError(
                    f"{one.who}: the id {contract.id!r} is {whose} already: give the contract "
                    "another"
                )
            found[contract.id] = contract
    asked = implementations(config, CONTRACTS)
    config.stash[_ASKED] = asked
    config.stash[_KEY] = MappingProxyType(found)
    return config.stash[_KEY]


def _contracts(one: Returned) -> list[Contract]:
    """What one hook returned, looked at closely: it is code that nobody here has seen."""
    given = one.value
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise UserError(f"{one.who}: it must return a list of contracts, not {given!r}")
    try:
        return [_fit(one.who, candidate) for candidate in cast("Iterable[object]", given)]
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"{one.who}: a contract of it raised {type(error).__name__}: {error}"
        ) from error


def catalogue_of(config: pytest.Config) -> Mapping[str, Contract]:
    """Id → contract, in the order of reports: the kit's first."""
    return config.stash[_KEY]


def contract_ids(config: pytest.Config) -> tuple[str, ...]:
    """Every contract there is, in the order of reports."""
    return tuple(catalogue_of(config))


def capabilities_of(config: pytest.Config) -> tuple[str, ...]:
    """Every capability that some contract may need."""
    own = {name for one in catalogue_of(config).values() for name in one.needs}
    return tuple(sorted({*KNOWN_CAPABILITIES, *own - {"outputs"}}))


def require_none_came_late(config: pytest.Config) -> None:
    """UserError if contracts are named where pytest looks only when it collects."""
    asked = config.stash[_ASKED]
    late = implementations(config, CONTRACTS) - asked
    if late:
        raise UserError(
            f"{', '.join(sorted(late))}: its {CONTRACTS} came too late, when subjects were being "
            "collected: put it into the conftest.py of the rootdir, or name its folder on the "
            "command line"
        )


def _fit(who: str, candidate: object) -> Contract:
    """UserError, naming the first thing that is wrong with it."""
    for complaint in _complaints(candidate):
        shown = getattr(candidate, "id", None)
        name = f"the contract {shown!r}" if isinstance(shown, str) else repr(candidate)
        raise UserError(
            f"{who}: {name} {complaint}; the simplest is an ExperimentContract of "
            "checkpoint_contracts, with id, promise and judge"
        )
    return cast("Contract", candidate)


def _complaints(candidate: object) -> Iterator[str]:
    if isinstance(candidate, type):
        yield "is a class: return an object of it"
        return
    missing = [
        name
        for name in ("id", "promise", "explanation", "faults", "needs", "explores", *_METHODS)
        if not hasattr(candidate, name)
    ]
    if missing:
        yield f"is no contract: it has no {', '.join(missing)}"
        return
    given: Callable[[str], object] = candidate.__getattribute__
    identity, promise = given("id"), given("promise")
    if not isinstance(identity, str) or _ID.fullmatch(identity) is None:
        yield "must have an id of lower-case words joined by '-', as in 'log-never-shrinks'"
    if not isinstance(promise, str) or not promise.strip() or "\n" in promise:
        yield "must have a promise: one line that says what holds"
    if not isinstance(given("explanation"), str):
        yield "must have an explanation that is text"
    odd = [name for name in _METHODS if not callable(given(name))]
    if odd or not isinstance(given("explores"), bool):
        yield f"must have a method {odd[0]}" if odd else "must say whether it explores: a bool"
    if not _all_are(given("needs"), str):
        yield "must have needs: a frozenset of names of capabilities"
    elif not _all_are(given("faults"), Fault):
        yield "must have faults: a frozenset of Fault"
    else:
        yield from _complaints_about_faults(cast("Contract", candidate))


def _all_are(given: object, kind: type) -> bool:
    return isinstance(given, frozenset) and all(
        isinstance(one, kind) for one in cast("frozenset[object]", given)
    )


def _complaints_about_faults(contract: Contract) -> Iterator[str]:
    """It can only have what is made for it: states after crashes, or the trials of one contract."""
    if isinstance(contract, TrialContract):
        like = [
            one
            for one in CATALOGUE.values()
            if isinstance(one, TrialContract) and set(contract.kinds) <= set(one.kinds)
        ]
        if not contract.kinds or not like:
            yield "must have kinds, all of which belong to one contract of the kit"
            return
        needed = frozenset[str].intersection(*(one.needs for one in like)) - _PROMISED_ONLY
        if not needed <= contract.needs:
            yield f"must need {', '.join(sorted(needed))}, without which there are no such trials"
    explored = contract.faults
    if isinstance(contract, TrialContract):
        explored = contract.crashes if isinstance(contract, MixedContract) else frozenset()
    if explored - CRASHES:
        yield (
            f"looks at {', '.join(sorted(explored - CRASHES))}: without trials (a TrialContract) "
            f"there are only {', '.join(sorted(CRASHES))}"
        )
    elif contract.explores and not contract.faults:
        yield "explores, and looks at no fault: name one, as in frozenset({Fault.KILL})"
    elif explored and not contract.explores:
        # It would pass where nothing at all was explored.
        yield "looks at crashes and does not explore them: say explores = True, or leave faults out"
