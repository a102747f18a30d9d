"""Who still writes in a directory: a job that is looked at should be dead."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_checkpoint.record.family import names


def writers(directory: Path) -> list[str]:
    """Number and command line of each process that has a file in there open for writing.

    Of those that this user may look at.
    """
    below = f"{directory}/"
    found = [
        int(process)
        for process in os.listdir("/proc")
        if process.isdigit() and int(process) != os.getpid() and _writes(process, below)
    ]
    return names(found)


def _writes(process: str, below: str) -> bool:
    try:
        for number in os.listdir(f"/proc/{process}/fd"):
            if os.readlink(f"/proc/{process}/fd/{number}").startswith(below):
                told = Path(f"/proc/{process}/fdinfo/{number}").read_text().split()
                if int(told[told.index("flags:") + 1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    return True
    except OSError:
        return False  # it has ended, or is another user's
    return False
