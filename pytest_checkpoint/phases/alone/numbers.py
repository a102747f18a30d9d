"""Processes of ours that have the numbers of others, which are dead."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import HarnessError

_PROGRAM: Final = str(Path(__file__).with_name("number_program.py"))
_ENDS_WITHIN_S: Final = 10.0


def unavailable() -> str | None:
    """Why this machine does not let us choose a process's number; None: it does."""
    with _asked([os.getpid()]) as answers:
        told = answers.get(os.getpid())
    if told == errno.EEXIST:  # it is ours already: everything but that was in order
        return None
    why = os.strerror(told) if told else "it answers nothing"
    return (
        "the number of a dead owner was given to no other process: that needs CAP_SYS_ADMIN or "
        f"CAP_CHECKPOINT_RESTORE, as root has ({why})"
    )


@contextmanager
def taken(numbers: Iterable[int]) -> Iterator[frozenset[int]]:
    """Inside, processes of ours have these numbers: those that were free. Ended afterwards."""
    with _asked(numbers) as answers:
        yield frozenset(number for number, error in answers.items() if not error)


@contextmanager
def _asked(numbers: Iterable[int]) -> Iterator[dict[int, int]]:
    """Number → 0, or the errno with which it could not be had."""
    words = [str(number) for number in dict.fromkeys(numbers)]
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", _PROGRAM, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        try:
            answers = {}
            for _ in words:
                number, _, told = program.stdout.readline().strip().partition(" ")
                if not told:
                    raise HarnessError("the program that gives processes a number has failed")
                answers[int(number)] = 0 if told == "ok" else int(told)
            yield answers
        finally:
            program.stdin.close()
            try:
                program.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                program.kill()
