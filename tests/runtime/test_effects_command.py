"""``checkpoint-runtime effects``, and what the command says of effects elsewhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.main import main
from checkpoint_runtime.exclusion.lock import WorkspaceLock

JOB = """
import os
from checkpoint_runtime import Pipeline

film = Pipeline("film")

@film.stage(name="-odd stage")
def publish(context):
    def send(key):
        with open("received", "a") as file:
            file.write(key + "\\n")
        if os.environ.get("MOOD") == "lost":
            raise TimeoutError
        return {"number": 1}
    return context.effect("publish", "--v 1", send)
"""
COMMAND = ["mailing.py:film", "--workspace", "w"]
SETTLE = (
    "checkpoint-runtime effects settle mailing.py:film --workspace w '--stage=-odd stage' "
    "--happened -- publish '--v 1'"
)


@pytest.fixture(autouse=True)
def _here(job: str, tmp_path: Path) -> None:
    (tmp_path / "mailing.py").write_text(JOB)


def lose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run it, and lose the reply."""
    with monkeypatch.context() as patch:
        patch.setenv("MOOD", "lost")
        assert main(["run", *COMMAND]) == ExitCode.STAGE_FAILED


def test_what_is_open_is_said_with_what_to_type_which_settles_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lose(monkeypatch)
    assert main(["resume", *COMMAND]) == ExitCode.UNSETTLED
    assert f"say so: {SETTLE} (or that it did not happen); then resume." in capsys.readouterr().err
    assert main(["status", *COMMAND]) == ExitCode.STAGE_FAILED
    assert f"may or may not have happened: {SETTLE}\n" in capsys.readouterr().out
    assert main(["effects", "list", *COMMAND]) == ExitCode.UNSETTLED
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("-odd stage  publish  --v 1  unsettled  20")
    assert first.endswith(": it was about to be sent, and may or may not have happened")
    assert second == f"then: {SETTLE}, or --did-not-happen"

    typed = [*shlex.split(SETTLE)[1:]]
    typed.insert(typed.index("--"), '--outcome={"number": 1}')
    assert main(typed) == ExitCode.DONE
    assert main(["resume", *COMMAND]) == ExitCode.DONE
    assert len(Path("received").read_text().splitlines()) == 1
    assert main(shlex.split(SETTLE)[1:]) == ExitCode.DONE  # says nothing new: what it gave is kept
    capsys.readouterr()
    assert main(["effects", "list", *COMMAND]) == ExitCode.DONE
    assert capsys.readouterr().out.endswith(', settled: {"number": 1}\n')


def test_what_did_not_happen_is_sent_again_and_listed_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lose(monkeypatch)
    told = ["effects", "settle", *COMMAND, "--did-not-happen", "--", "publish", "--v 1"]
    assert main(told) == ExitCode.DONE
    assert main(["resume", *COMMAND]) == ExitCode.DONE
    first, second = Path("received").read_text().splitlines()
    assert first == second
    capsys.readouterr()
    assert main(["effects", "list", *COMMAND, "--json"]) == ExitCode.DONE
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found.pop("at").startswith("20")
    assert found == {
        "stage": "-odd stage",
        "kind": "publish",
        "key": "--v 1",
        "state": "sent",
        "how": "replied",
        "idempotency_key": first,
        "outcome": '{"number": 1}',
    }


def test_a_stage_that_is_run_again_sends_again_only_when_told_to() -> None:
    assert main(["run", *COMMAND]) == ExitCode.DONE
    assert main(["rerun", *COMMAND, "--", "-odd stage"]) == ExitCode.DONE
    assert len(Path("received").read_text().splitlines()) == 1
    assert main(["rerun", *COMMAND, "--forget-effects", "--", "-odd stage"]) == ExitCode.DONE
    assert len(Path("received").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("given", "code", "sentence"),
    [
        (["--happened", "nope", "v"], ExitCode.USAGE, "there is no effect 'nope' with key 'v'; "),
        (["--happened", "--outcome", "{", "a", "b"], ExitCode.USAGE, "--outcome '{' is no JSON: "),
        (["--did-not-happen", "--outcome", "1", "a", "b"], ExitCode.USAGE, "that has happened."),
    ],
)
def test_what_cannot_be_settled_gets_a_sentence(
    capsys: pytest.CaptureFixture[str], given: list[str], code: ExitCode, sentence: str
) -> None:
    assert main(["effects", "list", *COMMAND]) == ExitCode.USAGE  # no workspace
    assert main(["run", *COMMAND]) == ExitCode.DONE
    capsys.readouterr()
    assert main(["effects", "settle", *COMMAND, *given]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("checkpoint-runtime: ")
    assert sentence in line


def test_a_workspace_without_effects_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("w").mkdir()
    assert main(["effects", "list", *COMMAND]) == ExitCode.DONE
    assert capsys.readouterr().out == "film: nothing has been sent here\n"


def test_a_workspace_in_use_is_refused_with_a_code_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("w").mkdir()
    with WorkspaceLock(Path("w"), pytest.fail):
        for verb in ("run", "resume"):
            assert main([verb, *COMMAND]) == ExitCode.IN_USE
            assert "another run of this process is at work here" in capsys.readouterr().err
    assert main(["run", *COMMAND]) == ExitCode.DONE
