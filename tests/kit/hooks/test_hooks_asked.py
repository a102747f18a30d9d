"""The many options are added where one of them may be meant, and only there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest_plugins = ["pytester"]

SEED = "--checkpoint-seed=7"
ADDS_WORDS = f"""
def pytest_load_initial_conftests(args):
    args.append("{SEED}")
"""


def test_nothing_of_it_is_meant(pytester: pytest.Pytester, plugin_arguments: list[str]) -> None:
    pytester.makefile(".ini", pytest="[pytest]\naddopts = -ra\n")

    config = pytester.parseconfig(*plugin_arguments)

    assert config.getoption("checkpoint_contracts") is False
    assert config.getoption("checkpoint_seed", default=None) is None
    with pytest.raises(ValueError, match="checkpoint_seed"):
        config.getini("checkpoint_seed")


def by_word(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return [SEED]


def by_variable(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-ra {SEED}")
    return []


def by_addopts(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pytester.makefile(".ini", pytest=f"[pytest]\naddopts = -ra {SEED}\n")
    return []


def by_addopts_on_the_line(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return ["-o", f"addopts={SEED}"]


def by_file(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (pytester.path / "words").write_text(f"{SEED}\n")
    return [f"@{pytester.path / 'words'}"]


def by_plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pytester.makepyfile(adds_words=ADDS_WORDS)
    monkeypatch.syspath_prepend(pytester.path)
    return ["-p", "adds_words"]


since_8_2 = pytest.mark.skipif(pytest.version_tuple < (8, 2), reason="@FILE: pytest 8.2")


@pytest.mark.parametrize(
    "way",
    [
        by_word,
        by_variable,
        by_addopts,
        by_addopts_on_the_line,
        pytest.param(by_file, marks=since_8_2),
        by_plugin,
    ],
)
def test_every_way_in(
    pytester: pytest.Pytester,
    plugin_arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    way: Callable[[pytest.Pytester, pytest.MonkeyPatch], list[str]],
) -> None:
    words = way(pytester, monkeypatch)

    config = pytester.parseconfig(*plugin_arguments, *words)

    assert config.getoption("checkpoint_seed") == "7"


@pytest.mark.parametrize("help_", ["-h", "--help", "-vh"])
def test_help(pytester: pytest.Pytester, plugin_arguments: list[str], help_: str) -> None:
    told = pytester.runpytest(*plugin_arguments, help_).stdout.str()

    assert "--checkpoint-time-budget=SECONDS" in told
    assert "checkpoint_time_budget (string)" in told


def test_loaded_by_a_conftest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where plugins are not loaded by themselves: that is after the first look at the words."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest("pytest_plugins = ['pytest_checkpoint.hooks']")

    told = pytester.runpytest_subprocess("--checkpoint-contracts", SEED, "--co")

    told.stdout.fnmatch_lines(["checkpoint-contracts: faults *; seed 7"])
