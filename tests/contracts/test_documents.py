"""What people read about the contracts is what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint_contracts import CATALOGUE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_page_holds_every_explanation(name: str) -> None:
    page = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
    assert f"## `{name}`" in page
    assert CATALOGUE[name].explanation in page


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_readme_lists_every_contract(name: str) -> None:
    assert f"| `{name}` |" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_runs_in_an_environment_of_its_own_are_the_two_commands_of_the_readme() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    section = page.partition("## Two commands")[2].partition("\n## ")[0]
    commands = section.split("```")[1::2]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in script if line.endswith("|| exit")] == [
        f"{command.strip()} || exit" for command in commands
    ]
    assert len(commands) == 2
