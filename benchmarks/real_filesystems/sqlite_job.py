"""Three commits to a SQLite database, each acknowledged; run under the kit's recorder.

python sqlite_job.py WORKSPACE JOURNAL SYNCHRONOUS
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

COMMITS = 3


def main() -> None:
    workspace, journal, synchronous = sys.argv[1:]
    connection = sqlite3.connect(Path(workspace) / "results.sqlite", isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("CREATE TABLE results (step INTEGER PRIMARY KEY)")
    for step in range(1, COMMITS + 1):
        connection.execute("INSERT INTO results VALUES (?)", (step,))
        acknowledge(step)
    connection.close()


def acknowledge(step: int) -> None:
    descriptor = os.open(os.environ["CHECKPOINT_EVENTS"], os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b"done %d\n" % step)
    os.close(descriptor)


if __name__ == "__main__":
    main()
