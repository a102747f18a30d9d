"""The decorator: what it accepts, and that importing registers nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from pytest_checkpoint.api import CommandSubject, checkpoint_subject
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.options import Options
from pytest_checkpoint.session.commands import stem_of_first_script
from pytest_checkpoint.session.registration import Declaration, declared, validated

IDS = ("state-never-corrupt", "resume-keeps-work")


Decorator = Callable[[Callable[[], CommandSubject]], Callable[[], CommandSubject]]


def minimal() -> CommandSubject:
    return CommandSubject(run="true {workspace}", check=["true", "{workspace}"])


def test_bare_it_takes_the_functions_name() -> None:
    @checkpoint_subject
    def etl() -> CommandSubject:
        return minimal()

    declaration = Declaration.of(etl)

    assert declaration is not None
    assert declaration.name == "etl"
    assert declaration.path == Path(__file__)
    assert etl() == minimal()


@pytest.mark.parametrize(
    "decorate", [checkpoint_subject("a job"), checkpoint_subject(name="a job")]
)
def test_a_name_of_its_own(decorate: Decorator) -> None:
    @decorate
    def etl() -> CommandSubject:
        return minimal()

    declaration = Declaration.of(etl)

    assert declaration is not None
    assert declaration.name == "a job"


def test_other_functions_are_not_subjects() -> None:
    assert Declaration.of(minimal) is None
    assert Declaration.of(object()) is None


@pytest.mark.parametrize("wrong", [3, CommandSubject, minimal()])
def test_it_stands_on_functions_only(wrong: Any) -> None:
    with pytest.raises(TypeError, match="@checkpoint_subject stands on a function without arg"):
        checkpoint_subject(cast("Any", wrong))


def test_defaults(tmp_path: Path) -> None:
    subject = declared(Declaration("etl", minimal, tmp_path / "t.py", 3), tmp_path, IDS)

    assert subject.run == subject.resume == ("true", "{workspace}")
    assert subject.check == ("true", "{workspace}")
    assert subject.setup is None
    assert subject.changed == ()
    assert subject.capabilities == frozenset()
    assert subject.resume_attempts == 1
    assert subject.defined_at == (tmp_path / "t.py", 3)
    assert subject.working_directory == tmp_path


GOOD: dict[str, Any] = {"run": "true {workspace}", "check": "true {workspace}"}


@pytest.mark.parametrize(
    ("fields", "name", "sentence"),
    [
        ({"run": None}, "etl", "run must be a string or a list of strings, not None"),
        ({"run": ["true", 3]}, "etl", "run must be a list of strings; 3 is none"),
        ({"run": []}, "etl", "run is empty"),
        ({"run": "./job {workspace}"}, "etl", "run: command not found: .*/job"),
        ({"run": "./plain {workspace}"}, "etl", "run: .*/plain is not an executable file"),
        ({"resume": "no-such-program"}, "etl", "resume: command not found: no-such-program"),
        ({"setup": "'"}, "etl", r"setup cannot be split into words \(No closing quotation\)"),
        ({"outputs": "*.json"}, "etl", "outputs must be a list of strings"),
        ({"outputs": ["../x"]}, "etl", "outputs: '../x' must be relative to the workspace"),
        ({"handoff": "/h.json"}, "etl", "handoff: '/h.json' must be a path relative to the works"),
        ({"handoff": "a/../../h"}, "etl", "handoff: 'a/../../h' must be a path relative to the "),
        ({"handoff": ""}, "etl", "handoff: '' must be a path relative to the workspace"),
        ({"handoff": ["true"]}, "etl", "handoff has no {workspace}"),
        ({"handoff": "gone {workspace}"}, "etl", "handoff: command not found: gone"),
        ({"capabilities": ["handoff"]}, "etl", "the capability 'handoff' is declared by the file"),
        ({"changed": "true {workspace}"}, "etl", "changed must be a list of commands, not 'true"),
        ({"changed": ["true"]}, "etl", r"changed\[0\] has no {workspace}"),
        ({"changed": [["true", 3]]}, "etl", r"changed\[0\] must be a list of strings; 3 is none"),
        ({"capabilities": ["variants"]}, "etl", "the capability 'variants' is declared by comm"),
        ({"resume_attempts": 0}, "etl", "resume_attempts must be 1 or more, not 0"),
        ({"time_budget_s": 0}, "etl", "time_budget_s must be seconds, more than 0, not 0"),
        ({"time_budget_s": "2m"}, "etl", "time_budget_s must be seconds, more than 0, not '2m'"),
        ({"max_states": 0}, "etl", "max_states must be 1 or more, not 0"),
        ({"max_states": True}, "etl", "max_states must be 1 or more, not True"),
        ({"expected_failures": {IDS[0]: ""}}, "etl", f"give a reason for {IDS[0]}, not ''"),
        ({"not_applicable": ["x"]}, "etl", "not_applicable must map contract ids to reasons"),
        (
            {"expected_failures": {IDS[0]: "a"}, "not_applicable": {IDS[0]: "b"}},
            "etl",
            f"{IDS[0]} is in expected_failures and in not_applicable: choose one",
        ),
        ({}, "a::b", "'a::b' cannot be a name"),
        ({}, "a/b", "'a/b' cannot be a name"),
        ({}, "-a", "'-a' cannot be a name"),
        ({}, " ", "a name must be a word"),
    ],
)
def test_mistakes(tmp_path: Path, fields: dict[str, Any], name: str, sentence: str) -> None:
    (tmp_path / "plain").write_text("not a program")
    given = CommandSubject(**{**GOOD, **fields})

    with pytest.raises(UserError, match=f"^who: .*{sentence}"):
        validated(given, name=name, who="who", working_directory=tmp_path, ids=IDS)


@pytest.mark.parametrize(
    ("fields", "budget_s", "states"),
    [
        ({}, 120, 700),
        ({"time_budget_s": 600, "max_states": 250}, 600, 250),
        ({"time_budget_s": 60.5, "max_states": 900}, 120, 700),
    ],
    ids=["none", "more time, fewer states", "less time, more states"],
)
def test_bounds_of_its_own(
    tmp_path: Path, fields: dict[str, Any], budget_s: float, states: int
) -> None:
    """What the configuration says is not undercut, nor exceeded; the command line holds."""
    given = dataclasses.replace(minimal(), **fields)
    subject = validated(given, name="etl", who="etl", working_directory=tmp_path, ids=IDS)
    options = Options(rootdir=tmp_path, max_states=700).of(subject)
    assert (options.time_budget_s, options.max_states) == (budget_s, states)

    typed = Options(rootdir=tmp_path, max_states=700, typed=frozenset({"max_states"})).of(subject)
    assert (typed.time_budget_s, typed.max_states) == (budget_s, 700)
    typed = Options(rootdir=tmp_path, time_budget_s=5, typed=frozenset({"time_budget_s"}))
    assert typed.of(subject).time_budget_s == 5


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "-u", "etl.py", "{workspace}"), "etl"),
        (("python", "-m", "package.job", "{workspace}"), "job"),
        (("python", "-c", "pass", "etl.py"), "python"),
        (("./bin/extract.sh", "{workspace}"), "extract"),
        (("prog", "{workspace}", "etl.py"), "prog"),
    ],
)
def test_the_default_name(tmp_path: Path, command: tuple[str, ...], name: str) -> None:
    (tmp_path / "etl.py").write_text("")

    assert stem_of_first_script(command, tmp_path) == name


@pytest.mark.parametrize(
    ("given", "handoff"),
    [
        (None, None),
        ("out/handoff.json", PurePosixPath("out/handoff.json")),
        ("a file.json", PurePosixPath("a file.json")),
        ("true {workspace}", ("true", "{workspace}")),
        (["true", "{workspace}"], ("true", "{workspace}")),
    ],
)
def test_a_handoff_is_a_path_or_a_command(tmp_path: Path, given: Any, handoff: Any) -> None:
    subject = validated(
        CommandSubject(**GOOD, handoff=given),
        name="etl",
        who="who",
        working_directory=tmp_path,
        ids=IDS,
    )

    assert subject.handoff == handoff
    assert subject.capabilities == (set() if given is None else {"handoff"})
