"""Gives processes of its own chosen numbers; run by its path, with the numbers as arguments.

Standard library only. Prints a line for each: ``NUMBER ok``, or ``NUMBER`` and an errno. Its
children wait as long as it lives, and it lives until its standard input ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
from typing import Final

_CLONE3: Final = 435
_PR_SET_PDEATHSIG: Final = 1
_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def born(number: int) -> int:
    """0: there is a child of this number now; else an errno. Does not return in the child."""
    wanted = (ctypes.c_int * 1)(number)
    # struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, its size, tls,
    # set_tid, its size, cgroup
    arguments = struct.pack(
        "=11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0
    )
    process = _libc.syscall(
        ctypes.c_long(_CLONE3), ctypes.c_char_p(arguments), ctypes.c_size_t(len(arguments))
    )
    if process == 0:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        while True:
            signal.pause()
    return 0 if process > 0 else ctypes.get_errno()


def main(numbers: list[int]) -> None:
    children = []
    for number in numbers:
        error = born(number)
        print(number, error or "ok", flush=True)  # noqa: T201 - that is its answer
        if not error:
            children.append(number)
    os.read(0, 1)
    for number in children:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
