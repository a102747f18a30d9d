"""The writers that are tried: what programs do to keep something, in few operations.

Each write has bytes of its own, none of them zero, so that every piece that is found can be told
from every other and from what a file system fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.real_filesystems.script import Script
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.tree.image import Image

BLOCK: Final = 4096
_OLD: Final = b"o" * (2 * BLOCK + 100)


@dataclass(frozen=True, slots=True)
class Writer:
    name: str
    start: Image
    operations: tuple[Operation, ...]
    quick: bool = False
    """Tried also when there are seconds only."""
    beyond: frozenset[Model] = frozenset()
    """Models that are known not to hold for it: what is outside of them is shown, and no fault."""


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
    script = Script(state=_OLD)
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
    script = Script(state=_OLD)
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
    script = Script(state=_OLD)
    script.write("state", 0, b"a" * (2 * BLOCK))
    script.write("state", BLOCK, b"b" * BLOCK)
    script.fdatasync("state")
    script.write("state", 0, b"c" * BLOCK)
    script.write("state", BLOCK, b"d" * (BLOCK + 100))
    return script


def truncate_and_rewrite() -> Script:
    """What open(path, "w") does, once without and once with a sync."""
    script = Script(state=_OLD)
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
    script = Script(state=_OLD, state_1=b"p" * 3000)
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


def sync_of_clean_file() -> Script:
    """Names change, and files that had not changed are synced."""
    script = Script(clean=b"c" * 100, state=_OLD)
    script.write("clean", 0, b"e" * 50)
    script.fsync("clean")
    script.rename("state", "kept")
    script.fsync("clean")
    script.create("new")
    script.fdatasync("clean")
    script.write("clean", 0, b"d" * 50)
    script.fdatasync("clean")
    script.fsync("clean")
    return script


def sync_before_rename() -> Script:
    """A file is written, another is renamed, and the first is synced only then."""
    script = Script(state=_OLD)
    script.create("log")
    script.append("log", b"a" * 300)
    script.rename("state", "kept")
    script.fsync("log")
    script.create("after")
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
    sync_of_clean_file,
    sync_before_rename,
)
_SYNCS_OF_UNCHANGED: Final = frozenset({sync_of_clean_file, sync_before_rename})
"""``ext4-ordered`` says that fsync of a file persists all earlier names. A real journal only makes
sure of the transaction with the last change of that file: if it is over, fsync does nothing."""
_QUICK: Final = frozenset({rename_to_new, rename_over, rename_synced})


def small_writers() -> Iterator[Writer]:
    for make in _SCRIPTS:
        script = make()
        yield Writer(
            name=make.__name__.replace("_", "-"),
            start=script.start,
            operations=script.operations,
            quick=make in _QUICK,
            beyond=frozenset({Model.EXT4_ORDERED} if make in _SYNCS_OF_UNCHANGED else ()),
        )
