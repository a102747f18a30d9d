"""Runs a command and asks all the while how full a file system is; prints both as JSON.

    python room_watcher.py PLACE PROGRESS COMMAND…

Exit code 0 whatever the command's is: that is in the JSON.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

_LOOKS_EVERY_S = 0.001


def main() -> int:
    place, progress, *command = sys.argv[1:]
    peak, looks = 0, 0
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as process,
    ):
        ended = os.pidfd_open(process.pid)
        while not select.select([ended], [], [], _LOOKS_EVERY_S)[0]:
            found = os.statvfs(place)
            peak = max(peak, (found.f_blocks - found.f_bfree) * found.f_frsize)
            looks += 1
        os.close(ended)
        code = process.wait()
        said.seek(0)
        text = said.read().decode(errors="replace")[-2000:]
    path = Path(progress)
    print(
        json.dumps(
            {
                "exit_code": code,
                "said": text,
                "peak_bytes": peak,
                "looks": looks,
                "progress": json.loads(path.read_text()) if path.exists() else {},
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
