"""Which call of a run fails, and how: of every operation its main error, and others."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.evidence import TrialKind
from pytest_checkpoint.phases.faults.planned import PlannedFault, point
from pytest_checkpoint.record.describe import describe, shown_path, signature
from pytest_checkpoint.record.faults import (
    CLOSE,
    Identity,
    Injection,
    can_be_short,
    identity_of,
    injectable,
)
from pytest_checkpoint.record.operations import MapShared, Operation
from pytest_checkpoint.states.order import spread

SAMPLE: Final = 4
"""Operations at which an error is tried that is not the main one, of each error."""
SYNCS: Final = frozenset({"fsync", "fdatasync"})
_OPENS: Final = frozenset({"open", "openat", "openat2", "creat"})
_MAPS: Final = frozenset({"mmap", "mprotect"})
_SHORT: Final = "short"
_ON: Final = "-on"
_CLOSE: Final = "close-"


@dataclass(frozen=True, slots=True)
class _Way:
    """How an operation fails."""

    error: int
    short: bool = False
    lasting: bool = False

    @property
    def variant(self) -> str:
        if self.short:
            return _SHORT
        return errno.errorcode[self.error].lower() + (_ON if self.lasting else "")

    def words(self, step: int) -> str:
        if self.short:
            return f"a short write at step {step}"
        name = errno.errorcode[self.error]
        return f"{name} from step {step} on" if self.lasting else f"{name} at step {step}"


_EIO: Final = _Way(errno.EIO)
_CUT: Final = _Way(errno.EIO, short=True)
_FURTHER_AT_WRITES: Final = (
    _Way(errno.ENOSPC),
    _Way(errno.EDQUOT),
    _Way(errno.EIO, lasting=True),
)
_FURTHER_AT_OPENS: Final = (_Way(errno.EROFS, lasting=True),)


class _Run:
    """The operations of a run, and which of its like each is: counted once for all."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations
        met: Counter[Identity] = Counter()
        self._found: dict[int, tuple[Identity, int]] = {}
        for operation in operations:
            if injectable(operation):
                identity = identity_of(operation)
                met[identity] += 1
                self._found[operation.step] = (identity, met[identity])

    def injection(self, step: int, way: _Way) -> Injection:
        identity, occurrence = self._found[step]
        return Injection(
            **identity._asdict(),
            occurrence=occurrence,
            error=way.error,
            short=way.short,
            lasting=way.lasting,
        )


def planned_errors(
    operations: Sequence[Operation], closes: Sequence[Operation], *, exhaustive: bool
) -> tuple[list[PlannedFault], list[PlannedFault]]:
    """The main error of every operation; and others, in the order in which to try them.

    ``closes``: the operations of another run, which was recorded with its closes.
    """
    run = _Run(operations)
    main: dict[int, list[PlannedFault]] = {}
    for operation in operations:
        for way in _main(operation):
            main.setdefault(operation.step, []).append(_planned(run, operation, way))
    steps = list(main)
    ranks = max(map(len, main.values()), default=0)
    needed = [
        main[steps[index]][rank]
        for rank in range(ranks)
        for index in spread(len(steps))
        if rank < len(main[steps[index]])
    ]
    others = [*_sampled(run, exhaustive=exhaustive), *_short(run), *_closing(_Run(closes))]
    return needed, others


def planned_with(operations: Sequence[Operation], error: int) -> list[PlannedFault]:
    """This errno, at every operation that can fail and has not."""
    run = _Run(operations)
    return [
        _planned(run, one, _Way(error)) for one in operations if injectable(one) and not one.error
    ]


def count_of(operations: Sequence[Operation], closes: Sequence[Operation]) -> int:
    """How many there are in all."""
    needed, others = planned_errors(operations, closes, exhaustive=True)
    return len(needed) + len(others)


def find_error(
    operations: Sequence[Operation], closes: Sequence[Operation], step: int, variant: str
) -> PlannedFault | None:
    """The one at this step; None: there is none such."""
    needed, others = planned_errors(operations, closes, exhaustive=True)
    wanted = f"{step}.{variant}"
    return next((one for one in (*needed, *others) if one.point.id == wanted), None)


def wants_closes(variant: str) -> bool:
    return variant.startswith(_CLOSE)


def is_sync(operation: Operation) -> bool:
    return operation.call in SYNCS


def _main(operation: Operation) -> Iterator[_Way]:
    if operation.error or not injectable(operation):
        return
    if operation.call in _MAPS or any(isinstance(one, MapShared) for one in operation.effects):
        yield _Way(errno.ENOMEM)
    elif operation.call in _OPENS:
        yield _Way(errno.EMFILE)
        yield _Way(errno.EROFS)
    else:
        yield _EIO


def _sampled(run: _Run, *, exhaustive: bool) -> Iterator[PlannedFault]:
    operations = run.operations
    writes = [one for one in operations if one.write is not None and any(_main(one))]
    opens = [one for one in operations if one.call in _OPENS and any(_main(one))]
    for ways, places in ((_FURTHER_AT_WRITES, writes), (_FURTHER_AT_OPENS, opens)):
        order = spread(len(places))
        for way in ways:
            for index in order if exhaustive else order[:SAMPLE]:
                yield _planned(run, places[index], way)


def _short(run: _Run) -> Iterator[PlannedFault]:
    writes = [one for one in run.operations if not one.error and can_be_short(one)]
    for index in spread(len(writes)):
        yield _planned(run, writes[index], _CUT)


def _planned(run: _Run, operation: Operation, way: _Way) -> PlannedFault:
    step = operation.step
    what = "short write" if way.short else "error"
    where = describe(operation)
    is_main = way in set(_main(operation))
    return PlannedFault(
        kind=TrialKind.IO_ERROR,
        point=point(
            TrialKind.IO_ERROR,
            step,
            way.variant,
            f"{way.words(step)} ({where})",
            f"{what} at {signature(operation)}",
            len(run.operations),
        ),
        action=run.injection(step, way),
        covers=f"{way.words(step)} ({where})" if is_main else "",
    )


def _closing(run: _Run) -> Iterator[PlannedFault]:
    """Every close of a file that was written to since it was closed last.

    Its step is that of the last operation before it that is no close.
    """
    written: set[bytes] = set()
    step = 0
    seen: Counter[str] = Counter()
    found: list[PlannedFault] = []
    total = sum(one.call != CLOSE for one in run.operations)
    for operation in run.operations:
        if operation.call != CLOSE:
            step += 1
            if operation.write is not None:
                written.add(operation.path)
            continue
        if operation.path not in written or operation.error:
            continue
        written.discard(operation.path)
        variant = f"{_CLOSE}eio"
        seen[f"{step}.{variant}"] += 1
        number = seen[f"{step}.{variant}"]
        variant += f"-{number}" if number > 1 else ""
        name = shown_path(operation.path)
        found.append(
            PlannedFault(
                kind=TrialKind.IO_ERROR,
                point=point(
                    TrialKind.IO_ERROR,
                    step,
                    variant,
                    f"EIO after step {step} (close {name})",
                    f"error at {signature(operation)}",
                    total,
                ),
                action=run.injection(operation.step, _EIO),
            )
        )
    yield from (found[index] for index in spread(len(found)))
