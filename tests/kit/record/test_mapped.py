"""Stores through shared mappings: found at the next recorded call, never torn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_checkpoint.record.operations import MapShared, Origin, Sync, Write

if TYPE_CHECKING:
    from tests.kit.record.conftest import Outcome, Runner


def stores(outcome: Outcome) -> list[tuple[int, bytes]]:
    return [
        (e.offset, bytes(e.data))
        for o in outcome.operations
        for e in o.effects
        if isinstance(e, Write) and e.origin is Origin.MAPPED
    ]


def test_stores_and_their_sync(runner: Runner) -> None:
    outcome = runner.ok(
        """
import mmap
file = open("a", "w+b"); file.truncate(20000)
memory = mmap.mmap(file.fileno(), 20000)
memory[10:14] = b"abcd"
memory[9000:9002] = b"ef"
os.mkdir("between")
memory[10:14] = b"abXd"
memory.flush()
os.pwrite(file.fileno(), b"call", 100)
memory[-1:] = b"!"
file.close()
os.ftruncate(os.open("a", os.O_RDWR), 10000)
memory.close()
"""
    )
    assert stores(outcome) == [(10, b"abcd"), (9000, b"ef"), (12, b"X"), (19999, b"!")]
    assert [o.call for o in outcome.operations if any(isinstance(e, Sync) for e in o.effects)] == [
        "msync"
    ]
    node = outcome.operations[0].effects[0].node  # type: ignore[union-attr]
    assert outcome.result.mapped == (node,)


def test_stores_of_a_child_and_after_the_last_call(runner: Runner) -> None:
    outcome = runner.ok(
        """
import mmap
file = open("a", "w+b"); file.truncate(12288)
memory = mmap.mmap(file.fileno(), 12288)
child = os.fork()
if not child:
    memory[0:5] = b"child"
    os._exit(0)
os.waitpid(child, 0)
memory[8192:8195] = b"end"
"""
    )
    assert stores(outcome) == [(0, b"child"), (8192, b"end")]


def test_a_large_file_mapped_unmapped_and_mapped_again(runner: Runner) -> None:
    outcome = runner.ok(
        """
import mmap
file = open("a", "w+b"); file.truncate(5 << 20)
for i in range(2):
    memory = mmap.mmap(file.fileno(), 5 << 20)
    os.mkdir(f"mapped{i}")
    memory[3 << 20] = 1 + i
    memory.close()
    os.mkdir(f"closed{i}")
    file.seek(3 << 20); file.write(b"call"); file.flush()
    os.pwrite(file.fileno(), b"x", (6 << 20) + i)
"""
    )
    assert stores(outcome) == [(3 << 20, b"\x01"), (3 << 20, b"\x02")]


def test_a_mapping_that_becomes_writable_later(runner: Runner) -> None:
    outcome = runner.ok(
        """
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
READ, WRITE, SHARED = 1, 2, 1
for name in ("kept", "closed"):
    put(name, bytes(8192))
    fd = os.open(name, os.O_RDWR)
    address = libc.mmap(None, 8192, READ, SHARED, fd, 0)
    if name == "closed":
        os.close(fd)
    assert libc.mprotect(address + 4096, 4096, READ | WRITE) == 0
    ctypes.memmove(address + 5000, b"late", 4)
    os.mkdir("after-" + name)
"""
    )
    assert stores(outcome) == [(5000, b"late")] * 2
    assert outcome.result.unreadable == ()


def test_private_anonymous_and_read_only_mappings_are_none_of_our_business(
    runner: Runner,
) -> None:
    outcome = runner.ok(
        """
import mmap
put("a", bytes(4096))
file = open("a", "r+b")
private = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY); private[0:1] = b"x"
shared = mmap.mmap(-1, 4096); shared[0:1] = b"y"
read = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
outside = open(OUT + "/o", "w+b"); outside.truncate(4096)
mmap.mmap(outside.fileno(), 4096)[0:1] = b"z"
os.mkdir("d")
"""
    )
    effects = [e for o in outcome.operations for e in o.effects]
    assert not any(isinstance(e, MapShared) for e in effects)
    assert outcome.result.mapped == ()
