"""A loaded machine: busy loops of our own, for as long as a block lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_BUSY: Final = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""
"""It ends with whoever has started it, whatever becomes of that."""
PER_CORE: Final = 2


@contextmanager
def loaded() -> Iterator[int]:
    """Gives the number of loops: twice the cores that we may use."""
    count = PER_CORE * len(os.sched_getaffinity(0))
    loops: list[subprocess.Popen[bytes]] = []
    try:
        while len(loops) < count:
            loops.append(_busy())
        yield count
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def _busy() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-c", _BUSY],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
