"""``checkpoint-contracts list`` and ``explain``: what the code and docs/contracts.md say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import checkpoint_contracts
import pytest_checkpoint
from checkpoint_contracts import CATALOGUE
from pytest_checkpoint.command.main import main
from pytest_checkpoint.command.needs import DECLARED_BY

_PAGE = Path(__file__).parents[3] / "docs" / "contracts.md"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_what_is_listed_is_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids in the same order, and the promise under each heading, but for its first letter."""
    told = re.findall(r"^## `(.+)`\n\n\*(.+)\.\*$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = json.loads(said(capsys, "list", "--json"))
    assert sorted(told) == sorted(
        (one["id"], one["promise"][0].upper() + one["promise"][1:]) for one in listed
    )
    assert [one["id"] for one in listed] == [*CATALOGUE]
    by_id = {one["id"]: one for one in listed}
    assert by_id["resume-skips-done"]["needs"] == ["stages"]
    assert by_id["resume-skips-done"]["faults"] == ["kill", "torn"]


def test_the_list_for_people_names_every_contract_and_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = said(capsys, "list").splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [*CATALOGUE]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_contract_is_explained_as_its_reports_and_the_page_do(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = CATALOGUE[name]
    text = said(capsys, "explain", name)
    words = " ".join(text.split())
    assert f"The promise: {contract.promise}." in words
    for paragraph in contract.explanation.split("\n\n"):
        assert " ".join(paragraph.split()) in words
    for need in contract.needs:
        assert f"{need}: {DECLARED_BY[need]}" in words
    for heading in ("How it is judged", "What breaks it", "How to keep it", "What it needs"):
        assert f"\n\n{heading}\n\n" in text
    assert f"pytest --checkpoint-contracts -k {name}\n" in text


def test_the_causes_that_a_report_of_it_names_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    torn = "A record that was cut short is read as a whole one"
    assert torn in " ".join(said(capsys, "explain", "state-never-corrupt").split())
    assert torn not in " ".join(said(capsys, "explain", "resume-equals-uninterrupted").split())


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("resume-skip-done", "resume-skips-done"),
        ("litter", "leaves-no-litter"),
        ("Staging-Full", "no-space-in-staging"),
    ],
)
def test_a_wrong_id_is_told_the_nearest_ones(
    wrong: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", wrong]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert f"there is no contract {wrong!r}. Did you mean " in told.err
    assert meant in told.err.partition("Did you mean")[2]


def test_what_resembles_nothing_is_told_where_all_of_them_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "xyz"]) == 2
    assert "All of them: checkpoint-contracts list" in capsys.readouterr().err


def test_both_work_where_nothing_is_installed() -> None:
    """No site-packages: no pytest, no rich; nor are they looked for."""
    paths = [
        str(Path(one.__file__ or "").parents[1])
        for one in (pytest_checkpoint, checkpoint_contracts)
    ]
    program = (
        f"import sys; sys.path[:0] = {paths}\n"
        "from pytest_checkpoint.command.main import main\n"
        "codes = [main(['list']), main(['explain', 'one-writer'])]\n"
        "assert codes == [0, 0], codes\n"
        "assert not {'pytest', 'psutil', 'numpy'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "\none-writer\n" in done.stdout
