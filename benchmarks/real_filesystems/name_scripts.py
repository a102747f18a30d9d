"""Writers that change names, and then sync something else: what does that say of the names?

A journal makes sure of the transaction with the last change of what is synced, and so of all that
came before that change; if it is on disk already, the sync does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from benchmarks.real_filesystems.script import BLOCK, OLD, Script

OVERWRITING_ROUNDS: Final = 4


def sync_of_clean_file() -> Script:
    """Names change, and files that had not changed are synced."""
    script = Script(clean=b"c" * 100, state=OLD)
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
    script = Script(state=OLD)
    script.create("log")
    script.append("log", b"a" * 300)
    script.rename("state", "kept")
    script.fsync("log")
    script.create("after")
    return script


def sync_of_changed_file() -> Script:
    """A name changes, then the file that is synced: in each way in which a file may change."""
    script = Script(log=b"h" * 100, state=OLD)
    script.rename("state", "kept")
    script.append("log", b"a" * 300)
    script.fsync("log")
    script.create("one")
    script.chmod("log", 0o640)
    script.fsync("log")
    script.create("two")
    script.link("log", "log.1")
    script.fsync("log")
    script.create("three")
    script.rename("log.1", "log.2")
    script.fsync("log")
    script.create("four")
    script.unlink("log.2")
    script.fsync("log")
    script.create("five")
    script.truncate("log", 200)
    script.fsync("log")
    return script


def data_sync_of_changed_file() -> Script:
    """The same with fdatasync, to which only the size matters."""
    script = Script(log=b"h" * 100, state=OLD)
    script.rename("state", "kept")
    script.append("log", b"a" * 300)
    script.fdatasync("log")
    script.create("one")
    script.truncate("log", 200)
    script.fdatasync("log")
    script.create("two")
    script.chmod("log", 0o640)
    script.fdatasync("log")
    script.link("log", "log.1")
    script.fdatasync("log")
    script.rename("log.1", "log.2")
    script.fdatasync("log")
    script.write("log", 0, b"b" * 50)
    script.fdatasync("log")
    return script


def sync_of_replaced_file() -> Script:
    """Where a rename replaces a file, that one changes too."""
    script = Script(state=OLD, other=b"p" * 300)
    script.link("state", "state.1")
    script.fsync("")
    script.create("state.tmp")
    script.append("state.tmp", b"a" * 700)
    script.rename("state.tmp", "state")
    script.fsync("state.1")
    script.create("after")
    script.rename("other", "kept")
    script.fsync("state.1")
    return script


def sync_of_directories() -> Script:
    """New directories, moved ones and those in which nothing has changed."""
    script = Script(state=OLD)
    script.mkdir("one")
    script.fsync("one")
    script.rename("state", "kept")
    script.fsync("one")
    script.create("one/file")
    script.fdatasync("one")
    script.create("new")
    script.rename("one", "two")
    script.fsync("two")
    script.rename("kept", "two/kept")
    script.create("later")
    script.fsync("two")
    return script


def overwrite_within_a_tick() -> Script:
    """Bytes are overwritten at once before and after a commit: the file's times are the same, so
    its inode does not change the second time, and its sync says nothing of the rename between."""
    script = Script(clean=b"c" * 100, state=OLD, other=b"p" * 300)
    for number in range(OVERWRITING_ROUNDS):
        script.write("clean", 0, b"%c" % (ord("d") + number) * 50)
        script.chmod("other", 0o600 + number % 2)
        script.fsync("other")
        names = ("state", "kept") if number % 2 == 0 else ("kept", "state")
        script.rename(*names)
        script.write("clean", 0, b"%c" % (ord("q") + number) * 50)
        script.fsync("clean")
    return script


def linked_when_written() -> Script:
    """Files without a name are written, linked, and synced only then."""
    script = Script()
    script.create_unnamed("#1")
    script.append("#1", b"a" * (BLOCK + 700))
    script.link("#1", "state")
    script.fsync("#1")
    script.create_unnamed("#2")
    script.append("#2", b"b" * (BLOCK + 700))
    script.link("#2", "next")
    script.fdatasync("#2")
    script.append("#2", b"c" * 100)
    script.fdatasync("#2")
    return script


NAME_SCRIPTS: Final[tuple[Callable[[], Script], ...]] = (
    sync_of_clean_file,
    sync_before_rename,
    sync_of_changed_file,
    data_sync_of_changed_file,
    sync_of_replaced_file,
    sync_of_directories,
    overwrite_within_a_tick,
    linked_when_written,
)
