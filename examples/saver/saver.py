"""A state in a JSON file: the old one or the new one, whatever happens while it is saved."""

import json
import os
from pathlib import Path
from typing import Any

State = dict[str, Any]


def save(state: State, folder: Path) -> None:
    """Written aside, made durable, then given its name. Raises OSError, the old state untouched."""
    aside = folder / "state.json.tmp"
    with aside.open("w") as file:
        file.write(json.dumps(state))
        file.flush()
        os.fsync(file.fileno())
    aside.rename(folder / "state.json")
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)  # the rename itself
    finally:
        os.close(directory)


def load(folder: Path) -> State:
    """What was saved last."""
    state: State = json.loads((folder / "state.json").read_text())
    return state
