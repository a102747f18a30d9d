"""A workspace without a state log: has nothing been run in it, or has the log been lost?

The log is made first of all, and its name and first line are durable before anything else is
written: no crash leaves a handoff or a side file without them. Where they stand there alone,
somebody took the log away, and to begin anew would remove values of days of work.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Final

from checkpoint_runtime.errors import DamagedStateError

LOG_NAME: Final = "state.log"
HANDOFF_NAME: Final = "handoff.json"
VALUES_NAME: Final = "values"
OWN_SIDE_FILE: Final = re.compile(
    r"line-[1-9][0-9]{0,18}-([1-9][0-9]{0,18})-[1-9][0-9]{0,18}\.[a-z]{1,16}"
)
"""The group is the token of the run that made it."""


def require_fresh(workspace: Path) -> None:
    """Called where there is no log, or nothing whole in it.

    :raises DamagedStateError: something of ours stands in the workspace.
    """
    found = [
        name
        for name, stands in (
            (f"{VALUES_NAME}/", _has_side_files(workspace / VALUES_NAME)),
            (HANDOFF_NAME, _is_ours(workspace / HANDOFF_NAME)),
        )
        if stands
    ]
    if found:
        raise DamagedStateError(
            workspace / LOG_NAME,
            0,
            f"it is missing or empty, while the workspace holds {' and '.join(found)} of a run. "
            "Bring it back; to start over, move those away too, or take another workspace. "
            "Nothing was run, and nothing has been changed.",
        )


def _has_side_files(folder: Path) -> bool:
    try:
        return any(OWN_SIDE_FILE.fullmatch(name) for name in os.listdir(folder))
    except OSError:
        return False  # none, or none that we could have written


def _is_ours(path: Path) -> bool:
    try:
        head = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("state") == LOG_NAME and "page" in head
