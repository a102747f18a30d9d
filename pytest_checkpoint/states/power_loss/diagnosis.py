"""What a power loss took, in words, and which sync would have kept it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import dirname
from typing import Final

from pytest_checkpoint.record.describe import describe, normalized, shown_path, signature
from pytest_checkpoint.record.operations import Create, Operation, Origin, Rename, Stored, Write
from pytest_checkpoint.states.power_loss.changes import NEVER, DataChange, NameChange
from pytest_checkpoint.states.power_loss.choices import Kept
from pytest_checkpoint.states.power_loss.cursor import Cursor
from pytest_checkpoint.states.power_loss.data import Kind, Shape
from pytest_checkpoint.states.power_loss.ledger import Ledger
from pytest_checkpoint.states.power_loss.losses import Loss
from pytest_checkpoint.states.power_loss.models import Persisted, Rules
from pytest_checkpoint.tree.image import NodeId

_OUTCOMES: Final = {
    Kind.LOST: "{data} lost",
    Kind.ZEROS: "{data} lost, zeros in its place",
    Kind.PADDED: "{data} followed by zeros up to a block boundary",
    Kind.ZEROS_PADDED: "{data} lost, zeros in its place up to a block boundary",
    Kind.FIRST: "{data} lost, what was written to it before kept",
    Kind.WITHOUT: "{data} lost, what else was written to it kept",
    Kind.HEAD: "{data} cut short at a block boundary",
    Kind.TAIL: "{data} kept only in its last blocks",
    Kind.ZERO_TAIL: "{data} lost, but zeros from the new end to the end of its block",
}


class Diagnosis:
    """One loss, explained. Lines are in program order, names before data."""

    def __init__(
        self,
        cursor: Cursor,
        ledger: Ledger,
        operations: Sequence[Operation],
        rules: Rules,
        loss: Loss,
        kept: Kept,
    ) -> None:
        """``cursor``: at the step of the loss; ``kept``: its name changes, by index."""
        self._cursor: Final = cursor
        self._ledger: Final = ledger
        self._operations: Final = operations
        self._rules: Final = rules
        self._loss: Final = loss
        self._kept: Final = kept
        self._names: Final = list(self._lost_names())
        self._data: Final = list(self._lost_data())

    def losses(self) -> tuple[str, ...]:
        """What is not there, a line each; none if nothing was lost."""
        names = [f"{describe(one.operation)} (step {one.step}) lost" for one in self._names]
        data = []
        for _, kind, lost in self._data:
            steps = _steps(lost)
            plural = "s" if "–" in steps else ""
            text = f"data of {_name(lost)} (written at step{plural} {steps})"
            data.append(_OUTCOMES[kind].format(data=text))
        return (*names, *data)

    def missing_syncs(self) -> tuple[str, ...]:
        """Per loss a sentence, without a full stop."""
        names = [self._missing_for_name(one) for one in self._names]
        return (*names, *(self._missing_for_data(node, lost) for node, _, lost in self._data))

    def kinds(self) -> tuple[str, ...]:
        """The same without what differs from round to round of a loop; each once."""
        names = [f"{signature(one.operation)}: name not durable" for one in self._names]
        data = [
            f"{signature(self._head(node, lost))}: data of {normalized(_name(lost))} not durable"
            for node, _, lost in self._data
        ]
        return tuple(dict.fromkeys((*names, *data)))

    # What was lost.

    def _lost_names(self) -> Iterator[NameChange]:
        """The dropped changes whose loss is to be seen; not what a lost directory takes along."""
        step, kept, slots = self._loss.step, self._kept, self._cursor.slots
        there = self._cursor.image(kept, {}).nodes
        for change in self._cursor.names():
            if change.index not in kept:
                with_it = kept | {change.index}
                if any(
                    slot[0] in there
                    and slots.value(slot, step, kept) != slots.value(slot, step, with_it)
                    for slot in slots.affected([change])
                ):
                    yield change

    def _lost_data(self) -> Iterator[tuple[NodeId, Kind, list[DataChange]]]:
        named = self._cursor.view(self._kept).unsynced
        for number, window in self._cursor.data().items():
            shape = self._loss.data.shape_of(number)
            if number in named and window.content(shape) != window.kept:
                yield number, shape.kind, _lost_changes(shape, window.pending)

    # What would have helped.

    def _missing_for_name(self, change: NameChange) -> str:
        directories = sorted({_parent(path) for path in _changed_paths(change.operation)})
        where = " or ".join(directories)
        needed = f"an fsync of its directory ({where})"
        creates = any(isinstance(effect, Create) for effect in change.operation.effects)
        if creates and self._rules.file_sync is not Persisted.NONE:
            needed = f"an fsync of it or of its directory ({where})"
        parts = [f"{describe(change.operation)} at step {change.step}: "]
        if change.durable_at == NEVER:
            parts.append("the name was never made durable")
        else:
            parts.append(f"the name was made durable only at step {change.durable_at}")
        early = self._early_directory_sync(change)
        if early:
            parts.append(f" (the fsync of the directory at step {early} came before it)")
        parts.append(f"; {needed} would have been needed {self._deadline(change.step)}")
        return "".join(parts)

    def _early_directory_sync(self, change: NameChange) -> int | None:
        """A sync of the directory just before the change, as if meant for it."""
        others = [
            other.step
            for other in self._ledger.names[: change.index]
            if other.directories & change.directories
        ]
        after = max(others, default=0)
        steps = [
            step
            for directory in change.directories
            for step in self._ledger.syncs.get(directory, ())
            if after < step < change.step
        ]
        return max(steps, default=None)

    def _missing_for_data(self, node: NodeId, lost: list[DataChange]) -> str:
        name, first, last = _name(lost), lost[0].step, lost[-1].step
        named = self._named_after(node, first)
        head = self._head(node, lost)
        parts = [f"{describe(head)} at step {head.step}: data of {name} written at step "]
        parts.append(_steps(lost))
        syncs = sorted([*self._ledger.syncs.get(node, ()), *self._ledger.syncs.get(None, ())])
        refused = [step for step in self._ledger.failures.get(node, ()) if step > first]
        late = next((step for step in syncs if step > last), None)
        early = max((step for step in syncs if step < last), default=None)
        if lost[-1].refused and refused:
            parts.append(
                f" was not synced (the fsync at step {refused[0]} failed: what it should have "
                f"persisted must be written again)"
            )
        elif late is not None:
            parts.append(f" was synced only at step {late}")
        else:
            parts.append(" was never synced")
            if early is not None:
                write = next(one.step for one in lost if one.step > early)
                parts.append(f" (the fsync at step {early} came before the write at step {write})")
        when = f"before step {named.step}" if named else self._deadline(last)
        parts.append(f"; an fsync of it would have been needed {when}")
        return "".join(parts)

    def _head(self, node: NodeId, lost: list[DataChange]) -> Operation:
        """The operation that made the data matter: a name it was given, else the write itself."""
        return self._named_after(node, lost[0].step) or lost[-1].operation

    def _named_after(self, node: NodeId, step: int) -> Operation | None:
        """The last kept change that gave the inode a name after its data was written."""
        for change in reversed(self._ledger.names[: self._cursor.slots.count(self._loss.step)]):
            if change.step <= step:
                return None
            if node in change.slots.values() and self._cursor.slots.is_kept(
                change.index, self._loss.step, self._kept
            ):
                return change.operation
        return None

    def _deadline(self, step: int) -> str:
        """Before which acknowledgement a change had to be durable."""
        for operation in self._operations[step : self._loss.step]:
            if operation.is_event and not _only_asks(operation):
                return f"before step {operation.step} ({describe(operation)})"
        return f"after step {step}"


def _only_asks(operation: Operation) -> bool:
    """A request to the object store that has changed nothing there acknowledges nothing."""
    return all(isinstance(one, Stored) and not one.data for one in operation.effects)


def _lost_changes(shape: Shape, pending: list[DataChange]) -> list[DataChange]:
    match shape.kind:
        case Kind.FIRST:
            return pending[shape.number :]
        case Kind.HEAD | Kind.ZERO_TAIL:
            return pending[shape.number - 1 :]
        case Kind.WITHOUT | Kind.TAIL:
            return [pending[shape.number - 1]]
        case _:
            return pending


def _name(changes: Sequence[DataChange]) -> str:
    """What the file was called when it was last written."""
    last = changes[-1]
    arrived = isinstance(last.effect, Write) and last.effect.origin is Origin.ARRIVED
    operation = last.operation
    return shown_path(operation.target_path if arrived else operation.path)


def _steps(changes: Sequence[DataChange]) -> str:
    """``38``, or ``38–40``, or ``3–9`` where other operations lie between."""
    steps = [change.step for change in changes]
    return str(steps[0]) if steps[0] == steps[-1] else f"{steps[0]}–{steps[-1]}"


def _changed_paths(operation: Operation) -> list[bytes]:
    """The paths of the names that came or went."""
    moved = any(isinstance(effect, Rename) for effect in operation.effects)
    if not operation.target_path:
        return [operation.path]
    if moved:
        return [operation.path, operation.target_path]
    # Over the border of the recorded tree: only one of the two lies inside; a link makes one name.
    leaves = operation.target_path.startswith(b"(")
    return [operation.path if leaves else operation.target_path]


def _parent(path: bytes) -> str:
    return shown_path(dirname(path))
