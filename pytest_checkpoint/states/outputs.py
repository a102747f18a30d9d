"""Which files stand partial under their final name, at any crash: read off the recording alone.

An output is a file that the globs match at the end of the run. At a crash it is *whole* if it is
absent, as before the run, final, or as a rename or link brought it onto its name, or onto that of a
directory above it. The operations are gone through once. Each is held only against the outputs that
it touched: those that lead to a file which it wrote to, and those on whose path it changed a name.
So what a partial output is found at is the operation that left it so; it stays until the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from checkpoint_contracts.evidence import Fault, PartialOutput
from pytest_checkpoint.record.describe import shown_path
from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Operation,
    Truncate,
    Write,
)
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.kill import CrashState, kill_state, point
from pytest_checkpoint.states.paths import Binding, PathsWatched
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.states.torn import first_cuts, torn_state
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import Directory, File, Image, NodeId


class Outputs(NamedTuple):
    """What the globs mean in one recording."""

    paths: tuple[str, ...]
    """In the workspace, at the end of the run."""
    partial: tuple[PartialOutput, ...]
    """In the order of the operations; one per file, kind of operation, kill or torn, and time that
    the file stands partial."""


def find_outputs(
    timeline: Timeline,
    operations: Sequence[Operation],
    globs: Iterable[str],
    ephemeral: Iterable[str] = (),
) -> Outputs:
    """Outputs, and where a kill or a torn write leaves one of them partial."""
    final = _files(timeline.after(timeline.steps).image, Globs(globs), Globs(ephemeral))
    if not final:
        return Outputs((), ())
    search = _Search(timeline, operations, final)
    for operation in operations:
        search.advance(operation)
    return Outputs(tuple(map(shown_path, final)), search.found())


def unmatched_glob(end: Image, globs: Iterable[str], ephemeral: Sequence[str] = ()) -> str | None:
    """A sentence about the first glob that means no file at the end of the run; None: all do."""
    left_out = Globs(ephemeral)
    for glob in globs:
        meant = Globs([glob])
        if _files(end, meant, left_out):
            continue
        if _files(end, meant, Globs(())):
            return f"all that the output glob {glob!r} matches is ephemeral: take it out of one"
        folders = any(meant.match(path) for path, _, node in walk(end) if _is_folder(node))
        hint = f"; a folder of that name is there: for its files write '{glob.rstrip('/')}/**'"
        return (
            f"the output glob {glob!r} matches no file in the workspace at the end of the "
            "undisturbed run" + (hint if folders else "; it is relative to {workspace}")
        )
    return None


def _is_folder(node: object) -> bool:
    return isinstance(node, Directory)


def _files(image: Image, globs: Globs, ephemeral: Globs) -> dict[bytes, Content]:
    return {
        path: node.content
        for path, _, node in walk(image)
        if isinstance(node, File) and globs.match(path) and not ephemeral.match(path)
    }


class _Streak:
    """One time that an output stands partial."""

    def __init__(self, path: bytes) -> None:
        self.path: Final = path
        self.found: dict[tuple[Fault, str], PartialOutput] = {}
        self.ended_at: int | None = None
        """The step after which it was whole again, or gone."""


class _Search:
    def __init__(
        self, timeline: Timeline, operations: Sequence[Operation], final: dict[bytes, Content]
    ) -> None:
        start = timeline.after(0).image
        self._timeline: Final = timeline
        self._operations: Final = operations
        self._final: Final = final
        self._before: Final = {
            path: node.content
            for path, _, node in walk(start)
            if path in final and isinstance(node, File)
        }
        self._paths: Final = PathsWatched(start, final)
        self._written: dict[NodeId, int] = {}
        """File → the last step that changed its bytes; that it was created at, if none did."""
        self._created: dict[NodeId, int] = {}
        self._streaks: dict[bytes, _Streak] = {}
        """Output → its time of being partial that goes on now."""
        self._all: list[_Streak] = []

    def advance(self, operation: Operation) -> None:
        tick = self._timeline.tick_after(operation.step - 1)
        arrives = operation.call.startswith(("rename", "link"))
        touched: dict[bytes, None] = {}
        for effect in operation.effects:
            if isinstance(effect, Write | Truncate | Allocate):
                paths = self._paths.leading_to(effect.node)
                if isinstance(effect, Write) and effect is operation.write:
                    for path in paths:
                        self._tear(operation.step, effect, path, tick)
                if not paths or self._content(effect.node, tick) != self._content(
                    effect.node, tick + 1
                ):
                    self._written[effect.node] = operation.step
                touched.update(dict.fromkeys(paths))
            else:
                if isinstance(effect, Create | CreateUnnamed):
                    self._written[effect.node] = self._created[effect.node] = operation.step
                changed = self._paths.apply(effect, operation.step, arrives=arrives)
                touched.update(dict.fromkeys(changed))
            tick += 1
        for path in touched:
            self._kill(operation.step, path, tick)

    def found(self) -> tuple[PartialOutput, ...]:
        partial = [
            replace(one, why=one.why + _until(streak.ended_at))
            for streak in self._all
            for one in streak.found.values()
        ]
        return tuple(
            sorted(partial, key=lambda one: (one.point.step, one.point.fault is not Fault.KILL))
        )

    def _kill(self, step: int, path: bytes, tick: int) -> None:
        binding = self._paths.binding(path)
        content = self._content(binding.node, tick) if binding else None
        if binding is None or content is None or self._is_whole(path, binding, content):
            self._end(path, step)
        else:
            why = self._why(binding)
            self._add(kill_state(step), path, content.size, why)

    def _tear(self, step: int, write: Write, path: bytes, tick: int) -> None:
        binding, before = self._paths.binding(path), self._content(write.node, tick)
        if binding is None or before is None:
            return
        for cut in first_cuts(write):
            content = before.write(write.offset, write.data[:cut])
            if content != before and content not in self._known(path):
                why = f"{self._why(binding)}; its write at step {step} is cut short"
                self._add(torn_state(step, cut), path, content.size, why)
                return

    def _is_whole(self, path: bytes, binding: Binding, content: Content) -> bool:
        arrived = binding.arrived_at
        unwritten = arrived is not None and arrived >= self._written.get(binding.node, 0)
        return unwritten or content in self._known(path)

    def _known(self, path: bytes) -> tuple[Content, ...]:
        """Final, and as before the run."""
        final, before = self._final[path], self._before.get(path)
        return (final,) if before is None else (final, before)

    def _content(self, number: NodeId, tick: int) -> Content | None:
        """None if it is no file."""
        node = self._timeline.history.node_at(number, tick)
        return node.content if isinstance(node, File) else None

    def _why(self, binding: Binding) -> str:
        arrived, created = binding.arrived_at, self._created.get(binding.node, 0)
        if arrived is not None and arrived >= created:
            return f"it came under this name whole at step {arrived} and is written to there"
        if created == 0:
            return "it stood there before the run and is written over in place"
        return f"it was created under its final name at step {created} and is filled there"

    def _add(self, crash: CrashState, path: bytes, size_bytes: int, why: str) -> None:
        streak = self._streaks.get(path)
        if streak is None:
            streak = self._streaks[path] = _Streak(path)
            self._all.append(streak)
        where = point(crash, self._operations)
        partial = PartialOutput(
            point=where,
            path=shown_path(path),
            size_bytes=size_bytes,
            final_size_bytes=self._final[path].size,
            why=why,
        )
        streak.found.setdefault((where.fault, where.signature), partial)

    def _end(self, path: bytes, step: int) -> None:
        streak = self._streaks.pop(path, None)
        if streak is not None:
            streak.ended_at = step


def _until(step: int | None) -> str:
    return "" if step is None else f"; whole only from step {step} on"
