"""Every planted fault is caught by the contract that it is there for; nothing else is said.

Each subject of ``tests/subjects`` is judged whole, by the command form and with the real engine, as
a user would, under the faults and persistence models that its case names. A mutant must fail the
contract that it names, and exactly those in ``also`` besides; a sound twin must be passed by every
contract that applies to it, and none may be undecided.

A recording does not depend on the persistence model. Where another model derives no power loss from
it that was not examined under the first (of a job that syncs all it should, none does), the same
resumes would be made again: they are not.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Iterator, Set
from typing import Any

import pytest

from checkpoint_contracts import ACKNOWLEDGES_EXIT, CATALOGUE
from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.phases.alone import numbers
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.order import plan
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from tests.acceptance.sessions import PYTHON, Session, Workplace, job
from tests.subjects.matrix import (
    BY_COMMAND,
    CASES,
    FOLDER,
    SHARDS,
    SURVIVES_POWER_LOSS,
    Case,
)

pytest_plugins = ["pytester"]

NO_CASES = {"matrix.py", "torch_dcp_save.py"}
"""The matrix itself, and what needs torch: tests/acceptance/test_torch_dcp.py judges that."""
SHARED = "tiny_*.py"
"""What several subjects have in common."""
SHORT_DEADLINE_S = {
    "dead_owner_waited_for": "1",
    "second_waits": "1",
    "staging_waits_for_ever": "1",
    "staging_sleeps_on_dead_uploader": "1.5",
}
"""Of subjects that hang by design."""


def not_there_yet(case: Case) -> str:
    """What a case needs and this version has not; empty: nothing."""
    contracts = case.expected_failures - set(CATALOGUE)
    faults = {fault for contract in CATALOGUE.values() for fault in contract.faults}
    missing = sorted(contracts | (set(case.faults) - {str(fault) for fault in faults}))
    if case.module and importlib.util.find_spec(case.module) is None:
        return f"{case.module} is not installed"
    if case.name in {"number_believed", "beat_number_believed"} and not missing:
        return numbers.unavailable() or ""
    return f"not there yet: {', '.join(missing)}" if missing else ""


def judgements() -> Iterator[Any]:
    for case in CASES:
        reason = not_there_yet(case)
        marks = [pytest.mark.skip(reason=reason)] if reason else []
        name = case.script.stem
        if case.file:  # one script, judged in more than one way
            name += f"-{case.name}"
        yield pytest.param(case, id=name, marks=marks)


@pytest.fixture(autouse=True)
def short_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay of a hang takes a minute at least; here, twice the deadline: it never ends."""
    monkeypatch.setattr("pytest_checkpoint.phases.deadlines._LEAST_HANG_S", 0.1)
    monkeypatch.setattr("pytest_checkpoint.phases.deadlines._HANG_FACTOR", 2.0)
    # A store of real size takes no parts of less than 5 MiB.
    monkeypatch.setenv("S3_UPLOAD_PART_MIN_SIZE", "64")
    # So long, and half as long again as a run takes, a full staging stays full.
    monkeypatch.setattr("pytest_checkpoint.phases.staging.full._AGAIN_LEAST_S", 0.2)
    monkeypatch.setattr("pytest_checkpoint.phases.staging.slow._STALL_LEAST_S", 0.1)
    # Of what starts warm one is made again: that shows that the session does it.
    monkeypatch.setattr("pytest_checkpoint.phases.again_fresh.SAMPLE", 1)
    # What is not noticed is waited for that much longer, too.
    monkeypatch.setattr("pytest_checkpoint.phases.liveness.asking._LEAST_SLACK_S", 0.5)


@pytest.mark.parametrize("case", list(judgements()))
def test_verdicts(case: Case, pytester: pytest.Pytester) -> None:
    first, *others = case.models
    workplace = Workplace(pytester)
    session = judged(case, first, workplace)
    as_expected(case, first, session)
    kept = session.kept / case.script.stem / "recording"
    known = survived(case, journal.load(kept), session) if others else frozenset()
    # Each session keeps its recording in the same place.
    losses = {model: losses_of(case, journal.load(kept), model) for model in others}
    for model in others:
        if case.expected_under(model) or not losses[model] <= known:
            as_expected(case, model, judged(case, model, workplace))


def as_expected(case: Case, model: str, session: Session) -> None:
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

    assert {case.script for case in CASES} == scripts - {*FOLDER.glob(SHARED)}


def test_every_contract_has_mutants() -> None:
    assert {case.caught_by for case in CASES} >= set(CATALOGUE)


def losses_of(case: Case, recording: Recording, model: str) -> Set[tuple[bool, bytes]]:
    """The power losses that a model derives: the key of what each leaves, and if it is at the end.

    The latter where an exit acknowledges: by that, and by the state with its events, it is judged.
    """
    planned = plan(
        StateSource(recording, Model(model)),
        faults={Fault.POWER_LOSS},
        seed=0,
        max_states=sys.maxsize,
        exhaustive=False,
    )
    last = len(recording.operations) if ACKNOWLEDGES_EXIT in case.capabilities else None
    return {
        (crash.step == last, state.key)
        for state in planned.states
        for crash in (state.crash, *state.aliases)
    }


def survived(case: Case, recording: Recording, session: Session) -> Set[tuple[bool, bytes]]:
    """The power losses of the first model, if all were examined and passed; else none."""
    losses = session.item(SURVIVES_POWER_LOSS, case.script.stem)
    explored, total = losses.properties["states_explored"], losses.properties["states_total"]
    if losses.verdict != "passed" or explored != total:
        return frozenset()
    return losses_of(case, recording, case.models[0])


def judged(case: Case, model: str, workplace: Workplace) -> Session:
    # Some import what is beside them, which an isolated interpreter does not find.
    shares = case.bucket or case.staging_bytes or SHARDS in case.faults
    python = PYTHON.replace(" -I ", " -E -s ") if shares else PYTHON
    if case.bucket and case.module:
        python = python.replace(" -S ", " ")  # what has to be installed is to be found
    script = shlex.quote(str(case.script))
    more = [*case.options(model), f"--checkpoint-self-check={0 if case.heartbeat else 1}"]
    for name in case.changed:
        more += ["--checkpoint-changed", f"{python} {script} run {{workspace}} {name}"]
    if case.reconciles:
        more += ["--checkpoint-s3-reconcile", f"{python} {script} reconcile {{workspace}}"]
    if case.heartbeat == BY_COMMAND:
        more += ["--checkpoint-heartbeat-command", f"{python} {script} watch {{workspace}}"]
    deadline_s = SHORT_DEADLINE_S.get(case.name)
    if deadline_s is not None:
        more += ["--checkpoint-deadline", deadline_s]
    return workplace.judge(
        *job(f"{python} {script} run {{workspace}}", f"{python} {script} check {{workspace}}"),
        *more,
    )
