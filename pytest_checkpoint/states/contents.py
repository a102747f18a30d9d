"""Every content that a crash of a recorded run could leave under some names, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pytest_checkpoint.record.operations import Allocate, Operation, Truncate, Write
from pytest_checkpoint.states.paths import PathsWatched
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import File


class _Whole(NamedTuple):
    """What stood there after a step."""

    step: int
    content: Content


class _Written(NamedTuple):
    """What a write was added to there, which a crash may cut short."""

    step: int
    before: Content
    write: Write


class Contents:
    """What stood under some names of the tree, at any moment of a run."""

    def __init__(
        self, timeline: Timeline, operations: Sequence[Operation], paths: Iterable[bytes]
    ) -> None:
        start = timeline.after(0).image
        self._timeline: Final = timeline
        self._paths: Final = PathsWatched(start, paths)
        self._whole: Final[dict[bytes, list[_Whole]]] = {}
        self._written: Final[dict[bytes, list[_Written]]] = {}
        for operation in operations:
            self._advance(operation)

    def could_be(self, path: bytes, content: Content, step: int) -> bool:
        """Whether a kill up to ``step``, or a write up to there that is cut short, leaves it so.

        A cut is looked for where the write made the file longer, as it does in a log.
        """
        if any(one.content == content for one in self._whole.get(path, ()) if one.step <= step):
            return True
        return any(_is_cut(one, content) for one in self._written.get(path, ()) if one.step <= step)

    def _advance(self, operation: Operation) -> None:
        tick = self._timeline.tick_after(operation.step - 1)
        arrives = operation.call.startswith(("rename", "link"))
        for effect in operation.effects:
            if isinstance(effect, Write | Truncate | Allocate):
                touched = list(self._paths.leading_to(effect.node))
                before = self._content(effect.node, tick)
                if isinstance(effect, Write) and effect is operation.write and before is not None:
                    for path in touched:
                        written = _Written(operation.step, before, effect)
                        self._written.setdefault(path, []).append(written)
            else:
                touched = self._paths.apply(effect, operation.step, arrives=arrives)
            tick += 1
            for path in touched:
                binding = self._paths.binding(path)
                content = self._content(binding.node, tick) if binding else None
                if content is not None:
                    whole = _Whole(operation.step, content)
                    self._whole.setdefault(path, []).append(whole)

    def _content(self, number: int, tick: int) -> Content | None:
        node = self._timeline.history.node_at(number, tick)
        return node.content if isinstance(node, File) else None


def _is_cut(written: _Written, content: Content) -> bool:
    cut = content.size - written.write.offset
    if not 0 < cut < len(written.write.data) or content.size <= written.before.size:
        return False
    return written.before.write(written.write.offset, written.write.data[:cut]) == content
