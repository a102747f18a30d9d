"""The lines of a state log: a checksum and one JSON record each, and what a crash leaves of them.

    2f9e0f3c {"format": 4, "pipeline": "film"}
    c01dcafe {"done": "research", "value": {"frames": 3}, …}

The checksum is the CRC-32 of the record, begun with the checksum of the line before it (0 for the
first): a line that is missing, doubled or out of its place fits no better than one that was
altered. What the first line says follows from the pipeline's name alone: so a torn one is told from
a file that is not ours.

A line is appended with one write and synced before the next one is. A crash can leave the *last*
line short, and nothing else: a record holds no newline, so a line without one was cut, and so was a
last line whose checksum does not fit (its bytes did not all reach the disk). Zeros may follow: the
length of the file reached the disk, its data did not. Such a tail was never acknowledged and may
go. A line in the middle that does not fit is damage that no crash explains, and is refused. A last
line that was acknowledged and damaged later cannot be told from a torn one: what it said is done
again.

A run that was stopped for long, and whose workspace another run has taken over meanwhile, may still
add a line when it wakes up: to the end of the file, as all are, and begun with the checksum of the
last line that it knows. So it does not fit the line before it, but one further up, of an owner
before (``owner`` in a record: a run begins here). That is how such a late line is told from damage;
it counts for nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from checkpoint_runtime.errors import DamagedStateError

KEEP = "To start over, take another workspace; nothing has been changed."
LATE = b'{"late": true}'
"""Stands for a late line among the others, so that their numbers are those in the file."""
_CHECKSUM_BYTES = 9  # with the space after it
_AT_ONCE = 200


class Lines(NamedTuple):
    """What a log holds."""

    path: Path
    """For messages only."""
    bodies: list[bytes]
    """The JSON of each record."""
    sound_bytes: int
    """Up to where the file is whole. What follows is the torn tail; 0: not even a first line."""
    checksum: int
    """Of the last sound line: where the next one begins."""
    doubtful: bool = False
    """The torn tail has its newline: a crash can leave that, and so can a later change of it."""
    late: tuple[int, ...] = ()
    """Numbers of the lines of a run that had been taken over. Those among the others stand in
    ``bodies`` as :data:`LATE`; behind them they are part of the torn tail."""

    def records(self) -> Iterator[dict[str, Any]]:
        """Each record, in order.

        :raises DamagedStateError: a line whose checksum fits is none.
        """
        # Many at once, which takes a tenth of the time of a call each; not all at once, so that
        # one part of them takes the memory, warm yet, of the one before.
        for begin in range(0, len(self.bodies), _AT_ONCE):
            yield from _records(self.bodies[begin : begin + _AT_ONCE], self.path, begin + 1)


def framed(record: str, checksum: int) -> tuple[bytes, int]:
    """The line of a record after one with this checksum, and its own."""
    body = record.encode()
    checksum = zlib.crc32(body, checksum)
    return b"%08x %s\n" % (checksum, body), checksum


def parsed(line: bytes) -> dict[str, Any]:
    """The record of a line that :func:`framed` made."""
    record: dict[str, Any] = json.loads(line[_CHECKSUM_BYTES:])
    return record


def parse(data: bytes, first: bytes, path: Path) -> Lines:
    """Read a whole log.

    :param first: its first line, if it is the one that is looked for.
    :param path: for messages only.
    :raises DamagedStateError: a line that no crash leaves behind.
    """
    *lines, tail = data.split(b"\n")
    bodies: list[bytes] = []
    checksum = sound_bytes = position = 0
    doubtful = False
    late: Late | None = None
    for number, line in enumerate(lines, start=1):
        body = line[_CHECKSUM_BYTES:]
        fitting = zlib.crc32(body, checksum)
        position += len(line) + 1
        if line[:_CHECKSUM_BYTES] != b"%08x " % fitting:
            late = late or Late(bodies)
            if late.takes(number, line):
                bodies.append(LATE)
                continue
            if number == len(lines) and not tail.strip(b"\0"):
                tail = line + b"\n" + tail
                # Zeros where its bytes should be: they did not all reach the disk, no doubt.
                doubtful = b"\0" not in line
                break
            raise _damaged(path, number)
        checksum = fitting
        sound_bytes = position
        bodies.append(body)
        if late is not None:
            late.passed(body)
    while bodies and bodies[-1] is LATE:
        bodies.pop()
    if not bodies:
        _require_torn(tail, first, path)
    numbers = () if late is None else tuple(late.numbers)
    return Lines(path, bodies, sound_bytes, checksum, doubtful, numbers)


class Late:
    """Tells the late lines of runs that had been taken over from damage.

    Made where a line does not fit, which is rare: so it goes through what was read again.
    """

    def __init__(self, bodies: Sequence[bytes]) -> None:
        """
        :param bodies: of all lines before, which fit.
        """
        self.numbers: list[int] = []
        self._checksum = self._owner = 0
        self._owners = {0: 0}
        """Checksum of each line → the owner that wrote it."""
        for body in bodies:
            self.passed(body)

    def passed(self, body: bytes) -> None:
        """A line that fits."""
        self._checksum = zlib.crc32(body, self._checksum)
        self._owner = _owner_in(body, self._owner)
        self._owners[self._checksum] = self._owner

    def takes(self, number: int, line: bytes) -> bool:
        """Whether a line that does not fit is one that an owner before the present one wrote."""
        body = line[_CHECKSUM_BYTES:]
        try:
            own = int(line[: _CHECKSUM_BYTES - 1], 16)
        except ValueError:
            return False
        for begun, owner in self._owners.items():
            # Or one with which a run would have taken over, had the present one not been first.
            was_late = owner < self._owner or _owner_in(body, owner) > owner
            if was_late and zlib.crc32(body, begun) == own:
                # A run that does not look may write another one behind it.
                self._owners[own] = -1
                self.numbers.append(number)
                return True
        return False


def _owner_in(body: bytes, owner: int) -> int:
    """The owner that a line belongs to, after one of this owner."""
    if owner == 0:
        return 1  # the first line names none
    if b'"owner"' not in body:
        return owner
    try:
        return int(json.loads(body)["owner"]["token"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return owner  # in a value, say


def _damaged(path: Path, number: int) -> DamagedStateError:
    before = number - 1
    rescue = (
        f"The {before} lines before it are whole: `head -n {before} {path.name} > rescued`, put in "
        "its place, keeps what they say. "
        if before > 1
        else ""
    )
    return DamagedStateError(
        path,
        number,
        f"the checksum does not fit, and it is not the last line. {rescue}{KEEP}",
    )


def _require_torn(tail: bytes, first: bytes, path: Path) -> None:
    if not first.startswith(tail.rstrip(b"\0")):
        raise DamagedStateError(path, 1, f"this is not the beginning of a state log. {KEEP}")


def _records(bodies: list[bytes], path: Path, first: int) -> list[dict[str, Any]]:
    try:
        found = json.loads(b"[%s]" % b",".join(bodies))
    except (ValueError, RecursionError):
        found = []
    if len(found) == len(bodies) and set(map(type, found)) == {dict} and all(found):
        return list(found)
    return [_record(body, path, number) for number, body in enumerate(bodies, start=first)]


def _record(body: bytes, path: Path, number: int) -> dict[str, Any]:
    problem = "is no record"
    try:
        record = json.loads(body)
        if type(record) is dict and record:
            return record
    except (ValueError, RecursionError) as error:
        problem = f"cannot be read as JSON ({error})"
    raise DamagedStateError(path, number, f"the checksum fits, but this {problem}. {KEEP}")
