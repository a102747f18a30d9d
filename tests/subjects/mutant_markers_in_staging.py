"""Planted fault: what is done is marked in the staging, and goes with it."""

from __future__ import annotations

from tiny_staging import Copier


def but_markers(job: Copier) -> None:
    Copier.sweep(job, "done")


if __name__ == "__main__":
    Copier.main(markers="staging/done", sweep=but_markers)
