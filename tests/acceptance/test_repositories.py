"""A repository, with packages called `runtime` and `contracts`, takes the kit as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from checkpoint_contracts import CATALOGUE

LEDGER = Path(__file__).parents[2] / "examples" / "repositories" / "ledger"
MOST_LINES = 15


def test_its_subjects_and_its_contract_are_found(tmp_path: Path) -> None:
    """``tox -e repositories`` judges them, with the wheel, in an environment of their own."""
    shutil.copytree(LEDGER, tmp_path / "ledger")

    session = subprocess.run(
        [sys.executable, "-m", "pytest", "--checkpoint-contracts", "--collect-only", "-q"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path / "ledger",
        env={
            **os.environ,
            "PYTEST_ADDOPTS": "",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
    )

    assert session.returncode == 0, session.stdout + session.stderr
    names = [*CATALOGUE, "resume-says-where"]
    assert [line for line in session.stdout.splitlines() if "::" in line] == [
        f"{subject}::{name}" for subject in ("book", "boastful") for name in names
    ]


def test_adopting_it_takes_a_few_lines() -> None:
    assert len((LEDGER / "conftest.py").read_text().splitlines()) <= MOST_LINES
