"""Mode, owner, times, extended attributes."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.operations import Create, SetAttribute, SetMode, SetOwner, SetTime
from pytest_checkpoint.tree.image import Directory, File

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner


def test_modes(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.umask(0o027)
put("a"); os.mkdir("d"); os.close(os.open("b", os.O_CREAT | os.O_WRONLY, 0o4777))
os.chmod("a", 0o4711)
fd = os.open("a", os.O_RDONLY)
os.fchmod(fd, 0o600)
os.symlink("a", "s"); os.chmod("s", 0o640)
os.chmod(f"/proc/self/fd/{fd}", 0o604)
os.chdir("d")
os.chmod(".", 0o711)
os.mkdir("e"); os.chdir("e")
os.chmod("..", 0o1777)
os.chmod(W, 0o755)
os.chmod(W + "/d/e/.", 0o700)
os.chmod(W + "/d/", 0o2770)
raises(errno.ENOENT, os.chmod, "x", 0o600)
os.umask(0); put("open"); os.mkdir("m", 0o777)
"""
    )
    effects = [e for o in outcome.operations for e in o.effects]
    assert [(e.name, oct(e.mode)) for e in effects if isinstance(e, Create)] == [
        (b"a", "0o640"),
        (b"d", "0o750"),
        (b"b", "0o4750"),
        (b"s", "0o777"),
        (b"e", "0o2750") if outcome.result.output else (b"e", "0o750"),
        (b"open", "0o666"),
        (b"m", "0o777"),
    ]
    assert sum(isinstance(e, SetMode) for e in effects) == 9


def test_umask_of_one_process_is_not_that_of_another(runner: Runner) -> None:
    runner.ok(
        """
import threading
os.umask(0o077)
script = 'umask 0; : > by-shell; mkdir by-shell-d; umask 026; : > second'
subprocess.run(["/bin/sh", "-c", script], check=True)
put("by-python")
modes = {name: os.stat(name).st_mode & 0o777 for name in os.listdir(".")}
assert modes == {"by-shell": 0o666, "by-shell-d": 0o777, "second": 0o640, "by-python": 0o600}
"""
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change owners")
def test_owner_and_user_of_a_process(runner: Runner) -> None:
    """chown clears set-user-ID; files of a process that changed its user belong to that user."""
    outcome = runner.ok(
        """
os.chmod(W, 0o777)
put("a"); os.chmod("a", 0o4755); os.chown("a", 1234, 4321)
os.symlink("a", "s"); os.lchown("s", 11, 12)
put("secret"); os.chmod("secret", 0o600)
put("b"); os.chmod("b", 0o6777)
put("c"); os.chmod("c", 0o666)
import sys
now = (ctypes.c_long * 4)(0, (1 << 30) - 1, 0, (1 << 30) - 1)
child = os.fork()
if not child:
    os.setgroups([4321]); os.setgid(100); os.setuid(1000)
    put("mine"); os.mkdir("dir"); os.rename("mine", "dir/mine")
    raises(errno.EACCES, put, "secret")
    raises(errno.EPERM, os.chmod, "b", 0o600)
    assert libc.utimensat(-100, b"c", now, 0) == 0  # who may write may do that
    raises(errno.EPERM, os.utime, "c", (1, 2))
    with open("b", "ab") as file:  # clears both bits: the writer is not privileged
        file.write(b"x")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert (os.stat("dir/mine").st_uid, os.stat("dir/mine").st_gid) == (1000, 100)
put("dir/of-root")
"""
    )
    effects = [e for o in outcome.operations for e in o.effects]
    assert [(e.user, e.group) for e in effects if isinstance(e, SetOwner)] == [
        (1234, 4321),
        (11, 12),
        (1000, 100),
        (1000, 100),
    ]
    assert ("openat", errno.EACCES) in outcome.errors()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_paths_from_a_descriptor_of_who_has_become_somebody_else(runner: Runner) -> None:
    runner.ok(
        """
os.mkdir("d"); os.chmod("d", 0o777)
d = os.open("d", os.O_RDONLY)
child = os.fork()
if not child:
    os.setgroups([]); os.setgid(100); os.setuid(1000)
    os.mkdir("e", dir_fd=d)
    os.close(os.open("e/f", os.O_CREAT | os.O_WRONLY, dir_fd=d))
    os.rename("e/f", "g", src_dir_fd=d, dst_dir_fd=d)
    os.chmod("g", 0o600, dir_fd=d)
    raises(errno.EBADF, os.mkdir, "x", dir_fd=99)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert sorted(os.listdir("d")) == ["e", "g"]
"""
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change owners")
def test_owners_with_large_numbers(runner: Runner) -> None:
    """As nobody has where numbers are 32 bits wide."""
    runner.ok(
        """
put("a"); os.chown("a", 0xFFFFFFFE, 0x80000000)
assert (os.stat("a").st_uid, os.stat("a").st_gid) == (0xFFFFFFFE, 0x80000000)
os.chown("a", -1, 5)
assert (os.stat("a").st_uid, os.stat("a").st_gid) == (0xFFFFFFFE, 5)
"""
    )


def test_times(runner: Runner) -> None:
    outcome = runner.ok(
        """
put("a"); os.symlink("a", "s"); os.mkdir("d")
os.utime("a", ns=(1, 2_000_000_003))
fd = os.open("a", os.O_RDWR)
os.utime(fd, (5, 6))
os.utime("s", (7, 8), follow_symlinks=False)
os.utime("d/.", (9, 10))
os.utime("a")
class Stamps(ctypes.Structure):
    _fields_ = [(n, ctypes.c_long) for n in ("as_", "an", "ms", "mn")]
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
assert libc.utimensat(-100, b"d", ctypes.byref(Stamps(1, OMIT, 11, 12)), 0) == 0
assert libc.utimensat(-100, b"d", ctypes.byref(Stamps(1, 0, 1, 1 << 31)), 0) == -1
assert ctypes.get_errno() == errno.EINVAL
before = os.stat("d").st_ctime_ns
assert libc.utimensat(-100, b"d", ctypes.byref(Stamps(0, OMIT, 0, OMIT)), 0) == 0
assert os.stat("d").st_ctime_ns == before
"""
    )
    times = [
        o.effects[0].mtime_ns
        for o in outcome.operations
        if o.call.startswith("uti") and isinstance(o.effects[0], SetTime)
    ]
    assert times[:4] == [2_000_000_003, 6 * 10**9, 8 * 10**9, 10 * 10**9]
    assert times[5] == 11 * 10**9 + 12


def test_the_times_that_the_recording_gives_are_those_on_disk(runner: Runner) -> None:
    """Not compared by the kit, but restored: programs look at them (make, rsync)."""
    outcome = runner.ok(
        """
put("a"); os.mkdir("d"); put("d/b"); os.rename("d/b", "c"); os.unlink("a"); os.link("c", "d/e")
fd = os.open("c", os.O_RDWR); os.ftruncate(fd, 2); os.pwrite(fd, b"x", 5)
"""
    )

    def times(image: object) -> list[int]:
        nodes = image.nodes.values()  # type: ignore[attr-defined]
        return sorted(n.mtime_ns for n in nodes if isinstance(n, File | Directory))

    # The events file and the root of the recorded directory have none to be compared.
    assert times(outcome.expected.image)[1:] == times(outcome.found)[1:]


def test_extended_attributes(runner: Runner) -> None:
    outcome = runner.python(
        """
put("a"); os.mkdir("d")
try:
    os.setxattr("a", "user.one", b"1")
except OSError as error:
    sys.exit(errno.errorcode[error.errno])
fd = os.open("a", os.O_RDONLY)
os.setxattr(fd, "user.two", b"\\x00\\xff")
os.setxattr("d", "user.d", b"", follow_symlinks=False)
os.removexattr("a", "user.one")
raises(errno.ENODATA, os.removexattr, "a", "user.one")
raises(errno.EEXIST, os.setxattr, "a", "user.two", b"", os.XATTR_CREATE)
put(OUT + "/o"); os.setxattr(OUT + "/o", "user.o", b"kept"); os.rename(OUT + "/o", "o")
"""
    )
    if outcome.result.error_output.strip() in ("ENOTSUP", "EOPNOTSUPP"):
        pytest.skip("the file system of the temporary directory has no user.* attributes")
    assert (outcome.result.exit_code, outcome.differences) == (0, [])
    effects = [e for o in outcome.operations for e in o.effects if isinstance(e, SetAttribute)]
    assert [(e.name, e.value) for e in effects] == [
        (b"user.one", b"1"),
        (b"user.two", b"\x00\xff"),
        (b"user.d", b""),
        (b"user.one", None),
        (b"user.o", b"kept"),
    ]
    found = sorted(n.attributes.items() for n in outcome.found.nodes.values() if n.attributes)
    wanted = [n.attributes.items() for n in outcome.expected.image.nodes.values() if n.attributes]
    assert sorted(map(sorted, wanted)) == sorted(map(sorted, found))
