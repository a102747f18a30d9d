"""Wrong states, made up: a comparison that does not reject each of them would prove nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.real_filesystems.judge import Judge
from benchmarks.real_filesystems.script import BLOCK, OLD
from benchmarks.real_filesystems.writers import Writer
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.compare import key
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node

ALL = tuple(Model)
ORDERED = (Model.EXT4_ORDERED,)
ALL_BUT_POSIX = (Model.LINUX, Model.EXT4_ORDERED)


@dataclass(frozen=True, slots=True)
class Planted:
    """A tree that is not to be found after ``step`` of a writer."""

    text: str
    writer: str
    step: int
    image: Image
    models: tuple[Model, ...] = ALL
    """Which must reject it."""


def planted() -> Iterator[Planted]:
    """Steps are those of writers.py."""
    tree = _tree
    new = b"b" * (BLOCK + 700)
    yield Planted("nothing is left of what was synced", "rename-synced", 5, tree({}))
    yield Planted("synced data are missing", "rename-synced", 5, tree({b"state": b""}))
    yield Planted("synced data are zeros", "rename-synced", 5, tree({b"state": bytes(BLOCK + 700)}))
    yield Planted(
        "synced data lost their last block",
        "rename-synced", 5, tree({b"state": b"a" * BLOCK}),
    )  # fmt: skip
    yield Planted(
        "a name whose directory was synced is the old one",
        "rename-synced", 10, tree({b"state": b"a" * (BLOCK + 700), b"state.tmp": new}),
    )  # fmt: skip
    yield Planted(
        "a name that was renamed away is back",
        "rename-synced", 10, tree({b"state": new, b"state.tmp": new}),
    )  # fmt: skip
    yield Planted(
        "a name that never was", "rename-synced", 10, tree({b"state": new, b"other": new})
    )
    yield Planted(
        "bytes that were never written",
        "rename-over", 4, tree({b"state": b"z" * (2 * BLOCK + 1000)}),
    )  # fmt: skip
    yield Planted("a length that never was", "rename-over", 4, tree({b"state": b"a" * 777}))
    yield Planted(
        "two versions within one block",
        "overwrite-in-place", 1,
        tree({b"state": b"a" * 1000 + b"o" * (2 * BLOCK - 900)}),
    )  # fmt: skip
    yield Planted(
        "old bytes after fdatasync",
        "overwrite-in-place", 3, tree({b"state": b"o" * (2 * BLOCK + 100)}),
    )  # fmt: skip
    yield Planted(
        "a synced record of a log is missing", "append-synced", 9, tree({b"log": b"a" * 2500})
    )
    yield Planted(
        "a write through O_DSYNC is missing",
        "append-through", 3, tree({b"log": b"h" * 100 + b"a" * 2500}),
    )  # fmt: skip
    yield Planted(
        "a later write is there without an earlier one in the same block",
        "append-unsynced", 2, tree({b"log": b"h" * 100 + bytes(2500) + b"b" * 2500}),
    )  # fmt: skip
    yield Planted("the mode is another", "rename-synced", 10, tree({b"state": new}, mode=0o600))
    yield Planted(
        "the name of a synced new file is missing",
        "marker-after-data", 5, tree({b"shard0": b"a" * (BLOCK + 300)}), ALL_BUT_POSIX,
    )  # fmt: skip
    yield Planted(
        "a later name is there and an earlier one is not",
        "rename-to-new", 5, tree({b"after": b""}), ORDERED,
    )  # fmt: skip
    yield Planted(
        "an earlier name is missing after the sync of another file",
        "marker-after-data", 5, tree({b"done0": b"0\n"}), ORDERED,
    )  # fmt: skip
    yield from _planted_sizes()
    yield from _planted_names()


def _planted_sizes() -> Iterator[Planted]:
    yield Planted(
        "a file that was only made longer ends at the next block boundary",
        "grown-by-truncate", 1, _tree({b"count": bytes(BLOCK), b"start": b"s" * 50}),
    )  # fmt: skip
    yield Planted(
        "the same with bytes before the new end",
        "grown-by-truncate", 2,
        _tree({b"count": bytes(100), b"start": b"s" * 50 + bytes(BLOCK - 50)}),
    )  # fmt: skip
    yield Planted(
        "the same with bytes written below the new end",
        "grown-then-filled", 4, _tree({b"old": b"o" * 600, b"state.tmp": bytes(2 * BLOCK)}),
    )  # fmt: skip


def _planted_names() -> Iterator[Planted]:
    """What is synced had changed after the names, and by what."""
    grown = b"h" * 100 + b"a" * 300
    for call, name in (("fsync", "sync"), ("fdatasync", "data-sync")):
        yield Planted(
            f"a name is missing after {call} of a file that grew since",
            f"{name}-of-changed-file", 3, _tree({b"state": OLD, b"log": grown}), ORDERED,
        )  # fmt: skip
    yield Planted(
        "a name is missing after fdatasync of a file that was cut since",
        "data-sync-of-changed-file", 6, _tree({b"kept": OLD, b"log": grown[:200]}), ORDERED,
    )  # fmt: skip
    yield Planted(
        "a name is missing after fsync of a file whose mode changed since",
        "sync-of-changed-file", 6, _tree({b"kept": OLD, b"log": grown}), ORDERED,
    )  # fmt: skip
    yield Planted(
        "a name is missing after fsync of a file that was linked since",
        "sync-of-changed-file", 9,
        _tree({b"kept": OLD, b"log": grown, b"one": b""}, links={b"log.1": b"log"}), ORDERED,
    )  # fmt: skip
    yield Planted(
        "a rename is missing after fsync of what it replaced",
        "sync-of-replaced-file", 6,
        _tree({b"state": OLD, b"state.tmp": b"a" * 700, b"other": b"p" * 300},
              links={b"state.1": b"state"}), ORDERED,
    )  # fmt: skip
    yield Planted(
        "a directory is missing after its own fsync",
        "sync-of-directories", 2, _tree({b"state": OLD}), ORDERED,
    )  # fmt: skip
    yield Planted(
        "the first name of a file is missing after fsync",
        "linked-when-written", 4, _tree({}), ALL_BUT_POSIX,
    )  # fmt: skip
    yield Planted(
        "the first name of a file is missing after fdatasync of what was written since",
        "linked-when-written", 10, _tree({b"state": b"a" * (BLOCK + 700)}), ALL_BUT_POSIX,
    )  # fmt: skip


def made_up(writer: Writer) -> list[Planted]:
    return [one for one in planted() if one.writer == writer.name]


STALE = ("rename-synced", "append-synced")
"""Writers that end with everything durable: of all that was found earlier, nothing may be left."""


def stale(judge: Judge) -> list[Planted]:
    """What a disk that lies about flushes leaves: trees really found, shown after the last sync."""
    if judge.writer.name not in STALE:
        return []
    last = len(judge.writer.operations)
    timeline = Timeline(judge.writer.start, b"", judge.writer.operations)
    whole = key(timeline.after(last).image)
    return [
        Planted("an earlier tree after the last sync", judge.writer.name, last, image)
        for tree, image in judge.images.items()
        if tree != whole
    ]


def accepted(judge: Judge, wrong: Planted) -> list[Model]:
    """The models that do not reject it although they must."""
    return [
        model
        for model in wrong.models
        if judge.models[model].allows(wrong.image, wrong.step) is None
    ]


def _tree(
    files: Mapping[bytes, bytes],
    *,
    mode: int = 0o644,
    links: Mapping[bytes, bytes] = MappingProxyType({}),
) -> Image:
    """``links``: further names of some of the files."""
    entries = {name: number for number, name in enumerate(files, start=1)}
    further = {name: entries[first] for name, first in links.items()}
    nodes: dict[int, Node] = {ROOT: Directory(mode=0o755, entries=entries | further)}
    for number, data in enumerate(files.values(), start=1):
        nodes[number] = File(mode=mode, content=Content.of(data))
    return Image(nodes)
