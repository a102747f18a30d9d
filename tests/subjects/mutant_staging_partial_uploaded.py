"""Planted fault: the error of a full staging is swallowed, and what was cut short goes on."""

from __future__ import annotations

import contextlib
import os

from tiny_staging import Copier, touch


def whatever_fits(job: Copier, name: str) -> None:
    with contextlib.suppress(OSError):
        job.stage(name)
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"staging/{name}.part", f"staging/{name}")
    touch(f"staging/{name}")


if __name__ == "__main__":
    Copier.main(staged=whatever_fits)
