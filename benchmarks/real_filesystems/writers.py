"""The writers that are tried: what programs do to keep something, in few operations.

Each write has bytes of its own, none of them zero, so that every piece that is found can be told
from every other and from what a file system fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.real_filesystems.name_scripts import NAME_SCRIPTS, linked_when_written
from benchmarks.real_filesystems.provoke import Kind, Plan
from benchmarks.real_filesystems.script import BLOCK, OLD, Script
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.tree.image import Image


@dataclass(frozen=True, slots=True)
class Writer:
    name: str
    start: Image
    operations: tuple[Operation, ...]
    quick: bool = False
    """Tried also when there are seconds only."""
    aimed: tuple[Plan, ...] = ()
    """How it shows at once what it is there for."""


def rename_to_new() -> Script:
    """Write a temporary file and rename it; nothing is synced."""
    script = Script()
    script.create("state.tmp")
    script.append("state.tmp", b"a" * (2 * BLOCK))
    script.append("state.tmp", b"b" * 1000)
    script.rename("state.tmp", "state")
    script.create("after")
    return script


def rename_over() -> Script:
    """The same onto a file that is there."""
    script = Script(state=OLD)
    script.create("state.tmp")
    script.append("state.tmp", b"a" * (2 * BLOCK))
    script.append("state.tmp", b"b" * 1000)
    script.rename("state.tmp", "state")
    script.create("after")
    return script


def rename_synced() -> Script:
    """As it should be: sync the file, rename, sync the directory; twice."""
    script = Script()
    for letter in (b"a", b"b"):
        script.create("state.tmp")
        script.append("state.tmp", letter * (BLOCK + 700))
        script.fsync("state.tmp")
        script.rename("state.tmp", "state")
        script.fsync("")
    return script


def rename_half_synced() -> Script:
    """The file is synced before the rename, the directory is not."""
    script = Script(state=OLD)
    for letter in (b"a", b"b", b"c"):
        script.create("state.tmp")
        script.append("state.tmp", letter * (BLOCK + 700))
        script.fdatasync("state.tmp")
        script.rename("state.tmp", "state")
    return script


def append_unsynced() -> Script:
    script = Script(log=b"h" * 100)
    for letter in (b"a", b"b", b"c", b"d"):
        script.append("log", letter * 2500)
    return script


def append_synced() -> Script:
    script = Script()
    script.create("log")
    script.fsync("log")
    script.fsync("")
    for letter in (b"a", b"b", b"c"):
        script.append("log", letter * 2500)
        script.fdatasync("log")
    return script


def append_through() -> Script:
    """A log that is written through O_DSYNC."""
    script = Script(log=b"h" * 100)
    for letter in (b"a", b"b", b"c"):
        script.write("log", piece_start(letter), letter * 2500, durable=True)
    return script


def piece_start(letter: bytes) -> int:
    """Where the piece of that letter begins, behind 100 bytes and those before it."""
    return 100 + 2500 * (letter[0] - ord("a"))


def directories() -> Script:
    """Directories with files; one file is synced, which says something of what is above it."""
    script = Script()
    script.mkdir("run")
    script.create("run/first")
    script.append("run/first", b"a" * 5000)
    script.mkdir("run/deep")
    script.create("run/deep/second")
    script.append("run/deep/second", b"b" * 300)
    script.fsync("run/deep/second")
    script.create("run/third")
    script.append("run/third", b"c" * BLOCK)
    script.rename("run", "done")
    return script


def overwrite_in_place() -> Script:
    script = Script(state=OLD)
    script.write("state", 0, b"a" * (2 * BLOCK))
    script.write("state", BLOCK, b"b" * BLOCK)
    script.fdatasync("state")
    script.write("state", 0, b"c" * BLOCK)
    script.write("state", BLOCK, b"d" * (BLOCK + 100))
    return script


def truncate_and_rewrite() -> Script:
    """What open(path, "w") does, once without and once with a sync."""
    script = Script(state=OLD)
    script.truncate("state", 0)
    script.append("state", b"a" * (BLOCK + 200))
    script.truncate("state", 0)
    script.append("state", b"b" * (BLOCK + 900))
    script.fsync("state")
    script.truncate("state", 1000)
    script.append("state", b"c" * 500)
    return script


def rotate_links() -> Script:
    """Keep the last one under another name: link, replace, unlink."""
    script = Script(state=OLD, state_1=b"p" * 3000)
    script.unlink("state.1")
    script.link("state", "state.1")
    script.create("state.tmp")
    script.append("state.tmp", b"a" * (BLOCK + 700))
    script.fdatasync("state.tmp")
    script.rename("state.tmp", "state")
    script.unlink("state.1")
    script.fsync("")
    return script


def marker_after_data() -> Script:
    """Shards, each with a marker behind it; only the markers are synced."""
    script = Script()
    for number, letter in enumerate((b"a", b"b")):
        script.create(f"shard{number}")
        script.append(f"shard{number}", letter * (BLOCK + 300))
        script.create(f"done{number}")
        script.append(f"done{number}", b"%d\n" % number)
        script.fsync(f"done{number}")
    return script


def grown_by_truncate() -> Script:
    """Files whose size alone says something: grown with nothing written behind."""
    script = Script(count=b"", start=b"s" * 50)
    script.truncate("count", 100)
    script.truncate("start", 300)
    script.fsync("start")
    script.truncate("count", 200)
    script.truncate("start", BLOCK + 700)
    script.create("after")
    script.fdatasync("count")
    script.truncate("count", 2 * BLOCK + 300)
    script.create("new")
    script.truncate("new", 1000)
    return script


def grown_then_filled() -> Script:
    """The size is set first, and the bytes are written below it; once the other way round."""
    script = Script(old=b"o" * 600)
    script.create("state.tmp")
    script.truncate("state.tmp", BLOCK + 700)
    script.write("state.tmp", 0, b"a" * 1000)
    script.write("state.tmp", BLOCK, b"b" * 500)
    script.rename("state.tmp", "state")
    script.write("old", 0, b"c" * 300)
    script.truncate("old", 900)
    script.append("old", b"d" * 100)
    script.truncate("old", BLOCK + 200)
    return script


_SCRIPTS: Final[tuple[Callable[[], Script], ...]] = (
    rename_to_new,
    rename_over,
    rename_synced,
    rename_half_synced,
    append_unsynced,
    append_synced,
    append_through,
    directories,
    overwrite_in_place,
    truncate_and_rewrite,
    rotate_links,
    marker_after_data,
    grown_by_truncate,
    grown_then_filled,
    *NAME_SCRIPTS,
)
_AIMED: Final = {linked_when_written: Plan(Kind.BOTH, 6, keep_open=True)}
"""Between the last write and the link."""
_QUICK: Final = frozenset({rename_to_new, rename_over, rename_synced})


def small_writers() -> Iterator[Writer]:
    for make in _SCRIPTS:
        script = make()
        yield Writer(
            name=make.__name__.replace("_", "-"),
            start=script.start,
            operations=script.operations,
            quick=make in _QUICK,
            aimed=(_AIMED[make],) if make in _AIMED else (),
        )
