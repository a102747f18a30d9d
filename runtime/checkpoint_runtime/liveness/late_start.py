"""A program that starts only after a while, and with no thread of ours having to see to it.

To start Python takes a hundred times the CPU that a beat does: a job that is over before the first
beat is due need not pay for that. But who starts it later must not depend on the GIL either. So a
shell, which takes a sixth of that, reads from a socket that nobody writes to until the time is
over, and becomes the program then; it does so at once if we are gone.
"""

from __future__ import annotations

import _socket  # without the enumerations of socket, which take longer to make than all of this
import os
import struct
from contextlib import ExitStack
from typing import Final

SOCKET: Final = 5
"""The descriptor that the shell reads from."""
_SHELL: Final = "/bin/sh"
_SHELLS: Final = frozenset({"dash", "bash"})
"""Those that are known to take a time-out for the end of what they read. Busybox waits on."""
_SCRIPT: Final = 'read nothing <&5; exec "$@"'


def can_start_late() -> bool:
    """Whether there is a shell here that can do it."""
    return os.path.basename(os.path.realpath(_SHELL)) in _SHELLS


def late(arguments: list[str]) -> list[str]:
    """What is to be started instead of a program, so that this starts late."""
    return [_SHELL, "-c", _SCRIPT, "sh", *arguments]


def silence(time_s: float, theirs: ExitStack, ours: ExitStack) -> int:
    """A socket on which nothing comes and a read ends after a time.

    :param theirs: closes it; ``ours`` closes its other end.
    :raises OSError: there are no more descriptors.
    """
    silent, end = _socket.socketpair()
    theirs.callback(silent.close)
    ours.callback(end.close)
    timeval = struct.pack("ll", int(time_s), int(time_s % 1 * 1_000_000))
    silent.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVTIMEO, timeval)
    return silent.fileno()
