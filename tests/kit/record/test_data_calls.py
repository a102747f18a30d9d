"""Calls that put bytes into files: what is recorded is what is on disk."""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.calls import data
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.operations import Allocate, Effect, Truncate, Write
from pytest_checkpoint.record.reply import Value
from tests.kit.record.recorders import recorder_of

if TYPE_CHECKING:
    from pytest_checkpoint.record.injector import Intent
    from tests.kit.record.conftest import Runner


def writes(outcome: object) -> list[tuple[int, bytes]]:
    return [
        (effect.offset, bytes(effect.data))
        for operation in outcome.operations  # type: ignore[attr-defined]
        for effect in operation.effects
        if isinstance(effect, Write)
    ]


def test_offsets_of_plain_positioned_and_vectored_writes(runner: Runner) -> None:
    outcome = runner.ok(
        """
fd = os.open("a", os.O_RDWR | os.O_CREAT)
assert os.write(fd, b"0123456789") == 10
assert os.pwrite(fd, b"ab", 3) == 2
assert os.lseek(fd, 0, os.SEEK_CUR) == 10
assert os.writev(fd, [b"x", b"", b"yz"]) == 3
assert os.pwritev(fd, [b"P", b"Q"], 20) == 2
assert os.write(fd, b"!") == 1
assert os.lseek(fd, 0, os.SEEK_CUR) == 14
"""
    )
    assert writes(outcome) == [
        (0, b"0123456789"),
        (3, b"ab"),
        (10, b"xyz"),
        (20, b"PQ"),
        (13, b"!"),
    ]


def test_a_vector_of_a_thousand_pieces(runner: Runner) -> None:
    outcome = runner.ok(
        """
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
assert os.writev(fd, [bytes([i % 256]) * 3 for i in range(1024)]) == 3072
raises(errno.EINVAL, os.writev, fd, [b"x"] * 1025)
"""
    )
    assert writes(outcome) == [(0, b"".join(bytes([i % 256]) * 3 for i in range(1024)))]


def test_appending_through_two_descriptors_of_one_description_and_two_of_their_own(
    runner: Runner,
) -> None:
    outcome = runner.ok(
        """
one = os.open("a", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
two = os.dup(one)
other = os.open("a", os.O_WRONLY | os.O_APPEND)
os.write(one, b"1"); os.write(two, b"2"); os.write(other, b"3"); os.write(one, b"4")
os.lseek(one, 0, os.SEEK_SET)
os.write(two, b"5")
os.pwrite(one, b"6", 0)  # Linux appends all the same
assert get("a") == b"123456"
plain = os.open("a", os.O_WRONLY)
copy = os.dup(plain)
os.write(plain, b"A"); os.write(copy, b"B")
assert get("a") == b"AB3456"
"""
    )
    assert [offset for offset, _ in writes(outcome)] == [0, 1, 2, 3, 4, 5, 0, 1]


def test_per_call_flags_append_and_make_durable(runner: Runner) -> None:
    outcome = runner.ok(
        """
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
os.write(fd, b"0123")
assert os.pwritev(fd, [b"end"], 0, os.RWF_APPEND) == 3
assert os.pwritev(fd, [b"D"], 1, os.RWF_DSYNC) == 1
assert os.pwritev(fd, [b"here"], -1) == 4
assert get("a") == b"0D23here"[:8], get("a")
with_sync = os.open("b", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
os.write(with_sync, b"x")
"""
    )
    found = [e for o in outcome.operations for e in o.effects if isinstance(e, Write)]
    assert [(w.offset, w.durable) for w in found] == [
        (0, False),
        (4, False),
        (1, True),
        (4, False),
        (0, True),
    ]


def test_sendfile_and_copy_file_range_move_the_offsets_that_they_should(runner: Runner) -> None:
    outcome = runner.ok(
        """
put("source", b"0123456789")
source = os.open("source", os.O_RDONLY)
target = os.open("target", os.O_RDWR | os.O_CREAT)
assert os.sendfile(target, source, None, 4) == 4
assert os.lseek(source, 0, os.SEEK_CUR) == 4
assert os.sendfile(target, source, 8, 100) == 2
assert os.lseek(source, 0, os.SEEK_CUR) == 4
assert os.copy_file_range(source, target, 3) == 3
assert os.lseek(source, 0, os.SEEK_CUR) == 7
assert os.copy_file_range(source, target, 2, offset_src=0, offset_dst=20) == 2
assert os.lseek(target, 0, os.SEEK_CUR) == 9
assert os.sendfile(target, source, 10, 100) == 0
appending = os.open("target", os.O_WRONLY | os.O_APPEND)
raises(errno.EINVAL, os.sendfile, appending, source, 0, 1)
raises(errno.EBADF, os.copy_file_range, source, appending, 1)
only_written = os.open("target", os.O_WRONLY)
raises(errno.EBADF, os.copy_file_range, only_written, target, 1)
"""
    )
    assert [data for _, data in writes(outcome)][1:] == [b"0123", b"89", b"456", b"01"]


def test_copies_within_a_file(runner: Runner) -> None:
    """What is asked for may be more than there is to copy."""
    runner.ok(
        """
fd = os.open("a", os.O_RDWR | os.O_CREAT)
os.write(fd, b"0123456789")
assert os.copy_file_range(fd, fd, 1 << 30, 0, 10) == 10
raises(errno.EINVAL, os.copy_file_range, fd, fd, 1 << 30, 0, 19)
assert os.copy_file_range(fd, fd, 5, 20, 0) == 0
raises(errno.EISDIR, os.copy_file_range, os.open(".", os.O_RDONLY), fd, 1)
raises(errno.EINVAL, os.sendfile, fd, os.open(".", os.O_RDONLY), 0, 1)
assert get("a") == b"0123456789" * 2
os.lseek(fd, 2, os.SEEK_SET)
assert os.sendfile(fd, fd, 0, 5) == 5  # onto what it reads, which only this call may do
assert get("a") == b"0101234" + b"7890123456789"
"""
    )


def test_copying_programs(runner: Runner) -> None:
    outcome = runner.shell(
        """
        head -c 100000 /dev/urandom > a
        cp a b; cat a > c; cat a b > d; cp --sparse=always a e; cat < a | cat > f
        cmp a b; cmp a c; cmp a e; cmp a f
        dd if=a of=g bs=1000 seek=2 conv=notrunc,fsync 2> /dev/null
        """
    )
    assert (outcome.result.exit_code, outcome.differences) == (0, [])


def test_splice_into_a_file_falls_back(runner: Runner) -> None:
    runner.ok(
        """
reader, writer = os.pipe()
os.write(writer, b"piped")
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
raises(errno.EINVAL, os.splice, reader, fd, 5)
assert os.read(reader, 5) == b"piped"
"""
    )


def test_sizes_and_holes(runner: Runner) -> None:
    outcome = runner.ok(
        """
KEEP, PUNCH, ZERO = 1, 2, 16
def fallocate(fd, mode, offset, length):
    arguments = ctypes.c_int64(offset), ctypes.c_int64(length)
    if libc.fallocate(fd, mode, *arguments):
        raise OSError(ctypes.get_errno(), "fallocate")
put("a", b"x" * 20000)
fd = os.open("a", os.O_RDWR)
fallocate(fd, PUNCH | KEEP, 4096, 5000)
fallocate(fd, 0, 15000, 10000)
fallocate(fd, KEEP, 50000, 10000)
assert os.fstat(fd).st_size == 25000
os.truncate("a", 12345)
os.ftruncate(fd, 12340)
os.truncate(f"/proc/self/fd/{fd}", 12000)
os.truncate("a", 14000)
raises(errno.EINVAL, os.ftruncate, os.open("a", os.O_RDONLY), 1)
raises(errno.EINVAL, fallocate, fd, 0, 0, 0)
raises(errno.EOPNOTSUPP, fallocate, fd, 8, 0, 4096)
raises(errno.ENOENT, os.truncate, "missing", 1)
"""
    )
    effects = [e for o in outcome.operations for e in o.effects]
    assert [e.size for e in effects if isinstance(e, Truncate)] == [12345, 12340, 12000, 14000]
    assert [(e.zero, e.keep_size) for e in effects if isinstance(e, Allocate)] == [
        (True, True),
        (False, False),
        (False, True),
    ]


def test_who_watches_a_file_that_is_cut_by_its_path(runner: Runner) -> None:
    """It is neither opened nor closed."""
    runner.ok(
        """
import struct
ALL, MODIFY = 0xFFF, 2
put("a")
watch = libc.inotify_init1(os.O_NONBLOCK)
assert libc.inotify_add_watch(watch, b"a", ALL) >= 0
os.truncate("a", 3)
assert [mask for _, mask, _, _ in struct.iter_unpack("iIII", os.read(watch, 4096))] == [MODIFY]
"""
    )


def test_zeroed_ranges(runner: Runner) -> None:
    outcome = runner.python(
        """
put("a", b"x" * 20000)
fd = os.open("a", os.O_RDWR)
if libc.fallocate(fd, 16, ctypes.c_int64(4096), ctypes.c_int64(100000)):
    sys.exit(errno.errorcode[ctypes.get_errno()])
"""
    )
    if outcome.result.error_output.strip() == "EOPNOTSUPP":
        pytest.skip("the file system of the temporary directory cannot zero ranges")
    assert (outcome.result.exit_code, outcome.differences) == (0, [])


def test_direct_writes(runner: Runner) -> None:
    outcome = runner.python(
        """
import mmap
try:
    fd = os.open("a", os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
except OSError as error:
    sys.exit(errno.errorcode[error.errno])
memory = mmap.mmap(-1, 8192)
memory.write(b"d" * 8192)
assert os.write(fd, memory) == 8192
raises(errno.EINVAL, os.write, fd, b"crooked")
"""
    )
    if outcome.result.error_output.strip() == "EINVAL":
        pytest.skip("the file system of the temporary directory has no O_DIRECT")
    assert (outcome.result.exit_code, outcome.differences) == (0, [])
    assert writes(outcome) == [(0, b"d" * 8192)]


def test_a_direct_write_that_fails_at_its_end(runner: Runner) -> None:
    """What does not fill a block is refused when the blocks before may have been written."""
    outcome = runner.python(
        """
import mmap
put("a", b"x" * 4096)
try:
    fd = os.open("a", os.O_WRONLY | os.O_DIRECT)
except OSError as error:
    sys.exit(errno.errorcode[error.errno])
memory = mmap.mmap(-1, 8192)
memory.write(b"d" * 8192)
raises(errno.EINVAL, os.write, fd, memoryview(memory)[:4099])
"""
    )
    if outcome.result.error_output.strip() == "EINVAL":
        pytest.skip("the file system of the temporary directory has no O_DIRECT")
    assert (outcome.result.exit_code, outcome.differences) == (0, [])
    assert outcome.errors() == [("write", errno.EINVAL)]


def test_a_large_write(runner: Runner) -> None:
    outcome = runner.ok(
        """
data = os.urandom(1 << 20) * 64
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
assert os.write(fd, data) == 64 << 20
"""
    )
    assert outcome.result.workspace_bytes == 64 << 20


def test_pointers_that_lead_nowhere(runner: Runner) -> None:
    """All of it missing: EFAULT. The second page missing: what the first one holds is written."""
    outcome = runner.ok(
        """
import mmap
fd = os.open("a", os.O_RDWR | os.O_CREAT)
libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
assert libc.write(fd, 1, 5) == -1 and ctypes.get_errno() == errno.EFAULT
memory = mmap.mmap(-1, 3 * 4096)
memory.write(b"m" * 3 * 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
assert libc.munmap(address + 2 * 4096, 4096) == 0
assert libc.write(fd, address + 100, 3 * 4096 - 100) == 2 * 4096 - 100
assert get("a") == b"m" * (2 * 4096 - 100)
libc.open.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
assert libc.open(1, os.O_CREAT | os.O_WRONLY, 0o600) == -1
assert ctypes.get_errno() == errno.EFAULT
os._exit(0)  # the mapping is broken: no tidying up
"""
    )
    assert writes(outcome) == [(0, b"m" * (2 * 4096 - 100))]


def test_descriptors_are_told_apart_after_they_were_closed_and_used_again(
    runner: Runner,
) -> None:
    outcome = runner.ok(
        """
put(OUT + "/o", b"")
for i in range(20):
    path = (W, T, OUT)[i % 3] + "/file"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, b"%d," % i)
    os.close(fd)
reader, writer = os.pipe()
os.write(writer, b"not a file")
"""
    )
    assert [o.path for o in outcome.operations if o.write] == [b"w/file", b"t/file"] * 6 + [
        b"w/file",
        b"t/file",
    ]
    assert (runner.outside / "file").read_bytes() == b"2,5,8,11,14,17,"


def test_files_that_lost_their_name_are_written_still(runner: Runner) -> None:
    outcome = runner.ok(
        """
fd = os.open("a", os.O_RDWR | os.O_CREAT)
os.write(fd, b"before")
os.unlink("a")
os.write(fd, b"after")
put("a", b"another")
os.write(fd, b"still")
os.fsync(fd)
"""
    )
    nodes = [o.write.node for o in outcome.operations if o.write]
    assert nodes[0] == nodes[1] == nodes[3] != nodes[2]


def test_descriptors_not_open_for_writing(runner: Runner) -> None:
    outcome = runner.ok(
        """
put("a")
raises(errno.EBADF, os.write, os.open("a", os.O_RDONLY), b"x")
raises(errno.EBADF, os.write, os.open("a", os.O_PATH), b"x")
raises(errno.EBADF, os.write, 99, b"x")
raises(errno.EINVAL, os.pwrite, os.open("a", os.O_WRONLY), b"x", -1)
assert os.write(os.open("a", os.O_WRONLY), b"") == 0
"""
    )
    assert outcome.errors() == []


def test_descriptors_that_were_never_opened(runner: Runner) -> None:
    """Those of O_PATH: calls that want an open file fail, calls on what they lead to do not."""
    outcome = runner.ok(
        """
put("a"); os.chmod("a", 0o644)
a, here = os.open("a", os.O_PATH), os.open(".", os.O_PATH)
for descriptor in (a, here):
    raises(errno.EBADF, os.fsync, descriptor)
    raises(errno.EBADF, os.fdatasync, descriptor)
    raises(errno.EBADF, os.fchmod, descriptor, 0o700)
    raises(errno.EBADF, os.fchown, descriptor, -1, -1)
    raises(errno.EBADF, os.utime, descriptor, (1, 2))
    raises(errno.EBADF, os.setxattr, descriptor, "user.a", b"")
    raises(errno.EBADF, os.removexattr, descriptor, "user.a")
raises(errno.EBADF, os.copy_file_range, a, os.open("b", os.O_RDWR | os.O_CREAT), 1)
assert libc.syncfs(here) == -1 and ctypes.get_errno() == errno.EBADF
EMPTY_PATH = 0x1000
assert libc.fchownat(a, b"", -1, -1, EMPTY_PATH) == 0
assert libc.utimensat(a, b"", None, EMPTY_PATH) == 0
assert os.stat("a").st_mode & 0o777 == 0o644
"""
    )
    assert outcome.calls[-2:] == ["fchownat", "utimensat"]
    assert "fsync" not in outcome.calls


def test_flags_that_no_kernel_knows(runner: Runner) -> None:
    runner.ok(
        """
fd = os.open("a", os.O_RDWR | os.O_CREAT)
raises(errno.EOPNOTSUPP, os.pwritev, fd, [b"x"], 0, -1 << 31)
raises(errno.EINVAL, os.setxattr, fd, "user.a", b"", -1 << 31)
"""
    )


def test_file_size_limit_cuts_and_then_refuses(runner: Runner) -> None:
    outcome = runner.ok(
        """
import resource, signal
signals = []
signal.signal(signal.SIGXFSZ, lambda *_: signals.append(1))
put("big", b"x" * 3000)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
assert os.write(fd, b"y" * 600) == 600
assert os.write(fd, b"y" * 600) == 400
raises(errno.EFBIG, os.write, fd, b"y")
raises(errno.EFBIG, os.ftruncate, fd, 1001)
raises(errno.EFBIG, os.posix_fallocate, fd, 0, 2000)
for _ in range(3):  # a moment for Python to call the handler
    pass
assert len(signals) == 3
os.ftruncate(fd, 10)
raises(errno.EFBIG, os.pwrite, os.open("big", os.O_WRONLY), b"z", 2000)
"""
    )
    assert [call for call, error in outcome.errors() if error == errno.EFBIG] == [
        "write",
        "ftruncate",
        "fallocate",
        "pwrite64",
    ]


def test_file_size_limits_differ_from_process_to_process(runner: Runner) -> None:
    """Set for itself, by the parent, inherited, and taken back."""
    outcome = runner.ok(
        """
import resource
def child(limit):
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    go = os.pipe()
    process = os.fork()
    if not process:
        os.read(go[0], 1)
        raises(errno.EFBIG, put, "limited", b"x" * 100)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        put("free", b"x" * 100)
        os._exit(0)
    if not limit:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (99, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    put("parent", b"x" * 100)
    os.write(go[1], b".")
    assert os.waitpid(process, 0)[1] == 0
put("first", b"x" * 100)
libc.signal(25, 1)  # SIGXFSZ is ignored
child(99)
child(0)
"""
    )
    assert len([error for _, error in outcome.errors() if error == errno.EFBIG]) == 2


def test_a_file_size_limit_that_was_there_before(module_runner: Runner) -> None:
    """The kit may be under it itself."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with SlotClient(module_runner.folder / "limited") as client:
            command = ("/bin/sh", "-c", "head -c 2000000 /dev/zero > $CHECKPOINT_WORKSPACE/a")
            request = dataclasses.replace(
                module_runner.request(command),
                environment=environment(client, keep_tmpdir=False),
                recording=None,
            )
            client.run(request)
            assert (client.workspace / "a").stat().st_size == 1 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_file_size_limit_ends_a_program_that_does_not_expect_it(runner: Runner) -> None:
    outcome = runner.shell("ulimit -f 1; exec dd if=/dev/zero of=a bs=3000 count=2 2> /dev/null")
    assert outcome.result.signal == 25  # SIGXFSZ
    assert outcome.differences == []


@pytest.mark.parametrize("moved_to", [3, 40, 90, 200])
def test_an_offset_that_somebody_else_moves_meanwhile(tmp_path: Path, moved_to: int) -> None:
    """Who shares it and reads, or seeks, does not wait for the write."""
    path = tmp_path / "a"
    path.write_bytes(bytes(range(100)))
    content = bytearray(path.read_bytes())
    seen: list[Effect] = []
    recorder = recorder_of(tmp_path, lambda step, effects: seen.extend(effects))
    with open(path, "r+b", buffering=0) as file:
        recorder.troubles = (_Seeking(file.fileno(), moved_to),)
        file.seek(30)
        buffer = ctypes.create_string_buffer(b"call", 4)
        arguments = (file.fileno(), ctypes.addressof(buffer), 4)
        assert data.write(recorder, Caller(os.getpid()), arguments) == Value(4)
        assert file.tell() == moved_to + 4
    for effect in seen:
        assert isinstance(effect, Write)
        content.extend(bytes(max(0, effect.offset - len(content))))
        content[effect.offset : effect.offset + len(effect.data)] = effect.data
    assert bytes(content) == path.read_bytes()
    assert content[moved_to : moved_to + 4] == b"call"


class _Seeking:
    """Moves an offset right before a call is carried out."""

    def __init__(self, descriptor: int, to: int) -> None:
        self._descriptor, self._to = descriptor, to

    def before(self, intent: Intent) -> int:
        os.lseek(self._descriptor, self._to, os.SEEK_SET)
        return intent.length

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        """Nothing depends on it."""
