"""Planted fault: when the staging is full, what was written is uploaded on the way out."""

from __future__ import annotations

import os
import sys

from tiny_s3 import Bucket
from tiny_staged_uploads import Uploads


def or_published(job: Uploads, name: str) -> None:
    try:
        job.stage(name)
    except OSError as error:
        os.rename(f"staging/{name}.part", f"staging/{name}")
        job.upload(Bucket("talks"), name)
        sys.exit(f"{name} cannot be staged: {error}")


if __name__ == "__main__":
    Uploads.main(staged=or_published)
