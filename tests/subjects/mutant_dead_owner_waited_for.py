"""One result, prepared under a lock name and renamed: lock and new content are one thing, as in
git.

Planted fault: the lock is waited for, without end, also when its owner is dead. (There are no
bytes to tear and just one state that hangs: a hang costs its deadline.)
"""

from __future__ import annotations

import os
import sys
import time


def run() -> None:
    if os.path.lexists("result"):
        return
    while True:
        try:
            os.symlink("42", "result.lock")
        except FileExistsError:
            time.sleep(0.05)
        else:
            break
    os.rename("result.lock", "result")


def check() -> None:
    if not os.path.lexists("result"):
        sys.exit("no result")
    print(os.readlink("result"))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
