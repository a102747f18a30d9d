"""Sessions of pytest that have not ended: what ``--checkpoint-continue`` can go on with.

``.checkpoint-contracts/.sessions/ID`` stands from the first subject on until the session has ended,
and is locked for as long as its process lives. So one that stands and is not locked was
interrupted, whatever interrupted it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.keeping.logbook import LOGBOOK, begun_in, unfinished_in
from pytest_checkpoint.keeping.places import KEPT, cannot_be_kept, make_top
from pytest_checkpoint.record.lock_file import lock_file

_SESSIONS: Final = ".sessions"


class KeptSession:
    """This session, under an id that its subjects' logbooks bear."""

    def __init__(self, rootdir: Path, number: str = "") -> None:
        """``number``: its id, where another process has chosen it."""
        self._rootdir: Final = rootdir
        self.id: Final = number or secrets.token_hex(8)
        self.began = ""
        """When the interrupted session was begun, for people; empty: nothing is continued."""
        self.is_paused = False
        """It was interrupted, and something is kept to go on with."""
        self._lock: int | None = None

    @classmethod
    def interrupted(cls, rootdir: Path) -> Self:
        """The latest one that was. UserError if there is none of which anything is kept."""
        for path in _latest_first(rootdir):
            session = cls(rootdir, path.name)
            if not session.begin():
                continue  # it goes on elsewhere
            if session.has_logbooks:
                made = datetime.fromtimestamp(path.stat().st_mtime, tz=UTC).astimezone()
                session.began = f"{made:%Y-%m-%d %H:%M}"
                return session
            session.end()
        raise UserError(
            "--checkpoint-continue: there is nothing to continue: no session under "
            f"{rootdir / KEPT} was interrupted after a subject's control run; leave the option out"
        )

    def begin(self) -> bool:
        """Say that it goes on, if that was not said yet. False: another process does so."""
        if self._lock is not None:
            return True
        folder = make_top(self._rootdir) / _SESSIONS
        try:
            folder.mkdir(exist_ok=True)
            self._lock = lock_file(folder / self.id)
        except OSError as error:
            raise cannot_be_kept(folder, error) from error
        return self._lock is not None

    @property
    def has_logbooks(self) -> bool:
        """Whether anything of it is kept."""
        found = map(begun_in, _folders(self._rootdir))
        return any(begun is not None and begun.session == self.id for begun in found)

    def unfinished(self, judged: Set[str]) -> list[str]:
        """Subjects of it, besides those, of which something is kept and that are not judged."""
        found = map(unfinished_in, _folders(self._rootdir))
        ours = {begun.subject for begun in found if begun is not None and begun.session == self.id}
        return sorted(ours - judged)

    def pause(self) -> None:
        """Interrupted: it can be continued, if anything of it is kept."""
        if self._lock is not None:
            self.is_paused = self.has_logbooks
            self.leave()

    def leave(self) -> None:
        """Nothing was judged now: what there was to continue can still be continued."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def end(self) -> None:
        """There is nothing to continue any more."""
        if self._lock is not None:
            (self._rootdir / KEPT / _SESSIONS / self.id).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


def _latest_first(rootdir: Path) -> list[Path]:
    folder = rootdir / KEPT / _SESSIONS
    try:
        return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    except OSError:
        return []


def _folders(rootdir: Path) -> Iterator[Path]:
    return (path.parent for path in (rootdir / KEPT).glob(f"*/{LOGBOOK}"))
