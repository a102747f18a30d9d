"""A process of ours has the number of one that is dead, as long as it is wanted."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.phases.alone import numbers

needs_the_right = pytest.mark.skipif(
    numbers.unavailable() is not None, reason=numbers.unavailable() or ""
)


def dead() -> int:
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()
    return process.pid


@needs_the_right
def test_it_lives_and_is_another() -> None:
    number = dead()
    with numbers.taken([number, number, os.getpid()]) as ours:
        assert ours == {number}
        os.kill(number, 0)
        assert b"number_program" in Path(f"/proc/{number}/cmdline").read_bytes()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_without_the_right_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import sys; print(sys.argv[1], {errno.EPERM})")
    monkeypatch.setattr(numbers, "_PROGRAM", str(program))
    assert numbers.unavailable() == (
        "the number of a dead owner was given to no other process: that needs CAP_SYS_ADMIN or "
        "CAP_CHECKPOINT_RESTORE, as root has (Operation not permitted)"
    )
    with numbers.taken([7]) as ours:
        assert ours == frozenset()


def test_a_program_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(HarnessError, match="has failed"):
        numbers.unavailable()
