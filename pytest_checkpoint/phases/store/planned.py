"""At which uploads of a run the store lies, fails or refuses; and where the run is told to end.

Unless all are wanted, of each way the first upload, the last and the middle one are hit; of those
that last one alone, and of requests that are never answered one too, since a job may take long.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from checkpoint_contracts.bucket import StoreRequest, Verb
from checkpoint_contracts.evidence import TrialKind
from checkpoint_contracts.upload_faults import ENDLESS
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.faults import SignalAt
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.record.store.faults import Kind, StoreFault, store_fault_at
from pytest_checkpoint.states.order import spread

MOST: Final = 3
"""Uploads that one fault hits."""
MOST_SIGNALLED: Final = 4
"""Operations after which one signal is sent."""
_ENOUGH: Final = ENDLESS + 1
"""Attempts at one request after which more would show nothing."""
_MIDDLE: Final = 1
"""Of those that last, or are never answered."""

_WHOLE: Final = frozenset({Verb.PUT, Verb.COMPLETE})
_BODIES: Final = frozenset({Verb.PUT, Verb.PART})
_ALL: Final = _WHOLE | _BODIES

_WORDS: Final[Mapping[Kind, str]] = {
    Kind.SILENT_SUCCESS: "the store answers 200 and keeps nothing",
    Kind.TRUNCATED_BODY: "the store answers 200 and keeps half of it",
    Kind.FLIPPED_BODY: "the store answers 200 and keeps it with one byte changed",
    Kind.LOST_REPLY: "it is stored and the reply is lost",
    Kind.WRONG_ETAG: "it is stored and another ETag is told",
    Kind.DUPLICATE_DELIVERY: "it is stored twice",
    Kind.SLOW_DOWN: "the store answers 503",
    Kind.INTERNAL_ERROR: "the store answers 500",
    Kind.RESET_BEFORE: "the connection is reset before it is read",
    Kind.RESET_IN_BODY: "the connection is reset within its body",
    Kind.HANG: "the store never answers",
    Kind.FORBIDDEN: "the store answers 403",
    Kind.NO_SUCH_BUCKET: "the store answers 404, no such bucket",
}
_LIES: Final[Mapping[Kind, Collection[Verb]]] = {
    Kind.SILENT_SUCCESS: _WHOLE,
    Kind.TRUNCATED_BODY: _BODIES,
    Kind.FLIPPED_BODY: _BODIES,
    Kind.LOST_REPLY: _WHOLE,
    Kind.WRONG_ETAG: _BODIES,
    Kind.DUPLICATE_DELIVERY: _WHOLE,
}
_FAILS_ONCE: Final[Mapping[Kind, Collection[Verb]]] = {
    Kind.SLOW_DOWN: _ALL,
    Kind.INTERNAL_ERROR: _ALL,
    Kind.RESET_BEFORE: _ALL,
    Kind.RESET_IN_BODY: _ALL,
    # The end of an upload in parts cannot be repeated everywhere: the upload is known no more.
    Kind.LOST_REPLY: _BODIES,
    Kind.HANG: _ALL,
}
_FAILS: Final[Mapping[Kind, Collection[Verb]]] = {Kind.SLOW_DOWN: _ALL, Kind.INTERNAL_ERROR: _ALL}
_REFUSES: Final[Mapping[Kind, Collection[Verb]]] = {Kind.FORBIDDEN: _ALL, Kind.NO_SUCH_BUCKET: _ALL}
_BY_KIND: Final[Mapping[TrialKind, Mapping[Kind, Collection[Verb]]]] = {
    TrialKind.STORE_LIES: _LIES,
    TrialKind.STORE_FAILS_ONCE: _FAILS_ONCE,
    TrialKind.STORE_FAILS: _FAILS,
    TrialKind.STORE_REFUSES: _REFUSES,
}
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class UploadPlan:
    """Of one recording."""

    def __init__(
        self,
        operations: Sequence[Operation],
        requests: Sequence[StoreRequest],
        spared: Collection[str],
        grace_s: float,
    ) -> None:
        """``requests``: of the recorded run; ``spared``: keys that nothing is done to."""
        self._operations: Final = operations
        self._requests: Final = requests
        self._sent: Final = [one for one in requests if one.step and one.key not in spared]
        self._grace_s: Final = grace_s

    def planned(self, kind: TrialKind, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """In the order in which to try them; and how many there are in all."""
        if kind is TrialKind.STORE_SIGNALLED:
            return self._signals(exhaustive=exhaustive)
        found: list[list[PlannedFault]] = []
        total = 0
        for fault, verbs in _BY_KIND[kind].items():
            steps = [one.step for one in self._sent if one.verb in verbs]
            total += len(steps)
            most = MOST if kind in (TrialKind.STORE_LIES, TrialKind.STORE_FAILS_ONCE) else _MIDDLE
            if fault is Kind.HANG:
                most = _MIDDLE
            places = _sampled(len(steps), most, exhaustive=exhaustive)
            found.append([self._fault(kind, fault, steps[place]) for place in places])
        return list(_in_turn(found)), total

    def find(self, step: int, variant: str) -> PlannedFault | None:
        """The one of this name; None: there is none such."""
        kinds = (*_BY_KIND, TrialKind.STORE_SIGNALLED)
        planned = (one for kind in kinds for one in self.planned(kind, exhaustive=True)[0])
        found = (one for one in planned if (one.point.step, one.point.variant) == (step, variant))
        return next(found, None)

    def _fault(self, kind: TrialKind, fault: Kind, step: int) -> PlannedFault:
        where = f"step {step} ({describe(self._operations[step - 1])})"
        words = f"{_WORDS[fault]}, {_often(kind)}at {where}"
        return PlannedFault(
            kind=kind,
            point=point(
                kind,
                step,
                f"{kind}-{fault}",
                words,
                f"{_WORDS[fault]}, {_often(kind)}at an upload",
                len(self._operations),
            ),
            action=self._action(kind, fault, step),
            covers=words,
        )

    def _action(self, kind: TrialKind, fault: Kind, step: int) -> StoreFault:
        if kind is TrialKind.STORE_REFUSES:
            # What is refused is the job, and not a request: from then on, whatever it asks.
            before = sum(0 < one.step < step for one in self._requests)
            return StoreFault(kind=fault, occurrence=before + 1, times=None, most=_ENOUGH)
        if kind is TrialKind.STORE_FAILS:
            return store_fault_at(self._operations, step, fault, times=None, most=_ENOUGH)
        return store_fault_at(self._operations, step, fault)

    def _signals(self, *, exhaustive: bool) -> tuple[list[PlannedFault], int]:
        """Right before an upload, or between the parts of one."""
        before = {max(1, one.step - 1) for one in self._sent if one.verb is Verb.PUT}
        within = {one.step for one in self._sent if one.verb in (Verb.CREATE, Verb.PART)}
        steps = sorted(before | within)
        places = _sampled(len(steps), MOST_SIGNALLED, exhaustive=exhaustive)
        found = [[self._signal(number, steps[place]) for place in places] for number in _SIGNALS]
        return list(_in_turn(found)), len(_SIGNALS) * len(steps)

    def _signal(self, number: signal.Signals, step: int) -> PlannedFault:
        kind = TrialKind.STORE_SIGNALLED
        words = f"{number.name} after step {step} ({describe(self._operations[step - 1])})"
        return PlannedFault(
            kind=kind,
            point=point(
                kind,
                step,
                f"{kind}-{number.name.lower()}",
                words,
                f"{number.name} during an upload",
                len(self._operations),
            ),
            action=SignalAt(step=step, number=int(number), grace_s=self._grace_s),
            covers=words,
        )


def _often(kind: TrialKind) -> str:
    match kind:
        case TrialKind.STORE_FAILS:
            return "as often as it is asked, "
        case TrialKind.STORE_REFUSES:
            return "whatever it is asked, from then on, "
        case _:
            return ""


def _sampled(count: int, most: int, *, exhaustive: bool) -> list[int]:
    """The middle one alone; first, last and middle; or more, in the order in which to try them."""
    if not exhaustive and most == _MIDDLE:
        return [count // 2] if count else []
    places = list(spread(count))
    return places if exhaustive else places[:most]


def _in_turn(groups: Sequence[Sequence[PlannedFault]]) -> Iterator[PlannedFault]:
    """One of each, then the next of each: any beginning has something of every group."""
    most = max(map(len, groups), default=0)
    return (group[rank] for rank in range(most) for group in groups if rank < len(group))
