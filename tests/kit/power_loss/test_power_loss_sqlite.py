"""What SQLite promises of its modes, on recordings of the real one."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pytest_checkpoint.record import abilities
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.journal import Recording, load
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.states.power_loss.crashes import PowerLoss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import File

_WRITER = """
import os, sqlite3, sys
journal, synchronous, workspace = sys.argv[1:]
events = os.open(os.environ["CHECKPOINT_EVENTS"], os.O_WRONLY | os.O_APPEND)
base = sqlite3.connect(workspace + "/base", isolation_level=None)
base.execute(f"pragma journal_mode={journal}")
base.execute(f"pragma synchronous={synchronous}")
base.execute("create table t(number integer)")
directory = os.open(workspace, os.O_RDONLY)
os.fsync(directory)
os.write(events, b"ready\\n")
for number in range(1, 6):
    base.execute("insert into t values(?)", (number,))
    os.write(events, b"done %d\\n" % number)
os._exit(0)  # no checkpoint of the WAL, no clean end
"""


pytestmark = pytest.mark.skipif(
    abilities.missing() is not None, reason=f"cannot record here: {abilities.missing()}"
)


@contextmanager
def _memory() -> Iterator[Path]:
    """A folder in which SQLite's own syncs cost nothing."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def _record(tmp_path: Path, journal: str, synchronous: str) -> Recording:
    with SlotClient(tmp_path / "slot") as slot:
        result = slot.run(
            Request(
                command=(
                    sys.executable, "-c", _WRITER, journal, synchronous, str(slot.workspace),
                ),
                working_directory=str(tmp_path),
                environment=environment(slot, keep_tmpdir=False),
                deadline_s=60,
                recording=str(tmp_path / "recording"),
            )
        )  # fmt: skip
        assert result.exit_code == 0, result
        return load(tmp_path / "recording")


def _rows(state: State, folder: Path) -> list[int] | None:
    """What a program reads that opens the restored database; None if it is damaged."""
    for old in folder.iterdir():
        old.unlink()
    for path, _, node in walk(state.image):
        if isinstance(node, File) and path.startswith(b"w/"):
            (folder / path.decode().removeprefix("w/")).write_bytes(node.content.read())
    base = sqlite3.connect(folder / "base")
    try:
        found = base.execute("select number from t order by number").fetchall()
        return [number for (number,) in found]
    except sqlite3.DatabaseError:
        return None
    finally:
        base.close()


def _missing(recording: Recording, model: Model, folder: Path) -> Iterator[int | None]:
    """Per state with acknowledged commits: how many are missing; None if it cannot be read."""
    arguments = (recording.start, recording.start_events, recording.operations)
    lost = PowerLoss(*arguments, model, timeline=Timeline(*arguments))
    seen: set[bytes] = set()
    for step in range(lost.steps + 1):
        for loss in lost.losses(step, 40):
            if loss.key in seen:
                continue
            seen.add(loss.key)
            state = lost.state(step, loss)
            if b"ready" not in state.events:
                continue
            rows = _rows(state, folder)
            done = state.events.count(b"done")
            if rows is None or rows != list(range(1, len(rows) + 1)):
                yield None
            else:
                yield max(0, done - len(rows))


_MODES = {
    ("delete", "full"): {0, 1},
    ("delete", "extra"): {0},
    ("wal", "full"): {0},
}


@pytest.mark.parametrize("model", list(Model))
@pytest.mark.parametrize(("journal", "synchronous"), _MODES)
def test_what_sqlite_may_lose(journal: str, synchronous: str, model: Model, tmp_path: Path) -> None:
    recording = _record(tmp_path, journal, synchronous)
    with _memory() as folder:
        assert set(_missing(recording, model, folder)) == _MODES[journal, synchronous]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_sqlite_that_does_not_sync_loses_more(journal: str, tmp_path: Path) -> None:
    recording = _record(tmp_path, journal, "off")
    with _memory() as folder:
        assert set(_missing(recording, Model.LINUX, folder)) - {0, 1}
