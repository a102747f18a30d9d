"""Which paths of the workspace a subject's globs mean.

A glob is relative to the workspace. ``*``, ``?`` and ``[…]`` stand for parts of one name, hidden
names too; ``**`` for any number of directories, none among them, and at the end for all that lies
below. Names are bytes; TMPDIR is never meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from pytest_checkpoint.record.operations import WORKSPACE

_ANY_DEPTH: Final = b"**"
_PREFIX: Final = WORKSPACE + b"/"


class Globs:
    """Some globs, as one."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._patterns: Final = [_parts(os.fsencode(glob)) for glob in globs]

    def match(self, path: bytes) -> bool:
        """``path`` as in a recording: ``w/out/report.json``."""
        if not path.startswith(_PREFIX):
            return False
        names = path[len(_PREFIX) :].split(b"/")
        return any(_match(pattern, names) for pattern in self._patterns)


def _parts(glob: bytes) -> list[bytes]:
    return [part for part in glob.split(b"/") if part not in (b"", b".")]


def _match(pattern: Sequence[bytes], names: Sequence[bytes]) -> bool:
    if not pattern:
        return not names
    first, rest = pattern[0], pattern[1:]
    if first != _ANY_DEPTH:
        return bool(names) and fnmatchcase(names[0], first) and _match(rest, names[1:])
    if not rest:
        return bool(names)
    return any(_match(rest, names[depth:]) for depth in range(len(names) + 1))
