"""Without ``--checkpoint-contracts`` the plugin costs nothing and changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

HEAVY = (
    "rich",
    "numpy",
    "psutil",
    "ctypes",
    "checkpoint_contracts",
    "pytest_checkpoint.session.plugin",
)


def test_ordinary_tests_run_as_ever(project: Project) -> None:
    project.subject("test_etl", file="test_jobs")
    project.pytester.makepyfile(test_other="def test_one(): pass")

    result = project.plain()

    result.assert_outcomes(passed=1)
    assert project.examined == []


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    """Not even what a test module imports to name a subject, which imports nothing heavy either."""
    code = (
        f"import sys; sys.path[:0] = {[path for path in sys.path if path]!r}; import pytest; "
        "pytest.main(['-q', '-p', 'pytest_checkpoint.hooks', '-p', 'no:cacheprovider']); "
        "early = 'pytest_checkpoint.api' in sys.modules; import pytest_checkpoint.api; "
        f"print(early, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
    )
    assert result.stdout.splitlines()[-1] == "False []"


def test_options_without_the_main_one_are_refused(project: Project) -> None:
    result = project.plain("--checkpoint-seed", "3", "--checkpoint-exhaustive")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: --checkpoint-exhaustive, --checkpoint-seed given without *: add it, or leave *"]
    )


def test_options_of_a_configuration_wait_for_their_time(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = --checkpoint-seed=3 --checkpoint-max-states 7")
    pytester.makepyfile("def test_ordinary(): pass")
    pytester.runpytest().assert_outcomes(passed=1)
    refused = pytester.runpytest("--checkpoint-max-states", "8")
    refused.stderr.fnmatch_lines(["ERROR: --checkpoint-max-states given without *"])


def test_help_tells_what_each_option_is_for(project: Project) -> None:
    result = project.plain("--help")

    result.stdout.fnmatch_lines(
        [
            "checkpoint-contracts: does the job really resume?:",
            "*--checkpoint-contracts*",
            "*--checkpoint-run=CMD*",
            "*--checkpoint-replay=ID*",
        ]
    )


def test_markers_are_explained(project: Project) -> None:
    result = project.run("--markers")

    result.stdout.fnmatch_lines(
        [
            "@pytest.mark.state-never-corrupt: *",
            "@pytest.mark.state_never_corrupt: the same as state-never-corrupt",
            "@pytest.mark.kill: contracts that look at this fault",
        ]
    )
