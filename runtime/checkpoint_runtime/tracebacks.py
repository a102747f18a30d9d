"""Where in the stage's own code an exception came from: our own frames are left out."""

from __future__ import annotations

import functools
import os
import sysconfig
import traceback
from typing import Final

from checkpoint_runtime.texts import SHOWN, printable, shortened

_OURS: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def where_of(error: BaseException) -> str | None:
    """The last line of the stage's own code that an exception came from: ``film.py:33 in embed``.

    Lines of libraries count only where there is no other. None: no line of the stage was reached.
    """
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_ours(frame.f_code.co_filename)
    ]
    own = [frame for frame in frames if not frame[0].startswith(_libraries())]
    for file, line, name in reversed(own or frames):
        return shortened(printable(f"{_short(file)}:{line} in {name}"), SHOWN)
    return None


def traceback_of(error: BaseException) -> str | None:
    """The traceback as Python would print it, without our frames; None if none is left."""
    found = traceback.TracebackException.from_exception(error)
    _leave_out_ours(found)
    if not found.stack:
        return None
    lines = "".join(found.format()).splitlines()
    return "\n".join(printable(line) for line in lines)


def _leave_out_ours(found: traceback.TracebackException) -> None:
    # A chain of causes has no loops here: TracebackException cuts them.
    link: traceback.TracebackException | None = found
    while link is not None:
        link.stack = traceback.StackSummary.from_list(
            [frame for frame in link.stack if not _is_ours(frame.filename)]
        )
        link = link.__cause__ or link.__context__


def _is_ours(file: str) -> bool:
    return os.path.abspath(file).startswith(_OURS)


def _short(file: str) -> str:
    """As seen from the current directory, if it lies below that."""
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:  # the stage has removed it
        return file
    return file.removeprefix(here)


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return ("<frozen ", *(os.path.join(paths[name], "") for name in names))
