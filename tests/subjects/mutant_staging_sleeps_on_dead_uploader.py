"""Planted fault: who waits for room is not told that the uploader has died."""

from __future__ import annotations

from tiny_staged_uploads import Uploads


def whatever_happens(job: Uploads) -> None:
    with job.turn:
        job.turn.wait_for(job.has_room)
        job.reserved += job.size


if __name__ == "__main__":
    Uploads.main(reserve=whatever_happens)
