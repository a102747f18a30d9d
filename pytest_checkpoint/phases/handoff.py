"""Read a subject's handoff: a file in the workspace, or what a command prints.

Reading changes nothing but times of access; what a command does, its caller has to undo.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Final

from checkpoint_contracts.handoff import HANDOFF_COMMAND
from checkpoint_contracts.handoff_format import HandoffError, Page, read_page
from checkpoint_contracts.observations import Handoff
from checkpoint_contracts.wording import ending, last_line
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.subject import Command

MOST_BYTES: Final = 1 << 20
"""Of one file, or of what a command prints."""
_MOST_IN_ALL: Final = 8 << 20
_SHOWN: Final = 1000
_LOOKED_BACK: Final = 8
"""Pages: a short round is told as one; a long one ends at the size of all."""
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_handoff(bench: Bench, stages: Collection[str], deadline_s: float) -> Handoff:
    """What it says now of these stages. ``deadline_s``: of a command.

    The subject has a handoff.
    """
    declared = bench.subject.handoff
    assert declared is not None
    if isinstance(declared, PurePosixPath):
        name, folder = str(declared), str(declared.parent)
        try:
            data = _file(bench.client.workspace / declared)
        except HandoffError as error:
            return Handoff(problem=f"{name}: {error}")
        if data is None:
            return Handoff(absent=f"{name} is not there")
    else:
        name, folder = HANDOFF_COMMAND, "."
        said = _answer(bench, declared, deadline_s)
        if isinstance(said, Handoff):
            return said
        data = said
    text = bench.clean(data[: 4 * _SHOWN].decode("utf-8", "backslashreplace"))[:_SHOWN]
    try:
        page = read_page(data)
        done = _done_of_pages(bench.client.workspace, folder, page)
    except HandoffError as error:
        return Handoff(problem=f"{name}: {error}", text=text)
    return Handoff(
        done=tuple(stage for stage in (*done, *page.done) if stage in stages),
        next=tuple(stage for stage in page.next if stage in stages),
        names_next=bool(page.next),
        failed=tuple(stage for stage in page.failed if stage in stages),
        text=text,
    )


def _answer(bench: Bench, command: Command, deadline_s: float) -> bytes | Handoff:
    """What the command printed, or what its silence says."""
    result = bench.ask(command, deadline_s)
    execution = bench.execution(result)
    if not execution.usable:
        return Handoff(unread=f"{HANDOFF_COMMAND}: {execution.refusal or execution.problem}")
    if execution.timed_out:
        return Handoff(problem=f"{HANDOFF_COMMAND} {ending(execution)}", text=execution.output)
    if not execution.succeeded:
        said = last_line(execution.output)
        how = f"{HANDOFF_COMMAND} {ending(execution)}"
        return Handoff(absent=f"{how} and says last: {said}" if said else how)
    if not result.output.strip():
        return Handoff(absent=f"{HANDOFF_COMMAND} prints nothing")
    data = result.output.encode("utf-8", "surrogateescape")
    if len(data) >= MOST_BYTES:  # no more of it is kept
        return Handoff(problem=f"{HANDOFF_COMMAND} prints {_too_large(MOST_BYTES)}")
    return data


def _done_of_pages(workspace: Path, folder: str, page: Page) -> list[str]:
    """What the pages say is done, in order. A page may have pages of its own, which come first."""
    done: list[str] = []
    ahead: list[tuple[str, str, tuple[str, ...]]] = _named_by(page, folder, ())
    total = 0
    while ahead:
        name, path, through = ahead.pop()
        try:
            data, read = _page(workspace, path, through)
        except HandoffError as error:
            raise HandoffError(f"its page {name}: {error}") from error
        total += len(data)
        if total > _MOST_IN_ALL:
            raise HandoffError(f"its pages hold {_too_large(_MOST_IN_ALL)}")
        # Read from the last page to the first, and turned round in the end.
        done += reversed(read.done)
        ahead += _named_by(read, posixpath.dirname(path), (*through[-_LOOKED_BACK:], path))
    return done[::-1]


def _named_by(
    page: Page, folder: str, through: tuple[str, ...]
) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (name, posixpath.normpath(posixpath.join(folder, name)), through) for name in page.pages
    ]


def _page(workspace: Path, path: str, through: tuple[str, ...]) -> tuple[bytes, Page]:
    if posixpath.isabs(path) or path.split("/", maxsplit=1)[0] == "..":
        raise HandoffError("it does not lie in the workspace")
    if path in through:
        raise HandoffError("it leads back to itself")
    data = _file(workspace / path)
    if data is None:
        raise HandoffError("it is not there")
    return data, read_page(data)


def _file(path: Path) -> bytes | None:
    """None if it is not there. HandoffError if it cannot be read; a pipe is not waited for."""
    try:
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name of a page
        raise HandoffError(f"it cannot be opened: {error}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise HandoffError("it is no file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise HandoffError(f"it holds {_too_large(MOST_BYTES)}")
    return data


def _too_large(most: int) -> str:
    return f"more than {most >> 20} MiB, which is not read: use pages, or judge a shorter job"
