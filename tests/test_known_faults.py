"""Every planted fault is caught by the contract that it is there for; nothing else is said.

Each subject of ``tests/subjects`` is judged whole, by the command form and with the real engine, as
a user would, under the faults and persistence models that its case names. A mutant must fail the
contract that it names, and exactly those in ``also`` besides; a sound twin must be passed by every
contract that applies to it, and none may be undecided.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from checkpoint_contracts import CATALOGUE
from tests.acceptance.sessions import PYTHON, Session, Workplace, job
from tests.subjects.matrix import CASES, FOLDER, Case

pytest_plugins = ["pytester"]

NO_CASES = {"matrix.py", "torch_dcp_save.py"}
"""The matrix itself, and what needs torch: tests/acceptance/test_torch_dcp.py judges that."""
SHORT_DEADLINE_S = {"dead_owner_waited_for": "1"}
"""Of subjects that hang by design."""


def not_there_yet(case: Case) -> str:
    """What a case needs and this version has not; empty: nothing."""
    contracts = case.expected_failures - set(CATALOGUE)
    faults = {fault for contract in CATALOGUE.values() for fault in contract.faults}
    missing = sorted(contracts | (set(case.faults) - {str(fault) for fault in faults}))
    return f"not there yet: {', '.join(missing)}" if missing else ""


def judgements() -> Iterator[Any]:
    for case in CASES:
        reason = not_there_yet(case)
        marks = [pytest.mark.skip(reason=reason)] if reason else []
        for number, model in enumerate(case.models):
            name = case.script.stem
            if case.file:  # one script, judged in more than one way
                name += f"-{case.name}"
            if number:
                name += f"-{model}"
            yield pytest.param(case, model, id=name, marks=marks)


@pytest.fixture(autouse=True)
def short_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay of a hang takes a minute at least; here, six times the deadline."""
    monkeypatch.setattr("pytest_checkpoint.phases.bench._LEAST_HANG_S", 0.1)


@pytest.mark.parametrize(("case", "model"), list(judgements()))
def test_verdicts(case: Case, model: str, pytester: pytest.Pytester) -> None:
    session = judged(case, model, Workplace(pytester))

    expected = case.expected_under(model)
    assert session.failed(case.script.stem) == expected, session.output
    if case.caught_by in expected:
        text = session.item(case.caught_by, case.script.stem).text
        assert [said for said in case.tells if said not in text] == []
    verdicts = session.verdicts(case.script.stem)
    assert {verdicts[contract] for contract in case.holds} <= {"passed"}, session.output
    undecided = {
        contract
        for contract, verdict in verdicts.items()
        if verdict not in {"passed", "failed", "not applicable"}
    }
    assert undecided == set(), session.output
    assert session.ret == (1 if expected else 0), session.output
    for item in session.items.values():
        if item.verdict == "not applicable":
            assert item.text.removeprefix("not applicable: ").strip(), item


def test_every_script_is_in_the_matrix() -> None:
    scripts = {path for path in FOLDER.glob("*.py") if path.name not in NO_CASES}

    assert {case.script for case in CASES} == scripts


def test_every_contract_has_mutants() -> None:
    assert {case.caught_by for case in CASES} >= set(CATALOGUE)


def judged(case: Case, model: str, workplace: Workplace) -> Session:
    script = shlex.quote(str(case.script))
    more = [*case.options(model), "--checkpoint-self-check=1"]
    for name in case.changed:
        more += ["--checkpoint-changed", f"{PYTHON} {script} run {{workspace}} {name}"]
    deadline_s = SHORT_DEADLINE_S.get(case.name)
    if deadline_s is not None:
        more += ["--checkpoint-deadline", deadline_s]
    return workplace.judge(
        *job(f"{PYTHON} {script} run {{workspace}}", f"{PYTHON} {script} check {{workspace}}"),
        *more,
    )
