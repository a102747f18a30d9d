"""Recorded states with something in them damaged, as disks, people and half-made copies do.

At a moment of the run one file of the state is emptied, cut in half or by a byte, overwritten with
garbage, replaced by a directory or by its version before; two are swapped; a bit is flipped. The id
of a damage is ``41.empty-2``: after step 41 the second of the state files, in the order of their
paths (``41.swapped-1-2``: the first and the second).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Damage, Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.describe import normalized, shown_path
from pytest_checkpoint.record.operations import Event, Link, Operation, Rename, Sync
from pytest_checkpoint.states.contents import Contents
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.kill import CrashState, kill_state
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import Directory, File, Image, Node, NodeId

EMPTY, HALF, SHORT, GARBAGE = "empty", "half", "short", "garbage"
DIRECTORY, OLDER, FLIPPED, SWAPPED = "directory", "older", "flipped", "swapped"
_ONE_FILE: Final = (EMPTY, GARBAGE, HALF, SHORT, OLDER, DIRECTORY)
_GARBAGE_BYTES: Final = 1 << 20
"""Of a larger file the same garbage comes again and again."""
_SEARCHED_BYTES: Final = 1 << 20
_MOST_MOMENTS: Final = 64


class Damages:
    """What may be damaged of one run; asked by its :class:`StateSource` for the states."""

    def __init__(
        self,
        source: StateSource,
        *,
        outputs: Iterable[str],
        ephemeral: Iterable[str],
        checksummed: bool,
        seed: int,
    ) -> None:
        """``checksummed``: bits are flipped too."""
        self._source: Final = source
        self._left_out: Final = (Globs(outputs), Globs(ephemeral))
        self._kinds: Final = (*_ONE_FILE, FLIPPED) if checksummed else _ONE_FILE
        self._seed: Final = seed
        self._before: Final = dict(_files(source.timeline.after(0).image).values())
        """Inode → what it held before the run."""
        self._known: dict[int, tuple[Image, dict[bytes, tuple[NodeId, File]]]] = {}

    @cached_property
    def moments(self) -> tuple[int, ...]:
        """The steps after which the state is to be whole: done lines, and the end.

        Without done lines, what moves or syncs something. Of very many, 64 spread over the run.
        """
        operations = self._source.operations
        done = [one.step for one in operations if _acknowledges(one)]
        settled = [
            one.step
            for one in operations
            if any(isinstance(effect, Rename | Link | Sync) for effect in one.effects)
        ]
        found = sorted({*(done or settled), len(operations)})
        last = len(found) - 1
        if last >= _MOST_MOMENTS:
            found = [found[n * last // (_MOST_MOMENTS - 1)] for n in range(_MOST_MOMENTS)]
        return tuple(found)

    def files(self, step: int) -> tuple[bytes, ...]:
        """The paths of the state then, sorted."""
        return tuple(self._at(step)[1])

    def of_file(self, step: int, path: bytes) -> Iterator[CrashState]:
        """What can be done to one file then."""
        number = self.files(step).index(path) + 1
        for kind in self._kinds:
            crash = CrashState(Fault.DAMAGE, step, f"{kind}-{number}")
            if self._contents_or_none(crash) is not None:
                yield crash

    def swapped(self, step: int, one: bytes, other: bytes) -> CrashState | None:
        """Two files with each other's content; None if they have the same."""
        _, files = self._at(step)
        if files[one][1].content == files[other][1].content:
            return None
        numbers = sorted(self.files(step).index(path) + 1 for path in (one, other))
        return CrashState(Fault.DAMAGE, step, "-".join((SWAPPED, *map(str, numbers))))

    def state(self, crash: CrashState) -> State:
        """UserError if there is no such damage."""
        contents = self._contents(crash)
        image, files = self._at(crash.step)
        nodes: dict[NodeId, Node] = dict(image.nodes)
        for path, content in contents.items():
            number, node = files[path]
            nodes[number] = (
                Directory(mode=0o755, owner=node.owner, mtime_ns=node.mtime_ns, entries={})
                if content is None
                else replace(node, content=content)
            )
        return self._source.timeline.state_with(Image(nodes), crash.step)

    def point(self, crash: CrashState) -> CrashPoint:
        """In the words of the evidence; the cause is the file."""
        moment = self._source.point(kill_state(crash.step))
        paths = self._paths_of(crash)
        after = f"after step {crash.step} ({moment.operation})" if crash.step else moment.operation
        return CrashPoint(
            fault=Fault.DAMAGE,
            step=crash.step,
            variant=crash.variant,
            operation=f"{self._words(crash)} {after}",
            signature="damaged: " + ", ".join(normalized(shown_path(path)) for path in paths),
            total_steps=moment.total_steps,
        )

    def told(self, crash: CrashState) -> Damage:
        """What it is, for the evidence."""
        return Damage(
            paths=tuple(map(shown_path, self._paths_of(crash))),
            what=self._words(crash),
            could_be=all(
                content is not None and self._history.could_be(path, content, crash.step)
                for path, content in self._contents(crash).items()
            ),
        )

    def is_kept(self, crash: CrashState, after: Image) -> bool:
        """Whether what the damaged files held stands in the workspace, under whatever name.

        Of an empty file, and of a directory in the place of one, there is nothing to be kept.
        """
        left = {content for _, content in _files(after).values()}
        wanted = [content for content in self._contents(crash).values() if content is not None]
        return all(not content.size or content in left for content in wanted)

    # --- what is done to them ---

    def _contents(self, crash: CrashState) -> Mapping[bytes, Content | None]:
        """Path → what it holds then; None: it is a directory. UserError if there is no such."""
        contents = self._contents_or_none(crash)
        if contents is None:
            raise UserError(f"there is no damage {crash.step}.{crash.variant} of this recording")
        return contents

    def _contents_or_none(self, crash: CrashState) -> Mapping[bytes, Content | None] | None:
        kind = crash.variant.partition("-")[0]
        paths = self._paths_of(crash)
        _, files = self._at(crash.step)
        nodes = [files[path][1] for path in paths]
        if kind == SWAPPED:
            return dict(zip(paths, (node.content for node in reversed(nodes)), strict=True))
        (path,), (node,) = paths, nodes
        if kind == DIRECTORY:
            return {path: None}
        content = self._damaged(kind, crash.step, path, node.content)
        return None if content is None or content == node.content else {path: content}

    def _damaged(self, kind: str, step: int, path: bytes, whole: Content) -> Content | None:
        match kind:
            case "empty":
                return Content.empty()
            case "half":
                return whole.truncate(whole.size // 2)
            case "short":
                return whole.truncate(max(0, whole.size - 1))
            case "garbage":
                return self._garbage(whole.size)
            case "older":
                return self._older(step, path, whole)
            case _:
                return _flipped(whole)

    def _garbage(self, size: int) -> Content:
        """No text in any encoding: bytes from 0x80 on."""
        piece = random.Random(self._seed).randbytes(min(size, _GARBAGE_BYTES))
        piece = bytes(byte | 0x80 for byte in piece)
        content = Content.empty()
        for offset in range(0, size, _GARBAGE_BYTES):
            content = content.write(offset, piece[: size - offset])
        return content

    def _older(self, step: int, path: bytes, whole: Content) -> Content | None:
        """What stood there at the latest moment before at which it was something else."""
        for moment in reversed(self.moments):
            before = self._at(moment)[1].get(path) if moment < step else None
            if before is not None and before[1].content != whole:
                return before[1].content
        return None

    def _words(self, crash: CrashState) -> str:
        paths = self._paths_of(crash)
        names = " and ".join(map(shown_path, paths))
        kind = crash.variant.partition("-")[0]
        size = self._at(crash.step)[1][paths[0]][1].content.size
        return {
            EMPTY: f"{names} emptied",
            HALF: f"{names} cut in half (to {size // 2} of {size} bytes)",
            SHORT: f"{names} cut by its last byte",
            GARBAGE: f"{names} overwritten with garbage",
            DIRECTORY: f"{names} replaced by a directory",
            OLDER: f"{names} put back to the version before",
            FLIPPED: f"one bit of {names} flipped",
            SWAPPED: f"{names} swapped",
        }[kind]

    def _paths_of(self, crash: CrashState) -> tuple[bytes, ...]:
        if not 0 <= crash.step <= self._source.timeline.steps:
            raise UserError(f"there is no step {crash.step} in this recording")
        files = self.files(crash.step)
        numbers = [int(number) for number in crash.variant.split("-")[1:]]
        if any(number > len(files) for number in numbers) or len({*numbers}) < len(numbers):
            raise UserError(
                f"there is no damage {crash.step}.{crash.variant}: the state has "
                f"{len(files)} file{'' if len(files) == 1 else 's'} after that step"
            )
        return tuple(files[number - 1] for number in numbers)

    # --- the state ---

    def _at(self, step: int) -> tuple[Image, dict[bytes, tuple[NodeId, File]]]:
        """The tree after a step, and the state files in it."""
        known = self._known.get(step)
        if known is None:
            image = self._source.timeline.after(step).image
            known = self._known[step] = (image, self._state_files(image))
        return known

    def _state_files(self, image: Image) -> dict[bytes, tuple[NodeId, File]]:
        """What the run has written, and what is neither an output nor ephemeral."""
        files = _files(image)
        known = {
            number
            for path, (number, content) in files.items()
            if self._before.get(number) == content
            or any(globs.match(path) for globs in self._left_out)
        }
        found: dict[bytes, tuple[NodeId, File]] = {}
        for path, (number, _) in files.items():
            node = image.nodes[number]
            if number in known:
                continue
            assert isinstance(node, File)
            known.add(number)  # by the first of its names
            found[path] = (number, node)
        return found

    @cached_property
    def _history(self) -> Contents:
        paths = dict.fromkeys(path for step in self.moments for path in self.files(step))
        return Contents(self._source.timeline, self._source.operations, paths)


def _files(image: Image) -> dict[bytes, tuple[NodeId, Content]]:
    """Path → the regular file there, in the workspace, sorted."""
    return {
        path: (number, node.content)
        for path, number, node in walk(image)
        if isinstance(node, File) and path.startswith(b"w/")
    }


def _acknowledges(operation: Operation) -> bool:
    data = b"".join(one.data for one in operation.effects if isinstance(one, Event))
    return any(line.startswith(b"done ") for line in data.split(b"\n"))


def _flipped(whole: Content) -> Content:
    """A bit in the middle; of a file of several lines not in its last one.

    That one a crash may leave unfinished, so that it may rightly be dropped.
    """
    head = whole.size
    if 0 < head <= _SEARCHED_BYTES:
        head = whole.read(0, head - 1).rfind(b"\n") + 1 or head
    if not head:
        return whole
    (byte,) = whole.read(head // 2, 1)
    return whole.write(head // 2, bytes([byte ^ 1]))
