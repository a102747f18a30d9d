"""Another wall clock, for the job alone: an hour behind that of whoever watches it.

By ``libfaketime``, a library that is loaded before the C library of every program of the job that
is linked dynamically. Its other clocks, and the times of files, are left alone. A program that is
linked statically, or that runs with another user's rights, keeps its clock: the launcher sees that.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Final

from pytest_checkpoint.record.companion.plan import Report
from pytest_checkpoint.subject import Command

_WITHIN: Final = Path("vendor", "libfaketime", "src", "libfaketime.so.1")
_BEHIND_S: Final = 3600
_SETTINGS: Final = (
    f"FAKETIME=-{_BEHIND_S}",
    "FAKETIME_DONT_FAKE_MONOTONIC=1",
    "DONT_FAKE_MONOTONIC=1",
    "NO_FAKE_STAT=1",
)
_TRIAL_S: Final = 10.0
_NOW: Final = "import time; print(time.time())"


class ClockNotSetError(Exception):
    """The job did not take the clock that it was given; a sentence."""


@lru_cache(maxsize=1)
def unavailable() -> str | None:
    """Why no clock can be set on this machine; None: it can."""
    program, library = shutil.which("env"), library_file()
    if program is None or library is None:
        return "libfaketime is not installed (the extra 'clock')"
    python = (sys.executable, "-I", "-S", "-c", _NOW)
    tried = subprocess.run(
        (program, f"LD_PRELOAD={library}", *_SETTINGS, *python),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TRIAL_S,
        check=False,
    )
    now = time.time()  # noqa: TID251 - it is this clock that is tried
    try:
        behind_s = now - float(tried.stdout)
    except ValueError:
        behind_s = 0.0
    if abs(behind_s - _BEHIND_S) < _TRIAL_S:
        return None
    return "libfaketime is installed and sets no clock on this machine"


def behind(command: Command) -> Command:
    """The command, an hour behind."""
    program, library = shutil.which("env"), library_file()
    assert program is not None
    assert library is not None
    return (program, f"LD_PRELOAD={library}", *_SETTINGS, *command)


def require_set(report: Report) -> None:
    """ClockNotSetError if a process of the job was seen without it, or none with it."""
    if report.not_loaded:
        raise ClockNotSetError(
            f"the process {report.not_loaded[0]!r} of the job does not load libfaketime (linked "
            "statically? with another user's rights, or an environment of its own?)"
        )
    if not report.loaded:
        raise ClockNotSetError("no process of the job was seen to load libfaketime")


def library_file() -> Path | None:
    """None: it is not installed."""
    found = importlib.util.find_spec("libfaketime")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / _WITHIN
    return path if path.is_file() else None
