"""Operations in words: the texts, pinned."""

from __future__ import annotations

import errno
import random
import string
from typing import Final

import pytest

from pytest_checkpoint.record.describe import describe, normalized, signature
from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    MapShared,
    NodeKind,
    Operation,
    Origin,
    Rename,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Sync,
    Truncate,
    Unlink,
    Write,
)


def _operation(
    call: str, path: bytes, *effects: Effect, target: bytes = b"", error: int = 0
) -> Operation:
    return Operation(step=1, call=call, path=path, effects=effects, target_path=target, error=error)


def _create(kind: NodeKind, target: bytes = b"") -> Create:
    return Create(1, b"n", 2, kind, 0o600, target)


@pytest.mark.parametrize(
    ("operation", "described", "signed"),
    [
        (
            _operation("rename", b"w/s.json.tmp", Rename(1, b"a", 1, b"b"), target=b"w/s.json"),
            "rename s.json.tmp → s.json",
            "rename s.json.tmp → s.json",
        ),
        (
            _operation("renameat2", b"w/a1", Rename(1, b"a", 1, b"b", True), target=b"w/b2"),
            "rename a1 ↔ b2",
            "rename a# ↔ b#",
        ),
        (
            _operation("pwrite64", b"w/state.json", Write(2, 0, bytes(4096)), SetTime(2, 5)),
            "write state.json (4096 bytes at 0)",
            "write state.json",
        ),
        (
            _operation("write", b"w/x", SetMode(2, 0o600), Write(2, 9, b"1")),
            "write x (1 byte at 9)",
            "write x",
        ),
        (_operation("write", b"w/x", Write(2, 9, b"1")), "write x (1 byte at 9)", "write x"),
        (
            _operation("store", b"w/db-shm", Write(2, 4, b"12", Origin.MAPPED)),
            "store through mmap db-shm (2 bytes at 4)",
            "store through mmap db-shm",
        ),
        (
            _operation("openat", b"w/f", _create(NodeKind.FILE), SetTime(2, 1)),
            "create f",
            "create f",
        ),
        (_operation("mkdirat", b"w/d", _create(NodeKind.DIRECTORY)), "mkdir d", "mkdir d"),
        (
            _operation("symlinkat", b"w/latest", _create(NodeKind.SYMLINK, b"run-17")),
            "symlink latest → run-17",
            "symlink latest → run-#",
        ),
        (_operation("mknodat", b"w/p", _create(NodeKind.FIFO)), "create FIFO p", "create FIFO p"),
        (
            _operation("openat", b"w/d", CreateUnnamed(2, 0o600)),
            "create unnamed file in d",
            "create unnamed file in d",
        ),
        (_operation("openat", b"w/f", Truncate(2, 0)), "truncate f to 0", "truncate f"),
        (
            _operation("fallocate", b"w/f", Allocate(2, 0, 10, zero=False, keep_size=True)),
            "allocate f (10 bytes at 0)",
            "allocate f",
        ),
        (
            _operation("fallocate", b"w/f", Allocate(2, 5, 10, zero=True, keep_size=True)),
            "zero f (10 bytes at 5)",
            "zero f",
        ),
        (_operation("linkat", b"w/a", Link(1, b"b", 2), target=b"w/b"), "link a → b", "link a → b"),
        (_operation("unlinkat", b"w/a", Unlink(1, b"a")), "unlink a", "unlink a"),
        (
            _operation("rename", b"w/a", Unlink(1, b"a"), target=b"(outside)"),
            "rename a → (outside)",
            "rename a → (outside)",
        ),
        (
            _operation(
                "rename",
                b"/home/x",
                _create(NodeKind.FILE),
                Write(2, 0, b"x", Origin.ARRIVED),
                target=b"w/x",
            ),
            "rename /home/x → x",
            "rename /home/x → x",
        ),
        (_operation("fchmod", b"w/f", SetMode(2, 0o644)), "chmod f to 0644", "chmod f"),
        (_operation("fchownat", b"w/f", SetOwner(2, 5, 6)), "chown f to 5:6", "chown f"),
        (_operation("utimensat", b"w/f", SetTime(2, 5)), "set times of f", "set times of f"),
        (
            _operation("fsetxattr", b"w/f", SetAttribute(2, b"user.a", b"1")),
            "set user.a of f",
            "set user.a of f",
        ),
        (
            _operation("removexattr", b"w/f", SetAttribute(2, b"user.a", None)),
            "remove user.a of f",
            "remove user.a of f",
        ),
        (_operation("fdatasync", b"w/f", Sync(2, True)), "fdatasync f", "fdatasync f"),
        (_operation("sync", b"", Sync(None, False)), "sync", "sync"),
        (_operation("mmap", b"w/m", MapShared(2)), "map shared m", "map shared m"),
        (_operation("write", b"events", Event(b"done 3\n")), 'event "done 3"', 'event "done #"'),
        (
            _operation("write", b"events", Event(b"done a\nstart b\n")),
            'event "done a" "start b"',
            'event "done a" "start b"',
        ),
        (
            _operation("fsync", b"w/state.json", error=errno.EIO),
            "fsync state.json fails: EIO",
            "fsync state.json fails: EIO",
        ),
        (
            _operation("openat", b"w/dir7/lock", error=errno.EEXIST),
            "open dir7/lock fails: EEXIST",
            "open dir#/lock fails: EEXIST",
        ),
        (
            _operation("write", b"w/f", error=99999),
            "write f fails: error 99999",
            "write f fails: error 99999",
        ),
        (_operation("fsync", b"w", Sync(1, False)), "fsync .", "fsync ."),
        (_operation("unlink", b"t/x", Unlink(1, b"x")), "unlink $TMPDIR/x", "unlink $TMPDIR/x"),
        (_operation("fsync", b"t", Sync(1, False)), "fsync $TMPDIR", "fsync $TMPDIR"),
        (_operation("unlink", b"wide/x", Unlink(1, b"x")), "unlink wide/x", "unlink wide/x"),
        (
            _operation("unlink", b"w/\x1b[2J\n\xff", Unlink(1, b"x")),
            "unlink \\x1b[2J\\n\\xff",
            "unlink \\x#b[#J\\n\\xff",
        ),
    ],
)
def test_words(operation: Operation, described: str, signed: str) -> None:
    assert describe(operation) == described
    assert signature(operation) == signed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shard-00012-of-00100.safetensors", "shard-#-of-#.safetensors"),
        ("step0001", "step#"),
        ("ckpt0001", "ckpt#"),
        ("epoch_12.pt", "epoch_#.pt"),
        ("objects/0a1b2c3d4e5f/blob", "objects/#/blob"),
        ("deadbeef", "#"),
        ("123e4567-e89b-12d3-a456-426614174000.json", "#.json"),
        ("tmpab12cd_x", "tmp*"),
        ("tmpabcdefgh.json", "tmp*.json"),
        (".tmpXXXXXX", ".tmp*"),
        (".tmpa1B2c3", ".tmp*"),
        (".state.json.x8k2l1qz", ".state.json.*"),
        (".state.json.abcdefgh", ".state.json.*"),
        ("state.json.x8k_l1qz", "state.json.*"),
        ("part-a1b2c3.bin", "part-*.bin"),
        ("state.json", "state.json"),
        ("state.json.tmp", "state.json.tmp"),
        ("state.json.lock", "state.json.lock"),
        ("model.manifest", "model.manifest"),
        ("checkpoint", "checkpoint"),
        ("tmpdir", "tmpdir"),
        ("facade", "facade"),
        ("MyFile.txt", "MyFile.txt"),
        ("README", "README"),
        ("________", "________"),
        ("", ""),
    ],
)
def test_what_differs_from_round_to_round_is_left_out(name: str, expected: str) -> None:
    assert normalized(name) == expected
    assert normalized(f"rename {name} → a/{name}") == f"rename {expected} → a/{expected}"


@pytest.mark.parametrize(
    "pattern",
    ["tmp{}", "tmp{}.json", "$TMPDIR/tmp{}/x", ".state.json.{}", "create $TMPDIR/{}"],
)
def test_every_name_that_tempfile_makes_is_one(pattern: str) -> None:
    letters = string.ascii_lowercase + string.digits + "_"
    draw = random.Random(7)
    names = {pattern.format("".join(draw.choices(letters, k=8))) for _ in range(2000)}
    assert {normalized(name) for name in names} == {pattern.format("*")}


@pytest.mark.parametrize("pattern", ["state-{}", "{}.json", "a/{}", "state_{}", "$TMPDIR/job_{}/x"])
def test_nearly_every_random_name_without_tmp_is_one(pattern: str) -> None:
    letters = string.ascii_lowercase + string.digits + "_"
    draw = random.Random(7)
    names = [pattern.format("".join(draw.choices(letters, k=8))) for _ in range(2000)]
    alike = sum(normalized(name) == pattern.format("*") for name in names)
    assert alike >= 0.95 * len(names)


_GIVEN: Final = (
    "batch_0001_a batch_0001_b shard_00_a shard_00_b step_00000001 epoch_00000001 my_model "
    "my_state kv_cache kv_state llama_7b q_proj_0 k_proj_0 opt_fp16 opt_bf16 __init__ __main__ "
    "_private x_train1 x_valid1 s3_cache manifest progress metadata finished 16layers 2ndstage "
    "no_space hidden_states_kv_cache hidden_states_my_cache data_old data_new ckpt0001 "
    "step0001 group_0_1_2"
)


def test_names_that_people_give_stay_apart() -> None:
    names = _GIVEN.split()
    assert len({normalized(name) for name in names}) == len(names)
    assert not [name for name in names if "*" in normalized(name)]
