"""Calls that make, move and remove names."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from pytest_checkpoint.record.operations import (
    Create,
    CreateUnnamed,
    Link,
    NodeKind,
    Origin,
    Rename,
    Unlink,
    Write,
)

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

_RENAMEAT2 = """
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
def rename2(old, new, flags):
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), "renameat2")
"""


def test_renames(runner: Runner) -> None:
    outcome = runner.ok(
        """
put("a", b"A"); put("b", b"B")
os.rename("a", "b")
os.mkdir("d"); put("d/x"); os.mkdir("d/empty"); os.mkdir("e")
os.rename("d", "e")
put("e/y")
os.rename("e/", "f/")
put("f/empty/z")
os.link("b", "same")
os.rename("b", "same")  # two names of one inode: nothing happens
assert os.path.exists("b")
raises(errno.ENOENT, os.rename, "missing", "x")
raises(errno.ENOTEMPTY, os.rename, "f/empty", "f")
raises(errno.EINVAL, os.rename, "f", "f/inner")
raises(errno.ENOTDIR, os.rename, "b/", "c")
"""
    )
    assert [o.target_path for o in outcome.operations if o.call == "rename" and not o.error] == [
        b"w/b",
        b"w/e",
        b"w/f",
        b"w/same",
    ]


def test_exchange_and_no_replace(runner: Runner) -> None:
    outcome = runner.ok(
        _RENAMEAT2
        + """
put("a", b"A"); put("b", b"B"); os.mkdir("d"); put("d/in", b"I")
rename2("a", "b", EXCHANGE)
rename2("a", "d", EXCHANGE)
assert get("a/in") == b"I"
put("a/more"); put("d", b"changed")
raises(errno.EEXIST, rename2, "b", "d", NOREPLACE)
rename2("b", "c", NOREPLACE)
raises(errno.EINVAL, rename2, "c", "e", WHITEOUT)
put(OUT + "/o", b"outside")
raises(errno.EXDEV, rename2, "c", OUT + "/o", EXCHANGE)
"""
    )
    moves = [e for o in outcome.operations for e in o.effects if isinstance(e, Rename)]
    assert [move.exchange for move in moves] == [True, True, False]
    assert (runner.outside / "o").read_bytes() == b"outside"


def test_what_comes_from_outside_is_read_and_what_leaves_is_gone(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.makedirs(OUT + "/tree/deep"); put(OUT + "/tree/deep/a", b"arrives"); put("over", b"old")
os.link(OUT + "/tree/deep/a", OUT + "/tree/hard"); os.symlink("deep/a", OUT + "/tree/soft")
os.mkfifo(OUT + "/tree/fifo"); os.chmod(OUT + "/tree", 0o751)
os.rename(OUT + "/tree", "tree")
with open("tree/hard", "ab") as file:
    file.write(b" and grows")
assert get("tree/deep/a") == b"arrives and grows"
put(OUT + "/single", b"S" * 100)
os.rename(OUT + "/single", "over")
os.rename("tree/deep", OUT + "/deep")
put(OUT + "/deep/a", b"changed outside")
os.rename(OUT + "/deep", "back")
os.rename("back/a", OUT + "/gone")
os.unlink(OUT + "/gone")
"""
    )
    arrived = [
        bytes(e.data)
        for o in outcome.operations
        for e in o.effects
        if isinstance(e, Write) and e.origin is Origin.ARRIVED
    ]
    # "back/a" still was the inode that "tree/hard" names: nothing of it was unknown.
    assert arrived == [b"arrives", b"S" * 100]
    assert all(o.write is None for o in outcome.operations if o.call == "rename")


def test_links_across_the_border(runner: Runner) -> None:
    outcome = runner.ok(
        """
put(OUT + "/o", b"outside")
os.link(OUT + "/o", "o")
put("w", b"inside")
os.link("w", OUT + "/w")
os.unlink("w")
os.link(OUT + "/w", "again")
with open("again", "ab") as file:
    file.write(b"!")
os.unlink(OUT + "/w"); os.unlink(OUT + "/o")
"""
    )
    created = [e for o in outcome.operations for e in o.effects if isinstance(e, Create)]
    assert [e.name for e in created] == [b"o", b"w", b"again"]


def test_hard_links(runner: Runner) -> None:
    outcome = runner.ok(
        """
put("a", b"1")
os.mkdir("d")
os.link("a", "d/b"); os.link("d/b", "c")
os.unlink("a")
with open("c", "ab") as file:
    file.write(b"2")
os.symlink("c", "s")
os.link("s", "s2", follow_symlinks=False)
os.link("s", "c2", src_dir_fd=os.open(".", os.O_PATH), follow_symlinks=True)
assert os.readlink("s2") == "c" and os.path.samefile("c2", "d/b") and os.stat("c2").st_nlink == 3
raises(errno.EEXIST, os.link, "c", "d/b")
raises(errno.EPERM, os.link, "d", "e")
"""
    )
    links = [e.name for o in outcome.operations for e in o.effects if isinstance(e, Link)]
    assert links == [b"b", b"c", b"s2", b"c2"]


def test_unnamed_files_get_a_name_later(runner: Runner) -> None:
    outcome = runner.ok(
        """
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o640)
os.write(fd, b"one")
os.link(f"/proc/self/fd/{fd}", "by-proc", src_dir_fd=fd, follow_symlinks=True)
os.write(fd, b" more")
other = os.open(T, os.O_TMPFILE | os.O_WRONLY)
os.write(other, b"two")
os.chmod(f"/proc/self/fd/{other}", 0o604)
assert libc.linkat(other, b"", -100, b"by-empty-path", 0x1000) == 0, ctypes.get_errno()
never = os.open(W, os.O_TMPFILE | os.O_RDWR)
os.write(never, b"seen by nobody")
assert os.read(os.open("by-proc", os.O_RDONLY), 10) == b"one more"
import fcntl
kept = os.open(W, os.O_TMPFILE | os.O_RDWR | os.O_NOFOLLOW)
assert fcntl.fcntl(kept, fcntl.F_GETFL) & os.O_NOFOLLOW
outside = os.open(OUT, os.O_TMPFILE | os.O_RDWR)
os.write(outside, b"from outside")
os.link(f"/proc/self/fd/{outside}", "came", src_dir_fd=fd, follow_symlinks=True)
os.write(outside, b"!")
"""
    )
    effects = [e for o in outcome.operations for e in o.effects]
    assert sum(isinstance(e, CreateUnnamed) for e in effects) == 4
    assert [e.name for e in effects if isinstance(e, Link)] == [b"by-proc", b"by-empty-path"]


def test_symbolic_links(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.symlink("target", "dangling")
put("dangling", b"made through the link")
assert get("target") == b"made through the link"
os.mkdir("real"); os.symlink("real", "dir"); os.symlink(W + "/dir/chain2", "chain1")
os.symlink("../file", "real/chain2")
put("chain1", b"far")
assert get("file") == b"far"
put("dir/inside")
os.rename("dir/inside", "dir/renamed")
os.unlink("dir/renamed")
os.symlink("loop", "loop")
raises(errno.ELOOP, open, "loop", "w")
raises(errno.EEXIST, os.open, "dangling", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
raises(errno.ELOOP, os.open, "dangling", os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY)
raises(errno.EEXIST, os.symlink, "x", "dir")
os.symlink(OUT + "/made", "out")
put("out", b"outside")
"""
    )
    made = [(e.name, e.kind) for o in outcome.operations for e in o.effects if type(e) is Create]
    assert (b"target", NodeKind.FILE) in made
    assert (b"file", NodeKind.FILE) in made
    assert (runner.outside / "made").read_bytes() == b"outside"
    assert outcome.result.created_outside == (str(runner.outside / "made"),)


def test_odd_names(runner: Runner) -> None:
    names = [b" ", b"tab\there", b"new\nline", b"\xff\xfe", "ü→".encode(), b"-rf", b"*", b"n" * 255]
    outcome = runner.ok(
        f"""
for name in {names!r}:
    put(name)
    os.rename(name, name[:200] + b".new")
    os.mkdir(name)
    put(name + b"/" + name)
raises(errno.ENAMETOOLONG, os.mkdir, b"n" * 256)
raises(errno.ENAMETOOLONG, os.mkdir, b"n/" * 2048)
"""
    )
    made = {e.name for o in outcome.operations for e in o.effects if isinstance(e, Create)}
    assert made == set(names)


def test_paths_relative_to_a_directory_that_moves(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.mkdir("a"); os.mkdir("a/b")
fd = os.open("a/b", os.O_RDONLY | os.O_DIRECTORY)
os.chdir("a/b")
os.rename(W + "/a", W + "/moved")
put("by-cwd")
os.close(os.open("by-descriptor", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
os.mkdir("made", dir_fd=fd)
os.rename("by-cwd", "renamed", src_dir_fd=fd, dst_dir_fd=fd)
os.unlink("by-descriptor", dir_fd=fd)
os.chdir("..")
put("b/../up")
os.rmdir("b/made")
raises(errno.ENOENT, put, "nothing/x")
raises(errno.ENOTDIR, put, "up/x")
raises(errno.EISDIR, os.open, "b", os.O_CREAT | os.O_WRONLY)
raises(errno.EISDIR, os.open, "new/", os.O_CREAT | os.O_WRONLY)
"""
    )
    assert {o.path for o in outcome.operations if not o.error} >= {
        b"w/moved/b/by-cwd",
        b"w/moved/up",
    }


def test_ways_to_spell_what_means_the_caller(runner: Runner) -> None:
    """By /proc/self, which is read as somebody else's by whoever else looks."""
    outcome = runner.ok(
        """
os.mkdir("d")
d = os.open("d", os.O_RDONLY)
for number, spelled in enumerate(("/proc/self", "//proc//self", "/./proc/./self", "/proc//self")):
    os.mkdir(f"{spelled}/cwd/{number}")
    put(f"{spelled}/fd/{d}/{number}")
    os.chmod(f"{spelled}/cwd/{number}", 0o700)
put("//dev//fd//%d//last" % d)
assert sorted(os.listdir("d")) == ["0", "1", "2", "3", "last"]
"""
    )
    assert outcome.calls.count("mkdir") == 5


def test_paths_longer_than_the_kernel_takes_at_once(runner: Runner) -> None:
    """Longer than PATH_MAX in all: made step by step. Capture cannot look at it, so it goes."""
    outcome = runner.ok(
        """
name = "n" * 200
for i in range(30):
    os.mkdir(name); os.chdir(name)
put("deep"); os.rename("deep", "deeper"); os.link("deeper", "hard"); os.unlink("hard")
assert os.listdir(".") == ["deeper"]
put(T + "/arrives"); os.rename(T + "/arrives", "deeper"); os.unlink("deeper")
for i in range(30):
    os.chdir(".."); os.rmdir(name)
"""
    )
    assert max(len(o.path) for o in outcome.operations) > 30 * 200


def test_removals(runner: Runner) -> None:
    outcome = runner.ok(
        """
os.mkdir("d"); put("d/f"); os.mkfifo("p")
raises(errno.ENOTEMPTY, os.rmdir, "d")
raises(errno.EISDIR, os.unlink, "d")
raises(errno.ENOTDIR, os.rmdir, "d/f")
raises(errno.ENOTDIR, os.unlink, "d/f/")
raises(errno.ENOENT, os.unlink, "x")
raises(errno.EINVAL, os.rmdir, "d/.")
os.unlink("d/f"); os.unlink("p"); os.rmdir("d/")
os.mkdir("d"); put("d/f")
"""
    )
    assert outcome.errors() == [
        ("rmdir", errno.ENOTEMPTY),
        ("unlink", errno.EISDIR),
        ("rmdir", errno.ENOTDIR),
        ("unlink", errno.ENOTDIR),
        ("unlink", errno.ENOENT),
    ]
    assert sum(isinstance(e, Unlink) for o in outcome.operations for e in o.effects) == 3


def test_the_workspace_itself_may_be_removed_and_made_again(runner: Runner) -> None:
    runner.ok(
        """
put("a")
os.chdir("/")
import shutil
shutil.rmtree(W)
os.mkdir(W, 0o755)
put(W + "/b")
"""
    )


def test_fifos_sockets_and_special_files(runner: Runner) -> None:
    outcome = runner.ok(
        """
import socket, stat, threading
os.umask(0o077)
os.mkfifo("pipe", 0o666)
reader = threading.Thread(target=lambda: print(get("pipe")))
reader.start()
put("pipe", b"through")  # blocks until the reader is there: the supervisor must not
reader.join()
server = socket.socket(socket.AF_UNIX)
server.bind("sock"); server.listen()
assert server.getsockname() == "sock"
client = socket.socket(socket.AF_UNIX)
client.connect("sock")
raises(errno.EADDRINUSE, socket.socket(socket.AF_UNIX).bind, "sock")
os.mkdir("far")
far = os.open("far", os.O_RDONLY)
socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{far}/near")
longest = "l" * 107
socket.socket(socket.AF_UNIX).bind(longest)
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0checkpoint-test-%d" % os.getpid())
mknodat, unused = 259 if os.uname().machine == "x86_64" else 33, ctypes.c_ulong(1 << 32)
assert libc.syscall(mknodat, -100, b"plain", 0o640 | stat.S_IFREG, unused) == 0
os.mkdir("d", 0o777)
"""
    )
    kinds = {e.name: e.kind for o in outcome.operations for e in o.effects if type(e) is Create}
    assert kinds == {
        b"pipe": NodeKind.FIFO,
        b"sock": NodeKind.SOCKET,
        b"far": NodeKind.DIRECTORY,
        b"near": NodeKind.SOCKET,
        b"l" * 107: NodeKind.SOCKET,
        b"plain": NodeKind.FILE,
        b"d": NodeKind.DIRECTORY,
    }
    assert outcome.result.output == "b'through'\n"
