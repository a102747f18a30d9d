"""Descriptors of the subject's threads, kept open from call to call.

A thread's number may be used again after its end, a descriptor of it (pidfd) never means another
thread. So what is remembered here cannot go wrong silently: a stale one fails and is renewed.
"""

from __future__ import annotations

import errno
import os
import signal
from typing import Final

from pytest_checkpoint.record import kernel

_MOST: Final = 256
_PIDFD_THREAD: Final = os.O_EXCL
"""Linux 6.9. Before, only whole processes can be opened, by the number of their first thread."""


class Handles:
    """Thread → its pidfd and the number of its process."""

    def __init__(self, child: int = 0) -> None:
        """``child``: a process that has that number until we wait for it; 0: none."""
        self._child = child if child and _is_child(child) else 0
        self._known: dict[int, tuple[int, int]] = {}

    def copy(self, thread: int, number: int) -> tuple[int, int]:
        """A descriptor of ours for the thread's descriptor ``number``, and the thread's process.

        OSError as the kernel's.
        """
        known = self._known.get(thread)
        if known is not None:
            try:
                return kernel.copy_descriptor(known[0], number), known[1]
            except OSError:
                self._drop(thread)  # another thread's by now, perhaps: ask again
        descriptor, process = self._open(thread)
        return kernel.copy_descriptor(descriptor, number), process

    def process(self, thread: int) -> int:
        """The process of the thread that lives now; its own number if it has ended just now."""
        known = self._known.get(thread)
        if known is not None:
            if thread == self._child:
                return known[1]
            try:
                signal.pidfd_send_signal(known[0], 0)
            except PermissionError:
                return known[1]  # it lives, and is not ours to signal
            except OSError:
                self._drop(thread)
            else:
                return known[1]
        try:
            return self._open(thread)[1]
        except OSError:
            return thread

    def waited_for(self, process: int) -> None:
        """A child of ours has been: its number is free."""
        if process == self._child:
            self._child = 0

    def close(self) -> None:
        for descriptor, _ in self._known.values():
            os.close(descriptor)
        self._known.clear()

    def _drop(self, thread: int) -> None:
        os.close(self._known.pop(thread)[0])

    def _open(self, thread: int) -> tuple[int, int]:
        if len(self._known) >= _MOST:
            self.close()
        process = _process_of(thread)
        try:
            descriptor = os.pidfd_open(thread, _PIDFD_THREAD)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            descriptor = os.pidfd_open(process)
        known = self._known[thread] = (descriptor, process)
        return known


def _is_child(process: int) -> bool:
    try:
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _process_of(thread: int) -> int:
    try:
        with open(f"/proc/{thread}/status", "rb", buffering=0) as file:
            status = file.read(1024)
    except ProcessLookupError as error:
        raise OSError(errno.ESRCH, os.strerror(errno.ESRCH)) from error
    return int(status.partition(b"\nTgid:")[2].split(None, 1)[0])
