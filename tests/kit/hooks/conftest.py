"""A pytest session under ``--checkpoint-contracts`` whose examinations are made by hand.

The engine is replaced by a module that answers what the test says, so that these tests are about
pytest alone: what is collected, what an item ends with, what is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import pytest
import rich.console
import rich.table  # noqa: F401 - as above

import pytest_checkpoint.session.plugin  # noqa: F401 - as above

ENGINE = """
import json
import pathlib
import sys
import types

from checkpoint_contracts.evidence import (
    Coverage, CrashPoint, Evidence, Execution, Experiment, Fault, Reference,
)
from checkpoint_contracts.verdict import Failure, Finding, Outcome, Symptom, Verdict
from pytest_checkpoint.errors import HarnessError, UserError
from pytest_checkpoint.examination import Examination, Wreck

HERE = pathlib.Path(__file__).parent
POINT = CrashPoint(
    fault=Fault.KILL, step=41, variant="kill", total_steps=60,
    operation="rename state.json.tmp → state.json", signature="rename",
)


def log(line):
    with open(HERE / "engine.log", "a") as file:
        file.write(line + "\\n")


def failed(contract):
    finding = Finding(
        contract=contract, point=POINT, symptom=Symptom.RESUME_FAILED,
        headline="killed at step 41 (rename state.json.tmp → state.json): resume exits 1",
        expected="exit 0", seen="exit 1", likely_cause="The state is saved before the output.",
    )
    return Verdict(
        contract=contract, outcome=Outcome.FAILED, failures=(Failure(finding=finding, count=13),),
        faults_failed=("kill",), states_explored=30, states_total=30,
    )


def verdict(contract, wanted):
    if wanted == "failed":
        return failed(contract)
    outcome = Outcome(wanted)
    reason = {"passed": "", "not applicable": "it declares no stage"}.get(wanted, "it differs")
    return Verdict(
        contract=contract, outcome=outcome, reason=reason, states_explored=30, states_total=30
    )


def examined(subject, options):
    plan = json.loads((HERE / "plan.json").read_text()).get(subject.name, {})
    if "usage" in plan:
        raise UserError(plan["usage"])
    if "harness" in plan:
        raise HarnessError(plan["harness"])
    if "interrupt" in plan:
        raise KeyboardInterrupt
    if "bug" in plan:
        raise ZeroDivisionError(plan["bug"])
    execution = Execution(exit_code=1, output="Traceback\\nKeyError: 'frames'\\n")
    done = Execution(exit_code=0)
    evidence = Evidence(
        subject=subject.name, capabilities=frozenset(), faults=options.faults,
        reference=Reference(run=done, finished_resume=done, check=done, events=()),
        experiments=(Experiment(point=POINT, events_before=(), resume=execution),),
        coverage={Fault.KILL: Coverage(derived=42, unique=30, explored=30)},
    )
    wreck = Wreck(
        folder=HERE / "wreck", listing=("state.json  0 bytes",), operations=("> 41 rename",)
    )
    return Examination(
        evidence=evidence,
        verdicts={id: verdict(id, plan.get(id, "passed")) for id in options.catalogue},
        operations=60, notes=("workspace under /dev/shm",), elapsed_s=1.5,
        wrecks={(id, POINT.id): wreck for id in options.catalogue},
    )


def examine(subject, options, progress):
    import os
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    log(f"examine {subject.name} {worker} {','.join(sorted(options.contracts))}")
    progress.phase("first run")
    progress.estimate("30 states, about 0.1 minutes")
    progress.advance(30, 30)
    return examined(subject, options)


def replay(subject, options, contract, point, progress):
    log(f"replay {subject.name} {contract} {point}")
    return examined(subject, options)


engine = types.ModuleType("pytest_checkpoint.experiment")
engine.examine, engine.replay = examine, replay
sys.modules["pytest_checkpoint.experiment"] = engine
import pytest_checkpoint
pytest_checkpoint.experiment = engine
"""

SUBJECT = """
from pytest_checkpoint.api import CommandSubject, checkpoint_subject

@checkpoint_subject
def {name}():
    return CommandSubject(run="true {{workspace}}", check="true {{workspace}}"{more})
"""


class Project:
    """A directory with a fake engine in its conftest, and pytest to run in it."""

    def __init__(self, pytester: pytest.Pytester, plugin_arguments: list[str]) -> None:
        self.pytester = pytester
        # Hypothesis would be imported anew, its asserts rewritten, at the end of each session.
        self.always = [*plugin_arguments, "-p", "no:hypothesispytest", "-Werror"]
        pytester.makeconftest(ENGINE)
        self.plan()

    def plan(self, **subjects: dict[str, str]) -> None:
        """What the engine answers: subject → contract → outcome; ``passed`` if unsaid."""
        import json

        (self.pytester.path / "plan.json").write_text(json.dumps(subjects))

    def subject(self, name: str = "etl", more: str = "", file: str = "test_jobs") -> None:
        """A test module with one subject; ``more`` are further arguments, after a comma."""
        self.pytester.makepyfile(**{file: SUBJECT.format(name=name, more=more)})

    def run(self, *arguments: str) -> pytest.RunResult:
        return self.plain("--checkpoint-contracts", *arguments)

    def plain(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(*self.always, *arguments)

    def in_a_process(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess(
            *self.always, "--checkpoint-contracts", *arguments, timeout=60
        )

    @property
    def examined(self) -> list[str]:
        """What the engine was asked, a line each."""
        log = self.pytester.path / "engine.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def plugin_arguments() -> list[str]:
    """Loads the plugin where it is not installed; loading it twice would be an error."""
    installed = any(
        point.value == "pytest_checkpoint.hooks" for point in entry_points(group="pytest11")
    )
    return [] if installed else ["-p", "pytest_checkpoint.hooks"]


@pytest.fixture
def project(
    pytester: pytest.Pytester, plugin_arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # these tests may run under it
    return Project(pytester, plugin_arguments)


@pytest.fixture
def subjects_of() -> Callable[[pytest.RunResult], list[str]]:
    """The node ids that ``--collect-only -q`` printed."""

    def ids(result: pytest.RunResult) -> list[str]:
        return [line for line in result.outlines if "::" in line]

    return ids
