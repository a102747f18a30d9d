"""Results with a checksum, renamed and never synced, and nothing said of them: a result that the
power took is made again. Sound, since nothing was acknowledged.
"""

from __future__ import annotations

import os
import sys
import zlib

STEPS = 2


def result(number: int) -> bytes:
    text = f"{number * 7}".encode()
    return text + b" %08x" % zlib.crc32(text)


def whole(number: int) -> bool:
    try:
        with open(f"{number}.txt", "rb") as file:
            return file.read() == result(number)
    except FileNotFoundError:
        return False


def run() -> None:
    for number in range(STEPS):
        if whole(number):
            continue
        with open(f"{number}.tmp", "wb") as file:
            file.write(result(number))
        os.replace(f"{number}.tmp", f"{number}.txt")


def check() -> None:
    missing = [number for number in range(STEPS) if not whole(number)]
    if missing:
        sys.exit(f"missing or damaged: {missing}")
    print(STEPS)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
