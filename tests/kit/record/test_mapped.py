"""Stores through shared mappings: found at the next recorded call, never torn."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.calls import data, sizes
from pytest_checkpoint.record.operations import Effect, MapShared, Origin, Sync, Write
from tests.kit.record.recorders import recorder_of

if TYPE_CHECKING:
    from pytest_checkpoint.record.calls.table import Handler
    from pytest_checkpoint.record.injector import Intent
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


def test_stores_while_a_call_is_carried_out(tmp_path: Path) -> None:
    """Whoever stores does not wait for it, wherever the call itself changes the file."""
    path = tmp_path / "a"
    path.write_bytes(b"start" + bytes((2 << 20) + 95))
    seen: list[Effect] = []
    recorder = recorder_of(tmp_path, lambda step, effects: seen.extend(effects))
    node = recorder.tree.node_at(b"a")
    assert node is not None
    caller = Caller(os.getpid())
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        recorder.begin_mapping(caller, "mmap", node, None)
        buffer = ctypes.create_string_buffer(b"call", 4)
        calls: list[tuple[Handler, tuple[int, ...]]] = [
            (data.pwrite64, (ctypes.addressof(buffer), 4, (1 << 20) - 2)),
            (data.pwrite64, (ctypes.addressof(buffer), 4, 3 << 20)),
            (sizes.ftruncate, ((3 << 20) + 2,)),
            (sizes.ftruncate, (2 << 20,)),
            (sizes.ftruncate, (3 << 20,)),
            (sizes.fallocate, (0, (3 << 20) - 50, 100)),
            (sizes.fallocate, (1 | 2, (1 << 20) - 1, (1 << 20) + 2)),
            (sizes.fallocate, (16, (3 << 20) - 1, 200)),
        ]
        for number, (handler, arguments) in enumerate(calls):
            recorder.troubles = (_Storing(memory, number),)
            handler(recorder, caller, (file.fileno(), *arguments))
            recorder.catch_up(caller)
        content = bytearray(path.read_bytes())
    changes = [
        (effect.offset, bytes(effect.data))
        for effect in seen
        if isinstance(effect, Write) and effect.origin is Origin.MAPPED
    ]
    assert changes == [(100 + number, bytes([1 + number])) for number in range(len(calls))]
    assert content[:5] == b"start"
    recorder.mapped.close()


class _Storing:
    """Stores one byte right before a call is carried out."""

    def __init__(self, memory: mmap.mmap, number: int) -> None:
        self._memory, self._number = memory, number

    def before(self, intent: Intent) -> int:
        self._memory[100 + self._number] = 1 + self._number
        return intent.length

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        """Nothing depends on it."""
