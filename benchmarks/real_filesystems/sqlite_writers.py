"""SQLite as a writer: its operations are recorded once by the kit's recorder, on a tmpfs."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems import sqlite_job
from benchmarks.real_filesystems.writers import Writer
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.journal import load
from pytest_checkpoint.record.operations import Event
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.tree.image import Image
from pytest_checkpoint.tree.restore import restore

FULL: Final = "sqlite-full"
EXTRA: Final = "sqlite-extra"
WAL: Final = "sqlite-wal"
SETTINGS: Final = {
    FULL: ("delete", "full"),
    EXTRA: ("delete", "extra"),
    WAL: ("wal", "full"),
}
_DEADLINE_S: Final = 60.0


def record(name: str, folder: Path) -> Writer:
    """HarnessError if nothing can be recorded here; ``folder`` is ours, best on a tmpfs."""
    with tempfile.TemporaryDirectory(dir=folder) as place, SlotClient(Path(place) / "s") as slot:
        command = (sys.executable, "-I", sqlite_job.__file__, str(slot.workspace), *SETTINGS[name])
        request = Request(
            command=command,
            working_directory=place,
            environment=environment(slot, keep_tmpdir=False),
            deadline_s=_DEADLINE_S,
            recording=os.path.join(place, "recording"),
        )
        result = slot.run(request)
        if result.exit_code != 0:
            raise HarnessError(f"the SQLite job failed: {result.error_output or result.refusal}")
        recording = load(Path(place) / "recording")
    return Writer(name, recording.start, recording.operations)


def acknowledged(writer: Writer, step: int) -> int:
    """How many commits the job had told of after that many operations."""
    return sum(
        isinstance(effect, Event)
        for operation in writer.operations[:step]
        for effect in operation.effects
    )


def commits_in(image: Image, folder: Path) -> int:
    """How many SQLite finds after its recovery; -1 if it finds the database damaged."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        restore(image, Path(place))
        database = Path(place) / "w" / "results.sqlite"
        if not database.exists():
            return 0
        with closing(sqlite3.connect(database)) as connection:
            try:
                (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
                tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                if verdict != "ok":
                    return -1
                if not tables[0]:
                    return 0
                (count,) = connection.execute("SELECT count(*) FROM results").fetchone()
            except sqlite3.DatabaseError:
                return -1
    return int(count)
