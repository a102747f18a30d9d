"""The files that workers beat in, as a reader finds them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from checkpoint_runtime.liveness.beat import (
    FOLDER_NAME,
    LONGEST_BYTES,
    Beat,
    beat_in,
    heartbeat_path,
)

_SUFFIX: Final = ".json"


def workers_in(workspace: Path) -> list[str]:
    """Who has beaten in a workspace, by name.

    :raises OSError: the folder is there and cannot be read.
    """
    try:
        names = os.listdir(workspace / FOLDER_NAME)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(
        name.removesuffix(_SUFFIX)
        for name in names
        if name.endswith(_SUFFIX) and not name.startswith(".")
    )


def read_beat(workspace: Path, worker: str) -> Beat | str:
    """The last beat of a worker; or what is wrong with its file, as the end of a sentence."""
    path = heartbeat_path(workspace, worker)
    try:
        with path.open("rb") as file:
            beat = beat_in(file.read(LONGEST_BYTES + 1))
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return f"{path} holds no heartbeat" if beat is None else beat


def remove_heartbeat(workspace: Path, worker: str) -> None:
    """Of a run that has ended: who beats no more leaves none behind. If it can be removed."""
    path = heartbeat_path(workspace, worker)
    try:
        if path.exists():
            os.unlink(path)
    except OSError:
        return  # a watcher takes it for what it is, the beat of another process
