"""Planted fault: a start that finds its staging empty does not believe the markers."""

from __future__ import annotations

import os

from tiny_staged_uploads import Uploads
from tiny_staging import touch


def unbelieving(job: Uploads) -> None:
    if not os.listdir("staging"):
        job.is_done = lambda name: False
    Uploads.begin(job)
    touch("staging/here")


if __name__ == "__main__":
    Uploads.main(begin=unbelieving)
