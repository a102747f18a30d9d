"""The same script fresh and warm, and what differs."""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_checkpoint.record.request import Result

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

QUICK = (sys.executable, "-I", "-S", "-B")


def start(runner: Runner, *command: str, warm: bool, **options: Any) -> Result:
    """One execution in an empty slot."""
    runner.clear()
    wanted = {"recording": None, "warm": warm} | options
    return runner.client.run(runner.request(command, **wanted))


def both(runner: Runner, *command: str, **options: Any) -> tuple[Result, Result]:
    """Fresh and warm; the second must really have been so."""
    fresh = start(runner, *command, warm=False, **options)
    warm = start(runner, *command, warm=True, **options)
    assert (fresh.warm, warm.fresh_because) == (None, None), warm.fresh_because
    assert warm.warm is not None
    return fresh, warm


def lines(result: Result) -> list[str]:
    """What a user sees of an execution."""
    ended = f"exit {result.exit_code} signal {result.signal} problem {result.problem}"
    told = [ended, *result.output.splitlines(), "and:", *result.error_output.splitlines()]
    # The semaphores of multiprocessing have names by chance; Python 3.13 tells of those that leak.
    return [re.sub(r"/mp-\w{8}", "/mp-…", line) for line in told]


def alike(runner: Runner, *command: str, **options: Any) -> Result:
    """Both are the same for whoever looks at them; the warm one."""
    fresh, warm = both(runner, *command, **options)
    unlike = "\n".join(difflib.unified_diff(lines(fresh), lines(warm), "fresh", "warm", n=1))
    assert not unlike, unlike
    assert warm.steps == fresh.steps
    return warm


def script(runner: Runner, text: str, name: str = "script.py") -> str:
    """A file of this test's own: a changed script is not read again by a warm interpreter."""
    path: Path = runner.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)
