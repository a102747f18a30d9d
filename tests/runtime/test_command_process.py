"""``checkpoint-runtime`` as a process: readers that go away, and terminals."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from checkpoint_runtime.command.exit_codes import ExitCode


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "checkpoint_runtime.command.main", *arguments]


def test_readers_that_go_away_change_neither_the_job_nor_the_code(job: str) -> None:
    """``2>&1 | head -1``, and ``status | head -c 1``."""
    for command, expected in (("run", 1), ("status", 1), ("resume", 0)):
        mood = {"run": "exit", "status": "", "resume": ""}[command]
        process = subprocess.Popen(
            program(command, job, "--workspace", "w"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "MOOD": mood, "PYTHONUNBUFFERED": ""}, bufsize=0,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        if command != "status":
            process.stderr.close()
        try:
            assert process.wait(60) == expected, command
            if command == "status":
                assert process.stderr.read() == b""
        finally:
            process.kill()
            process.stderr.close()


def on_a_terminal(*arguments: str, mood: str = "") -> tuple[int, str]:
    """What a command shows there, without the codes for colours."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        program(*arguments),
        stdin=subprocess.DEVNULL, stdout=its, stderr=its,
        env={**os.environ, "MOOD": mood, "TERM": "dumb", "COLUMNS": "200"},
    ) as process:  # fmt: skip
        os.close(its)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # EIO: the other side has gone
            shown += b""
        os.close(ours)
        return process.wait(60), shown.decode()


def test_a_terminal_gets_a_table_and_bars_whatever_an_error_says(job: str) -> None:
    pytest.importorskip("rich")
    code, shown = on_a_terminal("run", job, "--workspace", "w", mood="raise")
    assert code == ExitCode.POISONED
    assert "[/red] out of" in shown
    assert "film: render (attempt 3 of 3)" in shown
    assert 'raise RuntimeError("[/red] out of' in shown
    code, shown = on_a_terminal("status", job, "--workspace", "w")
    assert code == ExitCode.POISONED
    assert "[/red] out of" in shown
    assert "Traceback" not in shown
    code, shown = on_a_terminal("rerun", job, "--workspace", "w", "render")
    assert code == 0
    assert "clears 3 used attempts of render" in shown
    assert "film: stages" in shown
    assert "3/3" in shown
    assert "every stage is done, 2 of 3 in this run" in shown
