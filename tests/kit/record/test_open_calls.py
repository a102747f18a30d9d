"""Opens that create or cut, by every road that leads to a file."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from pytest_checkpoint.record.operations import Create, Truncate

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner


def test_cutting_by_name_by_link_and_by_descriptor(runner: Runner) -> None:
    outcome = runner.ok(
        """
put("a", b"12345"); put("a", b"123")
os.symlink("a", "s"); put("s", b"12")
fd = os.open("a", os.O_RDWR)
other = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC)
os.write(other, b"proc")
third = os.open(f"/dev/fd/{fd}", os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
os.write(third, b"dev"); os.write(third, b"!")
assert get("a") == b"dev!"
os.link("a", OUT + "/a")
put(OUT + "/a", b"through the name outside")
os.unlink(OUT + "/a")
os.unlink("a")
os.close(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC))
"""
    )
    cuts = [e for o in outcome.operations for e in o.effects if isinstance(e, Truncate)]
    assert len(cuts) == 6


def test_standard_streams_that_are_files(runner: Runner) -> None:
    outcome = runner.shell(
        """
        exec > out 2> err
        echo one
        echo two > /dev/stdout
        echo three >> /dev/stdout
        echo oops > /dev/stderr
        echo four > /proc/self/fd/1
        sh -c 'echo five >&2'
        cat out > /dev/fd/2
        """
    )
    assert (outcome.result.exit_code, outcome.differences) == (0, [])
    assert outcome.result.output == ""


def test_standard_streams_that_are_ours(runner: Runner) -> None:
    outcome = runner.shell("echo out > /dev/stdout; echo err > /dev/stderr; cat < /dev/stdin")
    assert (outcome.result.output, outcome.result.error_output) == ("out\n", "err\n")
    assert outcome.operations == ()


def test_exclusive_creation_and_flags_of_the_new_descriptor(runner: Runner) -> None:
    outcome = runner.ok(
        """
import fcntl, tempfile
fd, path = tempfile.mkstemp()
with os.fdopen(fd, "w") as file:
    file.write("temporary")
os.replace(path, "final")
raises(errno.EEXIST, os.open, "final", os.O_CREAT | os.O_EXCL)
raises(errno.ENOENT, os.open, "x", os.O_TRUNC | os.O_WRONLY)
fd = os.open("flags", os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC)
assert fcntl.fcntl(fd, fcntl.F_GETFD) == fcntl.FD_CLOEXEC
wanted = os.O_APPEND | os.O_RDWR | os.O_NONBLOCK
assert fcntl.fcntl(fd, fcntl.F_GETFL) & ~0o100000 == wanted
libc.open.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_int)
inherited = libc.open(b"inherited", os.O_CREAT | os.O_WRONLY, 0o600)
assert fcntl.fcntl(inherited, fcntl.F_GETFD) == 0
assert libc.creat(b"created", 0o640) > inherited  # the lowest free number
free = os.open(os.devnull, os.O_RDONLY); os.close(free)
assert os.open("lowest", os.O_CREAT | os.O_WRONLY) == free
"""
    )
    moved = outcome.only("rename")
    assert moved.path.startswith(b"t/tmp")
    assert moved.target_path == b"w/final"


def test_paths_that_are_only_found(runner: Runner) -> None:
    """O_PATH opens nothing, whatever flags it is given with."""
    outcome = runner.ok(
        """
put("a")
for path in ("a", W + "/a"):
    for flags in (os.O_CREAT, os.O_TRUNC, os.O_CREAT | os.O_TRUNC, os.O_CREAT | os.O_EXCL):
        os.close(os.open(path, os.O_PATH | flags))
    raises(errno.ENOENT, os.open, path + "b", os.O_PATH | os.O_CREAT)
os.close(os.open(".", os.O_PATH | os.O_TMPFILE))
assert get("a") == b"some data"
"""
    )
    assert outcome.calls == ["openat", "write"]


def test_links_to_descriptors_are_links(runner: Runner) -> None:
    """Where they are not to be followed, they are not."""
    outcome = runner.ok(
        """
put("a"); put(OUT + "/outside")
for path in ("a", OUT + "/outside"):
    link = "/proc/self/fd/%d" % os.open(path, os.O_RDONLY)
    raises(errno.EEXIST, os.open, link, os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_RDWR)
    raises(errno.ELOOP, os.open, link, os.O_NOFOLLOW | os.O_TRUNC | os.O_RDWR)
    assert get(path) == b"some data"
os.link("a", OUT + "/other")
raises(errno.EEXIST, os.open, OUT + "/other", os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_RDWR)
"""
    )
    assert outcome.calls == ["openat", "write"]


def test_openat2(runner: Runner) -> None:
    outcome = runner.ok(
        """
class How(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("flags", "mode", "resolve")]
def openat2(path, flags, mode=0):
    how = How(flags, mode, 0)
    fd = libc.syscall(437, -100, path, ctypes.byref(how), ctypes.sizeof(how))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "openat2")
    return fd
os.write(openat2(b"a", os.O_CREAT | os.O_WRONLY, 0o640), b"x")
openat2(b"a", os.O_TRUNC | os.O_WRONLY)
openat2(b"a", os.O_RDONLY)
os.write(openat2(b".", os.O_TMPFILE | os.O_WRONLY, 0o600), b"y")
"""
    )
    assert outcome.calls == ["openat2", "write", "openat2", "openat2", "write"]


def test_locks_and_executables_are_free_as_soon_as_they_are_closed(runner: Runner) -> None:
    """The supervisor holds every file for a moment. Nobody may notice."""
    outcome = runner.ok(
        """
import fcntl
for i in range(100):
    one = os.open("lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(one)
for i in range(20):
    fd = os.open("script", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700)
    os.write(fd, b"#!/bin/sh\\nexit 7\\n")
    os.close(fd)
    assert subprocess.run(["./script"]).returncode == 7
"""
    )
    assert outcome.calls.count("openat") == 1 + 20


def test_a_mode_that_forbids_and_errors_that_are_the_callers(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.mkdir("d")
raises(errno.EISDIR, open, "d", "w")
raises(errno.ENOENT, open, "no/such", "w")
raises(errno.ENOENT, open, "", "w")
put("a")
raises(errno.ENOTDIR, open, "a/b", "w")
raises(errno.ENAMETOOLONG, open, "n" * 300, "w")
raises(errno.ENAMETOOLONG, open, W + "/" + "n" * 300, "w")
raises(errno.ENAMETOOLONG, open, "n/" * 3000, "w")
raises(errno.EBADF, os.open, "x", os.O_CREAT | os.O_WRONLY, dir_fd=99)
raises(errno.ENOTDIR, os.open, "x", os.O_CREAT | os.O_WRONLY, dir_fd=os.open("a", os.O_RDONLY))
"""
    )
    created = [e for o in outcome.operations for e in o.effects if isinstance(e, Create)]
    assert [e.name for e in created] == [b"d", b"a"]
    assert outcome.errors() == [("openat", errno.EISDIR)]
