"""Planted fault: it is looked whether the staging is past its bound, and not whether the next file
fits in.
"""

from __future__ import annotations

from tiny_staged_uploads import BOUND, Uploads


def not_past_it(job: Uploads) -> bool:
    return bool(job.reserved < BOUND)


if __name__ == "__main__":
    Uploads.main(has_room=not_past_it)
