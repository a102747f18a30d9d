"""All that a power loss may leave of one recording, under one model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.power_loss.changes import NameChange
from pytest_checkpoint.states.power_loss.cursor import Cursor, View
from pytest_checkpoint.states.power_loss.data import KEPT, Window
from pytest_checkpoint.states.power_loss.diagnosis import Diagnosis
from pytest_checkpoint.states.power_loss.ledger import Ledger
from pytest_checkpoint.states.power_loss.losses import Data, Loss, Names, combinations
from pytest_checkpoint.states.power_loss.membership import Membership
from pytest_checkpoint.states.power_loss.models import RULES, Model
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.image import Image, NodeId


@dataclass(frozen=True, slots=True)
class Unsynced:
    """What a power loss after one step may take."""

    names: Sequence[NameChange]
    data: dict[NodeId, Window]
    """Per inode that any choice of names leads to."""

    def __bool__(self) -> bool:
        return bool(self.names or self.data)


class PowerLoss:
    """The power losses of one recording. Any step may be asked for; steps in a row are cheapest."""

    def __init__(
        self,
        start: Image,
        start_events: bytes,
        operations: Sequence[Operation],
        model: Model,
        *,
        timeline: Timeline | None = None,
    ) -> None:
        """``timeline``: of the same recording, if there is one already, so as not to make another.

        Raises :class:`~pytest_checkpoint.errors.HarnessError` if the operations contradict each
        other or ``start``.
        """
        self.model: Final = model
        self._timeline: Final = timeline or Timeline(start, start_events, operations)
        self._operations: Final = operations
        self._rules: Final = RULES[model]
        self._ledger: Final = Ledger(start, operations, self._timeline.history, self._rules)
        self._cursor: Final = Cursor(start, self._timeline, self._ledger)

    @property
    def steps(self) -> int:
        """The number of operations: all methods take steps 0 to this."""
        return self._timeline.steps

    def unsynced(self, step: int) -> Unsynced:
        """The changes made by then and not durable."""
        cursor = self._at(step)
        return Unsynced(tuple(cursor.names()), dict(cursor.data()))

    def losses(self, step: int, cap: int | None = None) -> Iterator[Loss]:
        """Different outcomes of a power loss after ``step``, most telling first, ``cap`` at most.

        The first is the one that loses nothing: what a kill leaves. The order and the variants do
        not depend on ``cap``. Outcomes of different steps may be the same: compare their keys.
        """
        cursor = self._at(step)
        pending = self._pending()
        windows = list(cursor.data().items())
        seen: set[bytes] = set()
        views: dict[Names, View] = {}
        for names, data in combinations(len(pending), windows, in_order=self._rules.in_order):
            if cap is not None and len(seen) >= cap:
                return
            self._at(step)  # the caller may have asked for other steps meanwhile
            view = views.get(names)
            if view is None:
                view = views[names] = cursor.view(names.kept(pending))
            if data.node is not None and data.node not in view.unsynced:
                continue  # nothing is to be seen of its shape
            key = self._timeline.key_of(step, self._total(view, data))
            if key not in seen:
                seen.add(key)
                yield Loss(step, names, data, key)

    def loss(self, step: int, name: str) -> Loss:
        """The loss of that step with this :attr:`Loss.variant`. Raises :class:`UserError`."""
        self._at(step)
        for loss in self.losses(step):
            if loss.variant == name:
                return loss
        raise UserError(f"step {step} has no power loss {name!r} under the model {self.model}")

    def state(self, step: int, loss: Loss) -> State:
        """What that loss left. Its :attr:`~State.key` is :attr:`Loss.key`."""
        cursor = self._at(step)
        contents = {
            number: window.content(loss.data.shape_of(number))
            for number, window in cursor.data().items()
        }
        kept = loss.names.kept(self._pending())
        return self._timeline.state_with(cursor.image(kept, contents), step)

    def describe(self, step: int, loss: Loss) -> tuple[str, ...]:
        """What was lost, a line each: ``rename state.json.tmp → state.json (step 41) lost``."""
        return self._diagnosis(step, loss).losses()

    def missing_syncs(self, step: int, loss: Loss) -> tuple[str, ...]:
        """Per loss a sentence: what was not durable, and which sync would have been needed when."""
        return self._diagnosis(step, loss).missing_syncs()

    def missing_kinds(self, step: int, loss: Loss) -> tuple[str, ...]:
        """The same without steps, numbers and random parts of names: one flaw, one text."""
        return self._diagnosis(step, loss).kinds()

    def allows(self, image: Image, step: int) -> str | None:
        """None if this tree is among all that the model allows after ``step``; else why not.

        All are meant, not only :meth:`losses`. Node numbers need not be those of the recording;
        owners, times and extended attributes do not count.
        """
        return Membership(self._at(step), step, self._rules).refusal(image)

    def _diagnosis(self, step: int, loss: Loss) -> Diagnosis:
        cursor = self._at(step)
        kept = loss.names.kept(self._pending())
        return Diagnosis(cursor, self._ledger, self._operations, self._rules, loss, kept)

    def _pending(self) -> list[int]:
        """The indices of the name changes that may be lost."""
        return [change.index for change in self._cursor.names()]

    def _at(self, step: int) -> Cursor:
        self._timeline.tick_after(step)  # refuses steps that are not there
        self._cursor.seek(step)
        return self._cursor

    def _total(self, view: View, data: Data) -> int:
        """The sum of terms of the tree of ``view``, with that data in place of all data kept."""
        total = view.total
        windows = self._cursor.data()
        if data.others == KEPT:
            changed = [] if data.node is None else [data.node]
        else:
            changed = list(view.unsynced)
        for number in changed:
            shape = data.shape_of(number)
            if shape != KEPT:
                paths, term = view.unsynced[number]
                total -= term
                total += self._cursor.file_term(number, paths, windows[number].content(shape))
        return total
