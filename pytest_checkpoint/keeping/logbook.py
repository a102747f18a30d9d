"""The logbook of one subject: what was found out of it in one session, on disk as it comes.

``.checkpoint-contracts/SUBJECT/logbook.jsonl``: first whose it is (:class:`Begun`), then a line for
each finding, or for what is to be forgotten. When the subject is judged its findings stand in the
evidence, and the logbook says no more than that it is finished.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from checkpoint_contracts import archive
from pytest_checkpoint.keeping.lines import Lines, line_of, read_lines, unwritable

LOGBOOK: Final = "logbook.jsonl"
FINISHED: Final = "finished"
"""The finding of a subject that is judged: the only one that its logbook holds then."""
_BEGUN: Final = "begun"
_KEPT: Final = "keep"
_FORGOTTEN: Final = "forget"

Finding = TypeVar("Finding")


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Whose logbook it is."""

    session: str
    subject: str
    definition: Mapping[str, str]
    """Part → what it was; see :mod:`pytest_checkpoint.keeping.definition`."""


@dataclass(frozen=True, slots=True)
class _Serial:
    """As it was read."""

    part: object


def begun_in(folder: Path) -> Begun | None:
    """Whose logbook there is; None: there is none, or nothing of it can be read."""
    return _begun(read_lines(folder / LOGBOOK, 1)[0])


def unfinished_in(folder: Path) -> Begun | None:
    """The same, unless that subject is judged."""
    values = read_lines(folder / LOGBOOK, 2)[0]
    is_finished = len(values) > 1 and values[1][:2] == [_KEPT, FINISHED]
    return None if is_finished else _begun(values)


def _begun(values: Sequence[Any]) -> Begun | None:
    try:
        return archive.typed(Begun, values[0][1]) if values else None
    except (archive.ArchiveError, LookupError, TypeError):
        return None  # written by another version: nobody's


class KeptLogbook:
    """While the ``with`` block lasts, findings go to the file."""

    def __init__(self, folder: Path) -> None:
        """Reads what is there; :attr:`begun` says whose it is."""
        self._path: Final = folder / LOGBOOK
        self._known: Final[dict[str, object]] = {}
        values, self._whole_bytes = read_lines(self._path)
        self.begun = _begun(values)
        for verb, name, *part in values[1:]:
            if verb == _FORGOTTEN:
                self._forget(name, *part)
            else:
                self._known[name] = _Serial(part[0])

    def begin(self, begun: Begun) -> None:
        """Forget what is there, and say whose it is from now on. Whole, or not at all.

        HarnessError if there is no room.
        """
        self._replace((_BEGUN, archive.plain(begun)))
        self.begun = begun
        self._known.clear()

    def _replace(self, *lines: tuple[object, ...]) -> None:
        text = b"".join(map(line_of, lines))
        beside = self._path.with_name(f"{LOGBOOK}.new")
        try:
            beside.write_bytes(text)
            os.replace(beside, self._path)
        except OSError as error:
            raise unwritable(self._path, error) from error
        self._whole_bytes = len(text)

    def __enter__(self) -> Self:
        self._lines = Lines(self._path, self._whole_bytes)
        self._lines.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.__exit__(kind, value, trace)

    def finish(self, finding: Any) -> None:
        """Only this is worth keeping now, as :data:`FINISHED`. Not within the ``with`` block.

        HarnessError if there is no room.
        """
        assert self.begun is not None
        kept = (_KEPT, FINISHED, archive.plain(finding))
        self._replace((_BEGUN, archive.plain(self.begun)), kept)

    # --- as phases see it ---

    def recall(self, name: str, kind: type[Finding]) -> Finding | None:
        """ArchiveError if it is of another kind than was kept."""
        known = self._known.get(name)
        if isinstance(known, _Serial):
            known = self._known[name] = archive.typed(kind, known.part)
        assert known is None or isinstance(known, kind)
        return known

    def keep(self, name: str, finding: Any) -> None:
        self._lines.append((_KEPT, name, archive.plain(finding)))
        self._known[name] = finding

    def forget(self, *beginnings: str) -> None:
        self._lines.append((_FORGOTTEN, *beginnings))
        self._forget(*beginnings)

    def _forget(self, *beginnings: str) -> None:
        for name in [one for one in self._known if one.startswith(beginnings)]:
            del self._known[name]

    def count(self, beginning: str) -> int:
        """How many names begin so."""
        return sum(name.startswith(beginning) for name in self._known)

    def all_of(self, beginning: str, kind: type[Finding]) -> Iterator[Finding]:
        """Those whose names begin so, in the order in which they were kept."""
        for name in [one for one in self._known if one.startswith(beginning)]:
            finding = self.recall(name, kind)
            if finding is not None:
                yield finding
