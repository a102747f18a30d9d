"""What makes an examination another one, so that an interrupted one cannot be gone on with."""

from __future__ import annotations

import dataclasses
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from checkpoint_contracts import CATALOGUE, ExperimentContract
from checkpoint_contracts.evidence import Fault, TrialKind
from checkpoint_contracts.tried import TrialContract
from pytest_checkpoint.callables.calling import JOB
from pytest_checkpoint.callables.reference import Reference
from pytest_checkpoint.keeping import definition
from pytest_checkpoint.keeping.definition import definition_of, differences
from pytest_checkpoint.options import Options
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.subject import BucketPlace, HeartbeatSource, StagingPlace, Subject


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    (tmp_path / "job.py").write_text("pass\n")
    (tmp_path / "helper.py").write_text("pass\n")
    (tmp_path / "data").write_text("pass\n")
    command = ("python", "job.py", "{workspace}")
    return Subject(
        name="job", run=command, resume=command, check=command, working_directory=tmp_path
    )


OPTIONS = Options(rootdir=Path())

SUBJECTS: dict[str, Any] = {
    "name": "other",
    "run": ("python", "job.py", "run", "{workspace}"),
    "resume": ("true",),
    "check": ("cat", "{workspace}"),
    "setup": ("true",),
    "changed": (("true",),),
    "max_states": 5,
    "handoff": PurePosixPath("handoff.json"),
    "heartbeat": HeartbeatSource(glob="beat", stale_after_s=1.0),
    "s3": BucketPlace(bucket="b"),
    "staging": StagingPlace(path=PurePosixPath("s"), bound_bytes=1),
    "outputs": ("*.out",),
    "ephemeral": ("*.log",),
    "capabilities": frozenset({"exclusive"}),
    "not_applicable": {"one-writer": "because"},
    "resume_attempts": 2,
    "working_directory": Path("/"),
}
SAME_SUBJECT: dict[str, Any] = {
    "expected_failures": {"one-writer": "because"},
    "defined_at": (Path("test_job.py"), 1),
    "time_budget_s": 600.0,
}
CHANGED: dict[str, Any] = {
    "faults": frozenset({Fault.KILL}),
    "model": Model.POSIX,
    "max_states": 1,
    "exhaustive": True,
    "seed": 1,
    "run_deadline_s": 1.0,
    "deadline_s": 1.0,
    "allow_network": True,
    "allow_outside": (Path("/x"),),
    "keep_tmpdir": True,
    "workdir": Path("/x"),
    "fresh": True,
    "self_check_points": 1,
    "restart_ratio": 0.5,
    "attempts": 1,
    "grace_s": 1.0,
    "depth": 1,
    "s3_endpoint": "http://127.0.0.1:1",
    "contracts": frozenset({"one-writer"}),
}
SAME_OPTIONS: dict[str, Any] = {
    "rootdir": Path("/x"),
    "time_budget_s": 1.0,
    "keep_bytes": 1,
    "session": "s",
    "continues": True,
    "typed": frozenset({"max_states"}),
    "catalogue": {"one-writer": CATALOGUE["one-writer"]},
}


def test_every_field_is_decided_on() -> None:
    fields = {field.name for field in dataclasses.fields(Subject)}
    assert fields == {*SUBJECTS, *SAME_SUBJECT}
    options = {field.name for field in dataclasses.fields(Options)}
    assert options == {*CHANGED, *SAME_OPTIONS}


@pytest.mark.parametrize("field", [*SUBJECTS, *SAME_SUBJECT])
def test_what_matters_of_a_subject(subject: Subject, field: str) -> None:
    value = {**SUBJECTS, **SAME_SUBJECT}[field]
    other = dataclasses.replace(subject, **{field: value})
    before, now = (definition_of(one, OPTIONS) for one in (subject, other))
    changed = differences(before, now)
    assert (f"the subject's {field}" in changed) == bool(changed) == (field in SUBJECTS)


@pytest.mark.parametrize("field", [*CHANGED, *SAME_OPTIONS])
def test_what_matters_of_the_options(subject: Subject, field: str) -> None:
    value = {**CHANGED, **SAME_OPTIONS}[field]
    other = dataclasses.replace(OPTIONS, **{field: value})
    before, now = (definition_of(subject, one) for one in (OPTIONS, other))
    words = {"contracts": "the choice of contracts (-k, -m, SUBJECT::CONTRACT)"}
    part = words.get(field, f"the option {field}")
    assert differences(before, now) == [part] * (field in CHANGED)


def with_own(**fields: Any) -> Options:
    """A contract of somebody's own, whose judge is another object in every session."""
    own = ExperimentContract(id="own", promise="it holds", judge=lambda *_: None, **fields)
    return dataclasses.replace(OPTIONS, catalogue={**CATALOGUE, "own": own})


def test_what_matters_of_a_contract_of_somebodys_own(subject: Subject) -> None:
    """What it asks for; its judge judges anew what was seen."""
    before = definition_of(subject, with_own())
    assert differences(before, definition_of(subject, with_own())) == []
    for fields in ({"faults": frozenset({Fault.TORN})}, {"needs": frozenset({"tells"})}):
        now = definition_of(subject, with_own(**fields))
        assert differences(before, now) == ["the contract own"]


@pytest.mark.parametrize(
    ("name", "matters"), [("job.py", True), ("helper.py", True), ("data", False)]
)
def test_the_script_and_the_modules_beside_it(
    subject: Subject, tmp_path: Path, name: str, matters: bool
) -> None:
    before = definition_of(subject, OPTIONS)
    (tmp_path / name).write_text("mended\n")
    path = tmp_path / name
    assert differences(before, definition_of(subject, OPTIONS)) == [f"the file {path}"] * matters


def test_the_file_that_a_function_stands_in(subject: Subject, tmp_path: Path) -> None:
    file = tmp_path / "functions" / "steps.py"
    file.parent.mkdir()
    file.write_text("def run(workspace): pass\n")
    command = Reference(file=file, module="steps", name="run").command(JOB)
    callable_one = dataclasses.replace(subject, run=command)
    before = definition_of(callable_one, OPTIONS)
    file.write_text("def run(workspace): print()\n")
    assert differences(before, definition_of(callable_one, OPTIONS)) == [f"the file {file}"]


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("python", "-m", "steps.train", "{workspace}"), "steps/train.py"),
        (("python", "-m", "steps.train", "{workspace}"), "steps/__init__.py"),
        (("python", "-m", "steps", "{workspace}"), "steps/__main__.py"),
        (("python", "-m", "steps", "{workspace}"), "steps/beside.py"),
        (("true", "--config=steps/train.toml", "{workspace}"), "steps/train.toml"),
        (("sh", "-c", "python steps/train.py {workspace}"), "steps/train.py"),
    ],
)
def test_a_module_and_what_stands_within_a_word(
    subject: Subject, tmp_path: Path, words: tuple[str, ...], file: str
) -> None:
    """What is finished would be shown as it was, though another job would run now."""
    (tmp_path / "steps").mkdir()
    for name in ("__init__.py", "__main__.py", "train.py", "beside.py", "train.toml"):
        (tmp_path / "steps" / name).write_text("pass\n")
    named = dataclasses.replace(subject, run=words)
    before = definition_of(named, OPTIONS)
    (tmp_path / file).write_text("mended\n")
    assert differences(before, definition_of(named, OPTIONS)) == [f"the file {tmp_path / file}"]


def test_a_word_after_m_that_is_no_module(subject: Subject) -> None:
    for word in ("", ".", "none.such", "job.py", "two words", "../x", "job.none.such"):
        named = dataclasses.replace(subject, run=("git", "commit", "-m", word))
        assert definition_of(named, OPTIONS)


def test_the_kinds_of_trials_of_somebodys_own(subject: Subject) -> None:
    """Two kinds may have one fault."""

    def with_kinds(*kinds: TrialKind) -> Options:
        own = TrialContract(
            id="own",
            promise="it holds",
            explanation="",
            kinds=kinds,
            needs=frozenset(),
            look=lambda *_: (),
        )
        return dataclasses.replace(OPTIONS, catalogue={**CATALOGUE, "own": own})

    one, two = TrialKind.STORE_FAILS_ONCE, TrialKind.STORE_FAILS
    assert one.fault is two.fault
    before, now = (definition_of(subject, with_kinds(*kinds)) for kinds in ((one,), (one, two)))
    assert differences(before, now) == ["the contract own"]


def test_a_file_that_has_gone_or_come(subject: Subject, tmp_path: Path) -> None:
    before = definition_of(subject, OPTIONS)
    (tmp_path / "helper.py").unlink()
    (tmp_path / "new.py").touch()
    assert differences(before, definition_of(subject, OPTIONS)) == [
        f"the file {tmp_path / 'helper.py'}",
        f"the file {tmp_path / 'new.py'}",
    ]


def test_a_word_that_is_no_name_of_a_file(subject: Subject) -> None:
    long = dataclasses.replace(subject, check=("python", "-c", "x" * 10_000))
    assert definition_of(long, OPTIONS)


def test_nothing_of_a_command_can_be_read_off(subject: Subject) -> None:
    secret = dataclasses.replace(subject, run=("job", "--password", "hunter2"))
    assert "hunter2" not in str(definition_of(secret, OPTIONS))


def test_a_large_file_is_told_by_its_size_and_time(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(definition, "_LARGEST", 3)
    before = definition_of(subject, OPTIONS)
    (tmp_path / "job.py").write_text("longer than it was\n")
    assert differences(before, definition_of(subject, OPTIONS)) == [
        f"the file {tmp_path / 'job.py'}"
    ]
