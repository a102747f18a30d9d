"""Planted fault: who finds the staging full waits to be told of room, and nobody tells."""

from __future__ import annotations

import threading

from tiny_staging import Copier


def when_told(job: Copier, name: str) -> None:
    try:
        job.stage(name)
    except OSError:
        threading.Event().wait()


if __name__ == "__main__":
    Copier.main(staged=when_told)
