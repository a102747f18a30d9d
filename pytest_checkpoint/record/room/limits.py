"""What is asked for with a room, as the troubles of a run: kept account of, or only noticed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import family
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.injector import Deed, Intent, Trouble
from pytest_checkpoint.record.operations import WORKSPACE, Effect, Write
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.room import system
from pytest_checkpoint.record.room.ledger import Ledger
from pytest_checkpoint.record.room.lull import Lull
from pytest_checkpoint.record.room.quota import Quota, unit_of
from pytest_checkpoint.record.tracked import TrackedTree
from pytest_checkpoint.tree.capture import data_ranges
from pytest_checkpoint.tree.image import Directory, File, Image, NodeId

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def root_path(room: Room) -> bytes:
    """The directory that is limited, relative to the slot. HarnessError for one elsewhere."""
    under = os.fsencode(room.under)
    parts = [part for part in under.split(b"/") if part not in (b"", b".")]
    if under.startswith(b"/") or b".." in parts:
        raise HarnessError(f"{room.under} is not a directory below the workspace")
    return b"/".join([WORKSPACE, *parts])


def require_directory(room: Room, *, is_directory: bool) -> None:
    """HarnessError if there is nothing to be limited."""
    if not is_directory:
        raise HarnessError(
            f"{room.under} is to have little room, but there is no such directory in the "
            "workspace when the job starts: make it in its setup"
        )


def limit(recorder: Recorder, room: Room, image: Image) -> None:
    """Let the run have no more room than that; a real one has been mounted already.

    ``image``: the slot at the beginning; of files no content is needed. HarnessError if there is no
    such directory.
    """
    trouble: Trouble
    if room.real:
        lull, root = Lull(room.again_after_s), root_path(room)
        widen = partial(system.widen_tmpfs, os.path.join(os.fsencode(recorder.slot), root))
        trouble = Shortage(recorder.has_fired, root, lull, widen)
        recorder.mapped.let_go_of_deleted(family.is_held)
    else:
        trouble = _quota(room, recorder.slot, image, recorder.tree)
    recorder.troubles += (trouble,)


def _quota(room: Room, slot: Path, image: Image, tree: TrackedTree) -> Quota:
    root = tree.node_at(root_path(room))
    require_directory(room, is_directory=tree.is_directory(root))
    if root is None:
        raise HarnessError("the workspace itself is not there")
    unit = unit_of(room)
    files = _files(image, slot, tree, root)
    ledger = Ledger(
        image,
        root,
        {node: _ranges(path) for node, path in files.items()},
        lambda nodes: _still_held(tree, nodes),
        sizes={node: os.lstat(path).st_size for node, path in files.items()},
        unit=unit,
    )
    return Quota(room, tree, root, ledger, Lull(room.again_after_s))


def _files(image: Image, slot: Path, tree: TrackedTree, root: NodeId) -> dict[NodeId, bytes]:
    """Those below ``root``, and a path that leads to each."""
    files: dict[NodeId, bytes] = {}
    pending = [root]
    while pending:
        node = image.nodes[pending.pop()]
        if not isinstance(node, Directory):
            continue
        for inner in node.entries.values():
            if isinstance(image.nodes[inner], Directory):
                pending.append(inner)
            elif isinstance(image.nodes[inner], File) and inner not in files:
                files[inner] = os.path.join(os.fsencode(slot), tree.path(inner))
    return files


def _ranges(path: bytes) -> list[tuple[int, int]]:
    """What is data in a file; all of it, if its mode lets nobody read it."""
    try:
        return data_ranges(path)
    except PermissionError:
        return [(0, os.lstat(path).st_size)]


def _still_held(tree: TrackedTree, nodes: list[NodeId]) -> set[NodeId]:
    """Those that a process of the job has open or mapped."""
    identities = {tree.identity(node): node for node in nodes}
    identities.pop(None, None)
    held = family.held({identity for identity in identities if identity is not None})
    return {identities[identity] for identity in held}


class Shortage:
    """A :class:`Trouble` that denies nothing: it sees when a real file system does."""

    def __init__(
        self,
        fired: Callable[[], None],
        root: bytes,
        lull: Lull,
        widen: Callable[[], None],
    ) -> None:
        """``fired`` is called after a step that was refused, or cut short; ``widen`` when there is
        to be room again. ``root``: where it is mounted, relative to the slot.
        """
        self.lull = lull
        self._root = root
        self._fired = fired
        self._widen = widen
        self._is_wide = False
        self._wanted = 0

    def look(self) -> None:
        """Make room, if it is time."""
        if not self._is_wide and self.lull.is_over():
            self._is_wide = True
            self._widen()

    def before(self, intent: Intent) -> int:
        self.look()
        self._wanted = intent.length if intent.deed is Deed.WRITE else 0
        return intent.length

    def after(
        self, call: str, path: bytes, target_path: bytes, effects: tuple[Effect, ...], error: int
    ) -> None:
        written = effects[0] if effects else None
        short = isinstance(written, Write) and len(written.data) < self._wanted
        if error in _FULL or short:
            self._fired()
        if error in _FULL:
            self.lull.refused(call, path)
        elif effects and any(one.startswith(self._root) for one in (path, target_path)):
            self.lull.changed()
        self._wanted = 0
