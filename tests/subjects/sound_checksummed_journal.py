"""An append journal whose lines carry a checksum; a torn tail is cut off before anything is
appended. Sound.
"""

from __future__ import annotations

import os
import sys
import zlib

STEPS = 6


def event(line: str) -> None:
    """Append one event line, in one write."""
    with open(os.environ.get("CHECKPOINT_EVENTS", os.devnull), "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def line(entry: str) -> bytes:
    return f"{entry} {zlib.crc32(entry.encode()) & 0xFFFF:04x}\n".encode()


def read() -> tuple[list[str], int]:
    """The entries that are whole, and where they end."""
    entries: list[str] = []
    end = 0
    try:
        with open("journal", "rb") as file:
            for found in file:
                entry = found.decode().rpartition(" ")[0]
                if found != line(entry):
                    break
                entries.append(entry)
                end += len(found)
    except FileNotFoundError:
        pass
    return entries, end


def put(descriptor: int, data: bytes) -> None:
    """Write all of it: a call may take a part only."""
    while data:
        data = data[os.write(descriptor, data) :]


def run() -> None:
    entries, end = read()
    journal = os.open("journal", os.O_WRONLY | os.O_CREAT, 0o600)
    if os.fstat(journal).st_size > end:
        os.ftruncate(journal, end)
    os.lseek(journal, end, os.SEEK_SET)
    for number in range(len(entries), STEPS):
        event(f"start {number}")
        put(journal, line(str(number * number)))
        os.fsync(journal)
        event(f"done {number}")
    os.close(journal)


def check() -> None:
    entries, _ = read()
    if len(entries) != STEPS:
        sys.exit(f"{len(entries)} entries instead of {STEPS}")
    print(entries)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
