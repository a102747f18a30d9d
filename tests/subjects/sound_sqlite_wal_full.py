"""A row in sqlite, WAL mode, synchronous FULL. Sound, under a power loss too."""

from __future__ import annotations

import os
import sqlite3
import sys

STEPS = 1


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def connect() -> sqlite3.Connection:
    connection = sqlite3.connect("state.sqlite", isolation_level=None)
    connection.execute("pragma page_size=512")
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=full")
    return connection


def sync_folder() -> None:
    """Make the names of database and log durable: sqlite tries, and ignores an error."""
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def run() -> None:
    connection = connect()
    connection.execute("create table if not exists results (step integer primary key, value)")
    sync_folder()
    for step in range(STEPS):
        if connection.execute("select 1 from results where step=?", (step,)).fetchone():
            continue
        event(f"start {step}")
        connection.execute("insert into results values (?, ?)", (step, step * 7))
        event(f"done {step}")
    connection.close()


def check() -> None:
    if not os.path.exists("state.sqlite"):
        sys.exit("no database")
    connection = connect()
    try:
        if connection.execute("pragma integrity_check").fetchone() != ("ok",):
            sys.exit("the database is damaged")
        rows = connection.execute("select * from results order by step").fetchall()
    except sqlite3.DatabaseError as error:
        sys.exit(str(error))
    if len(rows) != STEPS:
        sys.exit(f"{len(rows)} rows instead of {STEPS}")
    print(rows)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
