"""Operations in words.

:func:`describe` is for people. :func:`signature` is the same without what differs from round to
round of a loop, so that one flaw met in every round is one cause: sizes, offsets, numbers, digests
and the random parts of temporary names are left out.
"""

from __future__ import annotations

import errno
import re
from typing import Final

from pytest_checkpoint.record.operations import (
    TEMPORARY,
    WORKSPACE,
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    MapShared,
    NodeKind,
    Operation,
    Origin,
    Rename,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.tree.image import printable

_CREATE_VERBS: Final = {
    NodeKind.FILE: "create",
    NodeKind.DIRECTORY: "mkdir",
    NodeKind.SYMLINK: "symlink",
    NodeKind.FIFO: "create FIFO",
    NodeKind.SOCKET: "create socket",
    NodeKind.DEVICE: "create device",
}
_VERBS: Final = {
    call: verb
    for verb, calls in {
        "open": "openat openat2 creat",
        "write": "writev pwrite64 pwritev pwritev2",
        "rename": "renameat renameat2",
        "link": "linkat",
        "unlink": "unlinkat",
        "mkdir": "mkdirat",
        "symlink": "symlinkat",
        "mknod": "mknodat",
        "truncate": "ftruncate",
        "allocate": "fallocate",
        "chmod": "fchmod fchmodat fchmodat2",
        "chown": "lchown fchown fchownat",
        "set times of": "utime utimes futimesat utimensat",
        "set attribute of": "setxattr lsetxattr fsetxattr",
        "remove attribute of": "removexattr lremovexattr fremovexattr",
    }.items()
    for call in calls.split()
}
"""System call → what to call it, where its name is not good enough."""


def describe(operation: Operation) -> str:
    """One operation for people: ``write state.json (4096 bytes at 0)``, ``event "done 3"``."""
    verb, detail = _words(operation)
    if operation.is_event:
        return f"{verb} {' '.join(_quoted(line) for line in _lines(operation))}"
    text = " ".join(filter(None, (verb, _places(operation))))
    return _failed(operation, text) if operation.error else text + detail


def signature(operation: Operation) -> str:
    """What stays the same of :func:`describe` when a loop does the same with other names."""
    verb, _ = _words(operation)
    if operation.is_event:
        return f"{verb} {' '.join(_quoted(normalized(line)) for line in _lines(operation))}"
    text = " ".join(filter(None, (verb, normalized(_places(operation)))))
    return _failed(operation, text) if operation.error else text


def shown_path(path: bytes) -> str:
    """A recorded path as the subject's author knows it: within the workspace, or in $TMPDIR."""
    if path == WORKSPACE:
        return "."
    if path.startswith(WORKSPACE + b"/"):
        return printable(path[len(WORKSPACE) + 1 :])
    if path == TEMPORARY or path.startswith(TEMPORARY + b"/"):
        return "$TMPDIR" + printable(path[len(TEMPORARY) :])
    return printable(path)


def _failed(operation: Operation, text: str) -> str:
    name = errno.errorcode.get(operation.error, f"error {operation.error}")
    return f"{text} fails: {name}"


def _lines(operation: Operation) -> list[str]:
    data = b"".join(e.data for e in operation.effects if isinstance(e, Event))
    return [printable(line) for line in data.removesuffix(b"\n").split(b"\n")]


def _quoted(line: str) -> str:
    return f'"{line}"'


def _places(operation: Operation) -> str:
    """The path, or both paths, of an operation."""
    path = shown_path(operation.path)
    lead = _leading(operation)
    if isinstance(lead, Create) and lead.kind is NodeKind.SYMLINK and not operation.target_path:
        return f"{path} → {printable(lead.target)}"
    if not operation.target_path:
        return path
    arrow = "↔" if isinstance(lead, Rename) and lead.exchange else "→"
    return f"{path} {arrow} {shown_path(operation.target_path)}"


def _leading(operation: Operation) -> Effect | None:
    """The effect that says what an operation was for: times change along with everything."""
    telling = [effect for effect in operation.effects if not isinstance(effect, SetTime)]
    return next(iter(telling or operation.effects), None)


def _words(operation: Operation) -> tuple[str, str]:
    """What it did, and the numbers that go after the paths."""
    verb = _VERBS.get(operation.call, operation.call)
    if operation.is_event:
        return "event", ""
    if operation.target_path:  # from name to name: the call's own word, also across the border
        return verb, ""
    match _leading(operation):
        case Create(kind=kind):
            return _CREATE_VERBS[kind], ""
        case CreateUnnamed():
            return "create unnamed file in", ""
        case Write(offset=offset, data=data, origin=origin):
            word = "store through mmap" if origin is Origin.MAPPED else "write"
            return word, f" ({_bytes(len(data))} at {offset})"
        case Truncate(size=size):
            return "truncate", f" to {size}"
        case Allocate(offset=offset, length=length, zero=zero):
            return "zero" if zero else "allocate", f" ({_bytes(length)} at {offset})"
        case MapShared():
            return "map shared", ""
        case SetMode(mode=mode):
            return "chmod", f" to {mode:04o}"
        case SetOwner(user=user, group=group):
            return "chown", f" to {user}:{group}"
        case SetTime():
            return "set times of", ""
        case SetAttribute(name=name, value=value):
            return f"{'remove' if value is None else 'set'} {printable(name)} of", ""
        case Link() | Unlink() | Rename() | Sync() | Event() | None:
            return verb, ""


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


# What differs from round to round.

_UUID: Final = re.compile(
    r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-zA-Z])"
)
_HEX: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8,}(?![0-9a-zA-Z])")
_DIGITS: Final = re.compile(r"[0-9]+")
_TEMPORARY_NAME: Final = re.compile(
    r"(?<![0-9a-zA-Z])tmp(?:[a-z0-9_]{8}|[0-9a-zA-Z]{6})(?![0-9a-zA-Z_])"
)
"""Python's tempfile: tmp and eight of its letters; Rust's and others': six of any letters."""
_PIECE: Final = re.compile(r"[0-9a-zA-Z_]+")
_SUBPIECE: Final = re.compile(r"[0-9a-zA-Z]+")
_RUN: Final = re.compile(r"[0-9]+|[a-z]+|[A-Z]+")
_VOWELS: Final = frozenset("aeiouy")


def normalized(text: str) -> str:
    """Digests and runs of digits as ``#``, random parts of names as ``*``.

    >>> normalized(".state.json.x8k2l1qz"), normalized("shard-00012.bin"), normalized("tmpab12cd_x")
    ('.state.json.*', 'shard-#.bin', '*')
    """
    text = _UUID.sub("#", text)
    text = _TEMPORARY_NAME.sub("*", text)
    text = _HEX.sub("#", text)
    text = _PIECE.sub(_without_random, text)
    return _DIGITS.sub("#", text)


def _without_random(piece: re.Match[str]) -> str:
    """Python's random names may hold underscores, others are set off by them: try both."""
    text = piece.group()
    if _is_random(text):
        return "*"
    return _SUBPIECE.sub(lambda part: "*" if _is_random(part.group()) else part.group(), text)


def _is_random(text: str) -> bool:
    """Whether it looks like what mkstemp makes: six letters and digits, or Python's eight.

    A guess. Taken for random are letters and digits that alternate, capitals in odd places, and
    letters that nobody could speak; a name with one number at its end never is.
    """
    if len(text) not in (6, 8):
        return False
    runs = _RUN.findall(text)
    if "_" in text:
        return len(runs) > 4 and not any(char.isupper() for char in text)
    if len(text) == 6 and len(runs) > 3:
        return True
    changes = sum(
        one.isdigit() != other.isdigit() for one, other in zip(runs, runs[1:], strict=False)
    )
    if changes > 1:
        return True
    vowels = sum(char in _VOWELS for char in text)
    return len(text) == 8 and text.isalpha() and text.islower() and vowels < 2
