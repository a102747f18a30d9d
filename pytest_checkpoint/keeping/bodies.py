"""The bytes of objects that kept recordings tell of, kept beside them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pytest_checkpoint.record import journal
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.operations import Stored
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import digests_of

BODIES: Final = "bodies"
_LONGEST_NAME: Final = 200


def keep_bodies(folder: Path, recordings: Iterable[Path], store: Bodies) -> None:
    """``folder``: what is kept of the subject; ``recordings``: in it, those that are kept."""
    kept = Bodies(folder / BODIES)
    for one in recordings:
        recording = journal.load(one)
        log = recording.start_objects + b"".join(
            effect.data
            for operation in recording.operations
            for effect in operation.effects
            if isinstance(effect, Stored)
        )
        store.copy_to(kept, digests_of(log))


def copy_kept_bodies(folder: Path, client: SlotClient) -> None:
    """Into the slot, for a replay of what is kept."""
    kept = Bodies(folder / BODIES)
    kept.copy_to(client.bodies, kept.digests())


def name_of_body(key: str) -> str:
    """A file name of its own for every key: what no name can hold is escaped."""
    name = f"body-{quote(key, safe='', errors='surrogateescape')}"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{sha256(key.encode(errors='surrogateescape')).hexdigest()[:16]}"
