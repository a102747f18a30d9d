"""The job that examples are written for, and the examples themselves."""

from __future__ import annotations

import ast
import shlex
import textwrap
import tomllib
from pathlib import Path

import pytest

from pytest_checkpoint.session import likely_job as guess
from pytest_checkpoint.session.likely_job import LikelyJob, likely_job
from pytest_checkpoint.session.suggestion import how_to_name_one

MAIN = "import sys\n\n\nif __name__ == '__main__':\n    sys.exit(0)\n"


def make(folder: Path, *files: str, text: str = MAIN) -> None:
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_an_empty_folder(tmp_path: Path) -> None:
    assert likely_job(tmp_path, tmp_path) == LikelyJob("job", "python job.py")


def test_a_script_that_can_be_started(tmp_path: Path) -> None:
    make(tmp_path, "alpha.py", text="def main(): ...\n")
    make(tmp_path, "zeta.py")

    assert likely_job(tmp_path, tmp_path) == LikelyJob("zeta", "python zeta.py")


def test_a_telling_name_before_a_nearer_one(tmp_path: Path) -> None:
    make(tmp_path, "alpha.py", "scripts/train-net.py")

    assert likely_job(tmp_path, tmp_path) == LikelyJob("train-net", "python scripts/train-net.py")


def test_a_console_script_before_one_that_tells_nothing(tmp_path: Path) -> None:
    make(tmp_path, "alpha.py")
    make(tmp_path, "pyproject.toml", text="[project.scripts]\nfilm = 'film.cli:main'\n")

    assert likely_job(tmp_path, tmp_path) == LikelyJob("film", "film")


def test_files_that_are_no_jobs(tmp_path: Path) -> None:
    make(tmp_path, "setup.py", "conftest.py", "test_train.py", "film/__main__.py", "manage.py")
    make(tmp_path, "tests/train.py", ".hidden/train.py", "build/lib/train.py", "a/b/c/train.py")
    make(tmp_path, "venv/pyvenv.cfg", text="")
    make(tmp_path, "venv/train.py")

    assert likely_job(tmp_path, tmp_path).name == "job"


def test_a_path_from_where_pytest_was_started(tmp_path: Path) -> None:
    make(tmp_path, "my jobs/etl.py")
    (tmp_path / "sub").mkdir()

    assert likely_job(tmp_path, tmp_path / "sub").command == "python '../my jobs/etl.py'"


def test_the_look_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.py", "b.py", text="")
    make(tmp_path, "train.py")
    assert likely_job(tmp_path, tmp_path).name == "train"

    monkeypatch.setattr(guess, "_MOST_READ", 2)
    assert likely_job(tmp_path, tmp_path).name == "job"
    monkeypatch.setattr(guess, "_MOST_READ", 100)
    monkeypatch.setattr(guess, "_MOST_ENTRIES", 0)
    assert likely_job(tmp_path, tmp_path).name == "job"


def test_the_three_ways_can_be_pasted(tmp_path: Path) -> None:
    """Whatever the script is called, each is what its own language reads."""
    make(tmp_path, 'my jobs/it\'s "train" 1.py')
    run = shlex.join(["python", 'my jobs/it\'s "train" 1.py']) + " {workspace}"
    check = "cat {workspace}/result.json"

    text = how_to_name_one(tmp_path, tmp_path, [])

    command, table, code = (part.split("\n\nor ")[0] for part in text.split(":\n\n")[1:])
    assert shlex.split(command.replace("\\\n", "")) == [
        *("pytest", "--checkpoint-contracts"),
        *("--checkpoint-run", run, "--checkpoint-check", check),
    ]
    subjects = tomllib.loads(table)["tool"]["checkpoint-contracts"]["subjects"]
    assert subjects == {'it\'s "train" 1': {"run": run, "check": check}}
    function = ast.parse(textwrap.dedent(code.rpartition("\n\n")[0])).body[-1]
    assert isinstance(function, ast.FunctionDef)
    assert function.name == "it_s__train__1"
    assert ast.unparse(function.body[0]) == f"return CommandSubject(run={run!r}, check={check!r})"
