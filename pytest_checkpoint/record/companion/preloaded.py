"""Which processes of the job have a library loaded that all of them were to be given.

A program that is linked statically, that changes its user, or that is started with an environment
of its own takes no heed of ``LD_PRELOAD``. Nothing says so, but the list of what it has mapped.

Standard library only, as all of the launcher.
"""

from __future__ import annotations

import os
from typing import Any

from pytest_checkpoint.record.companion.processes import below, name, stat_of

_START = 22 - 3


class Preloaded:
    """Looks now and then at the processes that there are."""

    def __init__(self, library: str | None) -> None:
        """``library``: its path; None: nothing is looked at."""
        self._library = None if library is None else os.fsencode(os.path.realpath(library))
        self._with: set[tuple[int, bytes]] = set()
        self._without: dict[tuple[int, bytes], str] = {}
        self._doubted: set[tuple[int, bytes]] = set()

    def look(self, top: int) -> None:
        """At the process of this number and those below it."""
        if self._library is None:
            return
        for process in below(top):
            has, fields = self._has(process), stat_of(process)
            if has is None or not fields:
                continue
            known = process, fields[_START]
            if has:
                self._with.add(known)
            elif known not in self._doubted:
                self._doubted.add(known)  # it may only just be starting another program
            else:
                self._without[known] = name(process)

    def told(self) -> dict[str, Any]:
        """Whether one was seen that has it, and the names of those that never had."""
        without = (one for known, one in self._without.items() if known not in self._with)
        return {"loaded": bool(self._with), "not_loaded": sorted(set(without))}

    def _has(self, process: int) -> bool | None:
        """None: it has ended, and has nothing."""
        try:
            with open(f"/proc/{process}/maps", "rb") as file:
                mapped = file.read()
        except PermissionError:
            return False  # it has another user's rights: it was not loaded there
        except (FileNotFoundError, ProcessLookupError):
            return None
        assert self._library is not None
        return None if not mapped else self._library in mapped
