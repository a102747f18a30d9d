"""A disk image as the one file of a FUSE file system, with its log and its handle on time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.real_filesystems import fuse_server
from benchmarks.real_filesystems.device_log import Entry, read_log
from benchmarks.real_filesystems.kernel import MS_NODEV, MS_NOSUID, mount, unmount
from pytest_checkpoint.errors import HarnessError

DEVICE: Final = Path("/dev/fuse")
NAME: Final = "disk"
"""Of the file, in the folder that it is given."""
_OPTIONS: Final = "fd={},rootmode=100600,user_id=0,group_id=0,allow_other"
_ANSWER_S: Final = 30.0
_END_S: Final = 10.0


class Position(NamedTuple):
    logged: int
    """Entries of the log so far."""
    held: int
    """Writes that wait."""


class LoggingDisk:
    """The commands that its server knows; see fuse_server.py for what they do."""

    def __init__(self, path: Path, control: socket.socket, image: int, log: int) -> None:
        self.path: Final = path
        """The file to put a loop device on."""
        self.image: Final = image
        """A memory file: what is on the disk now."""
        self._control: Final = control
        self._log: Final = log

    def position(self) -> int:
        return self._ask(fuse_server.POSITION).logged

    def settle(self) -> Position:
        """Wait until nothing has arrived for some milliseconds."""
        return self._ask(fuse_server.SETTLE)

    def hold(self) -> None:
        self._ask(fuse_server.HOLD)

    def pass_new(self) -> None:
        self._ask(fuse_server.PASS)

    def release(self) -> None:
        self._ask(fuse_server.RELEASE)

    def entries(self) -> list[Entry]:
        return read_log(self._log)

    def _ask(self, command: bytes) -> Position:
        try:
            self._control.send(command)
            answer = self._control.recv(fuse_server.ANSWER.size)
        except OSError as error:
            raise HarnessError(f"the FUSE server does not answer: {error}") from error
        if not answer:
            raise HarnessError("the FUSE server has ended")
        return Position(*fuse_server.ANSWER.unpack(answer))


@contextmanager
def logging_disk(folder: Path, image: int) -> Iterator[LoggingDisk]:
    """Serve the memory file ``image`` as a disk below ``folder``, which exists and is ours."""
    path = folder / NAME
    path.touch()
    log = os.memfd_create("device-log", os.MFD_CLOEXEC)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(_ANSWER_S)
    try:
        fuse = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        try:
            mount("disk", path, "fuse", MS_NODEV | MS_NOSUID, _OPTIONS.format(fuse))
            server = _start(fuse, theirs, image, log)
        finally:
            os.close(fuse)
            theirs.close()
        try:
            yield LoggingDisk(path, ours, image, log)
        finally:
            unmount(path, detach=True)
            ours.close()
            _end(server)
    finally:
        ours.close()
        os.close(log)


def _start(fuse: int, control: socket.socket, image: int, log: int) -> subprocess.Popen[bytes]:
    numbers = (fuse, control.fileno(), image, log)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", fuse_server.__file__, *map(str, numbers)],
        pass_fds=numbers,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is ours: the disk outlives what is mounted on it
    )


def _end(server: subprocess.Popen[bytes]) -> None:
    """It ends by itself when its file system is gone or its socket is closed."""
    try:
        server.wait(_END_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
