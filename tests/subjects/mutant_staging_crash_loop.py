"""Planted fault: a write that finds the staging full is tried again at once, without end."""

from __future__ import annotations

import contextlib

from tiny_staging import Copier


def at_once(job: Copier, name: str) -> None:
    while True:
        with contextlib.suppress(OSError):
            job.stage(name)
            return


if __name__ == "__main__":
    Copier.main(staged=at_once)
