"""Options in pytest's configuration: what arrives, what is refused, what a replay spells out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import command_line
from pytest_checkpoint.session.settings import Settings, read_settings

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

IDS = ("state-never-corrupt", "resume-keeps-work")
NATIVE = pytest.version_tuple >= (9, 0)

KEYS = """
checkpoint_time_budget = 1.5m
checkpoint_max_states = 10
checkpoint_exhaustive = true
checkpoint_fresh = false
checkpoint_faults = kill,torn
checkpoint_allow_outside =
    cache
    /var/other place
checkpoint_workdir = work
checkpoint_tolerate = inconclusive
"""
FILES = {
    "pytest.ini": "[pytest]" + KEYS,
    "tox.ini": "[pytest]" + KEYS,
    "setup.cfg": "[tool:pytest]" + KEYS,
    "pyproject.toml": """
[tool.pytest.ini_options]
checkpoint_time_budget = "1.5m"
checkpoint_max_states = 10
checkpoint_exhaustive = true
checkpoint_fresh = false
checkpoint_faults = "kill,torn"
checkpoint_allow_outside = ["cache", "/var/other place"]
checkpoint_workdir = "work"
checkpoint_tolerate = "inconclusive"
""",
    "native": """
[tool.pytest]
checkpoint_time_budget = "1.5m"
checkpoint_max_states = 10
checkpoint_exhaustive = true
checkpoint_fresh = false
checkpoint_faults = ["kill", "torn"]
checkpoint_allow_outside = ["cache", "/var/other place"]
checkpoint_workdir = "work"
checkpoint_tolerate = "inconclusive"
""",
}
NEEDS_NATIVE = pytest.mark.skipif(not NATIVE, reason="pytest 8 has no [tool.pytest]")


@pytest.fixture
def settings_of(pytester: pytest.Pytester, plugin_arguments: list[str]) -> Configured:
    return Configured(pytester, plugin_arguments)


class Configured:
    """A configuration file, and what the options are with it."""

    def __init__(self, pytester: pytest.Pytester, always: Sequence[str]) -> None:
        self.path = pytester.path
        self._pytester = pytester
        self._always = always

    def read(self, file: str, text: str, *arguments: str) -> Settings:
        (self.path / file).write_text(text)
        return read_settings(self._pytester.parseconfig(*self._always, *arguments), IDS)

    def mistake(self, file: str, text: str, *arguments: str) -> str:
        with pytest.raises(UserError) as told:
            self.read(file, text, *arguments)
        return str(told.value)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=NEEDS_NATIVE if kind == "native" else ()) for kind in FILES]
)
def test_values_arrive(settings_of: Configured, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are the file's, wherever pytest is started."""
    (settings_of.path / "work").mkdir()
    (settings_of.path / "sub").mkdir()
    monkeypatch.chdir(settings_of.path / "sub")
    file = "pyproject.toml" if kind == "native" else kind

    settings = settings_of.read(file, FILES[kind])

    options = settings.options
    assert options.time_budget_s == 90
    assert options.max_states == 10
    assert options.exhaustive
    assert not options.fresh
    assert options.faults == {Fault.KILL, Fault.TORN}
    assert options.allow_outside == (settings_of.path / "cache", Path("/var/other place"))
    assert options.workdir == settings_of.path / "work"
    assert settings.tolerate_inconclusive


def test_the_command_line_beats_it(settings_of: Configured) -> None:
    (settings_of.path / "work").mkdir()

    options = settings_of.read(
        *("pytest.ini", FILES["pytest.ini"]),
        *("--checkpoint-max-states=7", "--checkpoint-allow-outside=mine"),
        *("-o", "checkpoint_exhaustive=false", "-o", "checkpoint_seed=5"),
    ).options

    assert options.max_states == 7
    assert options.typed == {"max_states"}, "which a subject's own does not change"
    assert options.allow_outside == (settings_of.path / "mine",)
    assert not options.exhaustive
    assert options.seed == 5
    assert options.time_budget_s == 90


def test_every_option_but_that_of_one_session(
    pytester: pytest.Pytester, plugin_arguments: list[str]
) -> None:
    config = pytester.parseconfig(*plugin_arguments, "--checkpoint-seed=1")

    for flag in command_line.FLAGS:
        if flag in command_line.EXPLORATION:
            assert config.getini(flag.key) is None
        else:
            with pytest.raises(ValueError, match="unknown configuration value"):
                config.getini(flag.key)
    assert "--checkpoint-replay" in {flag.name for flag in command_line.ONE_SESSION}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("time_budget = soon", "checkpoint_time_budget (FILE) 'soon' is no duration: "),
        ("max_states = 0", "checkpoint_max_states (FILE) '0' is not a whole number of 1 or more"),
        ("faults = typhoon", "checkpoint_faults (FILE) 'typhoon': there is no fault 'typhoon'; "),
        ("exhaustive = perhaps", "checkpoint_exhaustive (FILE): invalid truth value 'perhaps'"),
        ("workdir = gone", "checkpoint_workdir (FILE) HERE/gone: there is no such directory"),
        ("tolerate = all", "checkpoint_tolerate (FILE) 'all': only 'inconclusive' can be "),
    ],
)
def test_a_bad_value_names_key_and_file(settings_of: Configured, line: str, sentence: str) -> None:
    told = settings_of.mistake("tox.ini", f"[pytest]\ncheckpoint_{line}\n")

    here = str(settings_of.path)
    assert told.startswith(sentence.replace("FILE", f"{here}/tox.ini").replace("HERE", here))


@pytest.mark.parametrize(
    ("table", "line", "sentence"),
    [
        ("ini_options", "max_states = [1, 2]", "must be a string or a number, not [1, 2]"),
        ("ini_options", "allow_outside = [1]", "must be a list of strings, not [1]"),
        ("", "max_states = true", "must be a string or a number, not True"),
        ("", "allow_outside = 'cache'", "must be a list of strings, not 'cache'"),
        ("", "exhaustive = 'yes'", "must be true or false, not 'yes'"),
    ],
)
def test_a_value_of_the_wrong_type(
    settings_of: Configured, table: str, line: str, sentence: str
) -> None:
    if not table and not NATIVE:
        pytest.skip("pytest 8 has no [tool.pytest]")
    header = f"[tool.pytest{table and '.'}{table}]"

    told = settings_of.mistake("pyproject.toml", f"{header}\ncheckpoint_{line}\n")

    key = "checkpoint_" + line.split(maxsplit=1)[0]
    assert told == f"{key} ({settings_of.path}/pyproject.toml) {sentence}"


def test_a_bad_value_of_an_override(settings_of: Configured) -> None:
    told = settings_of.mistake(
        "pytest.ini", "[pytest]\ncheckpoint_seed = 1", "-o", "checkpoint_seed=x"
    )

    assert told.startswith("checkpoint_seed (-o) 'x' is not a whole number of 0 or more")


def test_the_sentence_is_shown_and_nothing_runs(project: Project) -> None:
    project.subject("etl")
    project.pytester.makeini("[pytest]\ncheckpoint_depth = 0\n")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: checkpoint_depth (*/tox.ini) '0' is not a whole number *"])
    assert project.examined == []


def test_the_replay_line_spells_it_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths whole, so that it is good from another folder; what was typed comes before the file."""
    project.plan(etl={"state-never-corrupt": "failed"})
    project.subject("etl")
    project.pytester.makeini(
        "[pytest]\ncheckpoint_seed = 1\ncheckpoint_exhaustive = true\ncheckpoint_max_states = 9\n"
        "checkpoint_allow_outside =\n    a b\n    c\n"
    )
    monkeypatch.chdir(project.pytester.mkdir("sub"))
    here = project.pytester.path

    result = project.run("..", "--checkpoint-seed=3", "-o", "checkpoint_max_states=8")

    line = next(line for line in result.outlines if line.startswith("replay: "))
    words = shlex.split(line)
    assert words[words.index("-o") :] == [
        *("-o", "checkpoint_max_states=8", "--checkpoint-max-states", "8"),
        *("--checkpoint-exhaustive", "--checkpoint-seed", "3"),
        *("--checkpoint-allow-outside", f"{here}/a b", "--checkpoint-allow-outside", f"{here}/c"),
        *("--checkpoint-replay", "etl::state-never-corrupt@41.kill", ".."),
    ]


def test_without_the_main_option_nothing_is_read(project: Project) -> None:
    project.pytester.makeini("[pytest]\ncheckpoint_depth = nonsense\ncheckpoint_fresh = perhaps\n")
    project.pytester.makepyfile(test_other="def test_one(): pass")

    result = project.plain("--strict-config")

    result.assert_outcomes(passed=1)


def test_help_lists_the_keys(project: Project) -> None:
    result = project.plain("--help")

    result.stdout.fnmatch_lines(["*checkpoint_time_budget (string):*"])
