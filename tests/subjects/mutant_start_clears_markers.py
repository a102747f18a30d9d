"""Planted fault: a start that finds its staging empty takes the machine for a new one, and begins
anew.
"""

from __future__ import annotations

import os
import shutil

from tiny_staging import Copier, touch


def anew(job: Copier) -> None:
    if not os.listdir("staging"):
        shutil.rmtree(job.markers, ignore_errors=True)
    Copier.begin(job)
    touch("staging/here")


if __name__ == "__main__":
    Copier.main(begin=anew)
