"""The file systems that are tried: how each is made, mounted, and made to commit.

Small images with small journals, made once and copied per run. What ``mkfs`` needs to be told is
that the image may be that small.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.real_filesystems.kernel import MS_NODEV, MS_NOSUID, MS_RDONLY, mount
from pytest_checkpoint.states.power_loss.models import Model

BTRFS_CONTROL: Final = Path("/dev/btrfs-control")
_MIB: Final = 1 << 20
_BTRFS_IOC_FORGET_DEV: Final = 0x50009405
_BTRFS_IOC_START_SYNC: Final = 0x80089418
_BTRFS_IOC_WAIT_SYNC: Final = 0x40089416
_BTRFS_ARGUMENTS: Final = struct.Struct("=q4088s")


class MissingError(Exception):
    """Something that the machine lacks: a sentence."""


@dataclass(frozen=True, slots=True)
class FileSystem:
    name: str
    size_bytes: int
    make: tuple[str, ...]
    """The command, to which the path of the image is added."""
    package: str
    """Debian's, which brings that command."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    options: str = ""
    before_mount: Callable[[str], None] = lambda device: None
    commit: Callable[[int], None] = os.fsync
    """Given a file of its own whose mode was just changed: write out pending metadata, and no data,
    as the file system itself does every few seconds."""
    models: tuple[Model, ...] = (Model.LINUX, Model.POSIX)
    """Outside of these nothing may be found; the others are compared, for information."""

    def mount(self, device: Path, target: Path, *, read_only: bool) -> None:
        """Read-only mounts replay the journal all the same."""
        self.before_mount(str(device))
        flags = MS_NODEV | MS_NOSUID | (MS_RDONLY if read_only else 0)
        mount(str(device), target, self.name, flags, self.options)

    def make_image(self) -> int:
        """A memory file that holds an empty file system."""
        self.check()
        image = os.memfd_create(f"{self.name}-image", os.MFD_CLOEXEC)
        os.ftruncate(image, self.size_bytes)
        done = subprocess.run(
            [*self.make, f"/proc/self/fd/{image}"],
            env={**os.environ, **self.environment},
            pass_fds=(image,),
            capture_output=True,
            text=True,
            check=False,
            process_group=0,  # Ctrl-C is ours
        )
        if done.returncode:
            os.close(image)
            raise MissingError(f"{self.make[0]} failed: {done.stderr.strip()}")
        return image

    def check(self) -> None:
        """MissingError if this kernel or machine does not have it."""
        if shutil.which(self.make[0]) is None:
            raise MissingError(f"{self.make[0]} is not installed (apt-get install {self.package})")
        known = Path("/proc/filesystems").read_text(encoding="ascii").split()
        if self.name not in known:
            raise MissingError(f"this kernel has no {self.name}")


def _forget(device: str) -> None:
    """btrfs remembers devices by the identity that it read from them: here each has many."""
    control = os.open(BTRFS_CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        name = bytearray(_BTRFS_ARGUMENTS.pack(0, os.fsencode(device)))
        fcntl.ioctl(control, _BTRFS_IOC_FORGET_DEV, name)
    except OSError:
        pass  # it knows none of that name
    finally:
        os.close(control)


def _commit_btrfs(unrelated: int) -> None:
    """fsync would write a log of that one file only."""
    transaction = bytearray(8)
    fcntl.ioctl(unrelated, _BTRFS_IOC_START_SYNC, transaction)
    fcntl.ioctl(unrelated, _BTRFS_IOC_WAIT_SYNC, transaction)


EXT4: Final = FileSystem(
    name="ext4",
    size_bytes=16 * _MIB,
    make=(
        "mkfs.ext4", "-q", "-F", "-b", "4096", "-I", "256", "-J", "size=4", "-N", "256",
        "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
    ),
    package="e2fsprogs",
    models=tuple(Model),
)  # fmt: skip
XFS: Final = FileSystem(
    name="xfs",
    size_bytes=32 * _MIB,
    make=("mkfs.xfs", "-q", "-f", "-K"),
    package="xfsprogs",
    # With these set, mkfs makes what is smaller than its least.
    environment={"TEST_DIR": "1", "TEST_DEV": "1", "QA_CHECK_FS": "1"},
    options="nouuid",
    models=tuple(Model),
)
BTRFS: Final = FileSystem(
    name="btrfs",
    size_bytes=128 * _MIB,
    make=("mkfs.btrfs", "-q", "-f", "-K"),
    package="btrfs-progs",
    before_mount=_forget,
    commit=_commit_btrfs,
)
FILE_SYSTEMS: Final = {system.name: system for system in (EXT4, XFS, BTRFS)}
