"""``docs/runtime.md``: its snippets are programs that work, its tables say what the code says."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import checkpoint_runtime
from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.main import main

GUIDE = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


@pytest.fixture
def folder(job: str, tmp_path: Path) -> Path:
    """The files of the guide; the current directory."""
    film, _, announce, check, test_film = blocks("python")
    (tmp_path / "film.py").write_text(film)
    (tmp_path / "announced.py").write_text(
        f"{film.partition('if __name__')[0]}\nsend_mail = lambda *given: given\n{announce}"
    )
    (tmp_path / "check.py").write_text(check)
    (tmp_path / "test_film.py").write_text(test_film)
    edited = film.replace('{"frames": 42}', '{"frames": 43}').replace(
        "@film.stage\n", '@film.stage(version="2")\n', 1
    )
    assert edited.count('version="2"') == 2
    (tmp_path / "changed.py").write_text(edited)
    return tmp_path


def test_every_command_of_the_guide_works(folder: Path) -> None:
    commands = [
        shlex.split(line)[1:]
        for block in blocks("")
        for line in block.splitlines()
        if line.startswith("checkpoint-runtime ")
    ]
    commands += [
        shlex.split(text)[1:] for text in re.findall(r"`(checkpoint-runtime rerun [^`]*)`", GUIDE)
    ]
    assert [command[0] for command in commands] == ["run", "status", "run", "rerun"]
    for command in commands:
        assert main(command) == ExitCode.DONE, command
    for name, frames in (("film.py", "42"), ("check.py", "42")):
        done = subprocess.run(
            [sys.executable, name, "runs/7"],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert f"{frames} frames in frames-{frames}.mp4" in done.stdout, done.stderr


def test_the_subject_of_the_guide_is_one_and_its_change_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["run", "film.py:film", "--workspace", "w"])
    assert main(["resume", "changed.py:film", "--workspace", "w"]) == ExitCode.STATE_REFUSED
    source = (folder / "test_film.py").read_text()
    names: dict[str, object] = {"__file__": str(folder / "test_film.py")}
    exec(compile(source.replace("@checkpoint_subject\n", ""), "test_film.py", "exec"), names)
    subject = names["film"]()  # type: ignore[operator]
    assert subject.run == [
        "checkpoint-runtime", "run", f"{folder}/film.py:film", "--workspace", "{workspace}",
    ]  # fmt: skip
    options = re.findall(r"--checkpoint-(\w+)", blocks("")[-1])
    assert options == [
        "contracts", "run", "resume", "check", "changed", "handoff", "capability",
    ]  # fmt: skip


def test_the_effect_of_the_guide_is_sent_once_and_its_key_is_what_the_guide_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "announced.py:film", "--workspace", "w"]) == ExitCode.DONE
    capsys.readouterr()
    assert main(["effects", "list", "announced.py:film", "--workspace", "w", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (digested,) = re.findall(r"SHA-256 of `(.*?)`", GUIDE)
    assert found["idempotency_key"] == hashlib.sha256(digested.encode()).hexdigest()[:32]
    assert found["idempotency_key"] in found["outcome"]
    settle = re.findall(r"`checkpoint-runtime (effects settle [^`]*)`", GUIDE)
    (typed,) = [shlex.split(text.replace("film:film", "announced.py:film")) for text in settle]
    assert main([*typed[:4], "w", *typed[5:]]) == ExitCode.DONE


def test_the_guide_names_every_exit_code_and_every_error() -> None:
    for code in ExitCode:
        assert f"| {code.value} | " in GUIDE, code
    for name in checkpoint_runtime.__all__:
        if name.endswith("Error") or name == "Preempted":
            assert f"`{name}`" in GUIDE, name
