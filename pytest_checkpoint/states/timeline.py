"""Every state that a recorded run passed through, each at hand without replaying the run.

Theory of operation: the operations are applied once, effect by effect. Each effect is a *tick*;
tick 0 is the tree before the first. What a node was is kept as versions by tick, and what a
directory named as snapshots with the changes between them, so a state is put together in time
proportional to what it holds, and all states together take memory proportional to what was changed.
The key of the tree is carried along (see :mod:`pytest_checkpoint.tree.compare`): two states can be
told equal without being built.

A recording is checked while it is applied. What the kernel could not have done (a name that appears
twice, a write to a node never created) means that the recording is wrong: an error, never skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.operations import Event, Operation, Sent, Stored, Write
from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.states.growing import Folding, Growing, digest_of
from pytest_checkpoint.states.history import ContradictionError, History
from pytest_checkpoint.tree.compare import key, term, total_key
from pytest_checkpoint.tree.image import File, Image, printable


@dataclass(frozen=True, slots=True)
class State:
    """A tree and the lines of the events file that go with it."""

    image: Image
    events: bytes
    effects: bytes = b""
    """The lines of the effects file: what had left the job by then."""
    objects: bytes = b""
    """The log of objects: what the object store holds, see ``record.store.contents``."""

    @property
    def key(self) -> bytes:
        """32 bytes, the same for states that a subject could not tell apart."""
        beside = (digest_of(self.events), digest_of(self.effects), fold(self.objects).digest)
        return _state_key(key(self.image), *beside)


class Timeline:
    """The states before, between, after and within the operations of one run."""

    def __init__(
        self,
        start: Image,
        start_events: bytes,
        operations: Sequence[Operation],
        start_effects: bytes = b"",
        start_objects: bytes = b"",
    ) -> None:
        """Apply ``operations`` to ``start``, the tree before the first, which is not changed.

        Raises :class:`HarnessError` if they contradict each other or ``start``.
        """
        self._operations: Final = operations
        self.history: Final = History(start)
        self._ends = [0]
        """Step → tick after it."""
        self._torn_names: dict[int, tuple[bytes, ...]] = {}
        """Step → the paths of the node it wrote to, at that moment."""
        self._events: Final = Growing(start_events)
        self._effects: Final = Growing(start_effects)
        self._objects: Final = Folding(start_objects)
        for index, operation in enumerate(operations, start=1):
            _check(operation, index)
            self._advance(operation)
            self._ends.append(self.history.tick)

    @property
    def steps(self) -> int:
        """The number of operations: :meth:`after` takes 0 to this."""
        return len(self._operations)

    def after(self, step: int) -> State:
        """What a kill after operation ``step`` leaves; 0: before the first."""
        self._check_step(step, 0)
        return self.state_with(self.history.image_at(self._ends[step]), step)

    def state_with(self, image: Image, step: int) -> State:
        """Another tree, with what lay beside it after ``step``."""
        self._check_step(step, 0)
        return State(
            image, self._events.after(step), self._effects.after(step), self._objects.after(step)
        )

    def key(self, step: int, *, repeats: bool = True) -> bytes:
        """``after(step).key``, without building that state.

        Without ``repeats`` a line of the events that stood there before does not count: whether a
        stage was begun once or twice. Such keys are comparable with such only.
        """
        self._check_step(step, 0)
        total = total_key((self.history.totals[self._ends[step]],))
        return _state_key(total, *self._digests(step, repeats=repeats))

    def key_of(self, step: int, total: int) -> bytes:
        """The key of a state with the events up to ``step`` and a tree of this sum of terms."""
        return _state_key(total_key((total,)), *self._digests(step))

    def tick_after(self, step: int) -> int:
        """The tick of :attr:`history` that the last effect of ``step`` was."""
        self._check_step(step, 0)
        return self._ends[step]

    def events_after(self, step: int) -> bytes:
        """The events file, as it stands after ``step``."""
        self._check_step(step, 0)
        return self._events.after(step)

    def torn(self, step: int, cut: int) -> State:
        """What is left if only the first ``cut`` bytes of the write of ``step`` arrived.

        Effects of the same operation that come before that write are there, later ones are not.
        """
        write, tick = self._write_of(step)
        if not 0 <= cut <= len(write.data):
            raise HarnessError(
                f"step {step} wrote {len(write.data)} bytes: it cannot be cut at {cut}"
            )
        image = self.history.image_at(tick)
        node = image.nodes.get(write.node)
        if isinstance(node, File):  # else it has no name by now, and the cut is not to be seen
            content = node.content.write(write.offset, write.data[:cut])
            image = Image({**image.nodes, write.node: replace(node, content=content)})
        return self.state_with(image, step - 1)

    def torn_keys(self, step: int, cuts: Iterable[int], *, repeats: bool = True) -> Iterator[bytes]:
        """``torn(step, cut).key`` for each of ``cuts``, which must rise, without building them.

        ``repeats`` as in :meth:`key`.
        """
        write, tick = self._write_of(step)
        total = self.history.totals[tick]
        beside = self._digests(step - 1, repeats=repeats)
        names = self._torn_names[step]
        node = self.history.node_at(write.node, tick)
        if not isinstance(node, File) or not names:
            unseen = _state_key(total_key((total,)), *beside)
            yield from (unseen for _ in cuts)
            return
        others = total - term(names, node)
        content = node.content
        done = 0
        for cut in cuts:
            # Each goes on from the one before, else a write of n blocks would be hashed n times.
            content = content.write(write.offset + done, write.data[done:cut])
            done = cut
            torn = File(mode=node.mode, content=content)
            yield _state_key(total_key((others, term(names, torn))), *beside)

    def _digests(self, step: int, *, repeats: bool = True) -> tuple[bytes, bytes, bytes]:
        """Of the events, the effects and the objects, as they stood after a step."""
        events = self._events.digests if repeats else self._events.distinct_digests
        return events[step], self._effects.digests[step], self._objects.digests[step]

    def _advance(self, operation: Operation) -> None:
        """Apply one operation."""
        write = operation.write
        events, effects, objects = b"", b"", b""
        for effect in operation.effects:
            if write is not None and effect is write:
                self._torn_names[operation.step] = self.history.names_of(write.node)
            try:
                self.history.apply(effect)
            except ContradictionError as contradiction:
                raise HarnessError(
                    f"the recording contradicts itself at step {operation.step} "
                    f"({operation.call} {printable(operation.path)}): {contradiction}"
                ) from None
            if isinstance(effect, Event):
                events += effect.data
            elif isinstance(effect, Sent):
                effects += effect.data
            elif isinstance(effect, Stored):
                objects += effect.data
        self._events.append(events)
        self._effects.append(effects)
        self._objects.append(objects)

    def _write_of(self, step: int) -> tuple[Write, int]:
        """The write of a step, and the tick just before it."""
        self._check_step(step, 1)
        operation = self._operations[step - 1]
        write = operation.write
        if write is None:
            raise HarnessError(f"step {step} ({operation.call}) wrote nothing that can be torn")
        before = next(i for i, effect in enumerate(operation.effects) if effect is write)
        return write, self._ends[step - 1] + before

    def _check_step(self, step: int, least: int) -> None:
        if not least <= step <= self.steps:
            raise HarnessError(f"there is no step {step}: the recording has {self.steps}")


def _check(operation: Operation, index: int) -> None:
    if operation.step != index:
        raise HarnessError(
            f"the recording is out of order: step {operation.step} stands at place {index}"
        )
    if operation.error and operation.effects:
        raise HarnessError(
            f"the recording contradicts itself at step {index}: {operation.call} failed, "
            f"but is said to have changed something"
        )


def _state_key(image_key: bytes, events: bytes, effects: bytes, objects: bytes) -> bytes:
    """From the digests of each."""
    return blake2b(image_key + events + effects + objects, digest_size=32).digest()
