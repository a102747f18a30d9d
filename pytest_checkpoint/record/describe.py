"""Operations in words.

:func:`describe` is for people. :func:`signature` is the same without what differs from round to
round of a loop, so that one flaw met in every round is one cause: sizes, offsets, numbers, digests
and the random parts of temporary names are left out.
"""

from __future__ import annotations

import errno
import re
from itertools import pairwise
from typing import Final

from pytest_checkpoint.record.operations import (
    STORE_CALL,
    TEMPORARY,
    WORKSPACE,
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    MapShared,
    NodeKind,
    Operation,
    Origin,
    Rename,
    Sent,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Stored,
    Truncate,
    Write,
)
from pytest_checkpoint.record.receiver.message import Message
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


def verb_of(call: str) -> str:
    """What people call a system call: ``write`` for ``pwrite64``."""
    return _VERBS.get(call, call)


def describe(operation: Operation) -> str:
    """One operation for people: ``write state.json (4096 bytes at 0)``, ``event "done 3"``."""
    asked = operation.effects[0] if operation.effects else None
    if isinstance(asked, Stored):
        return _request(operation, asked)
    if operation.is_event:
        return _event(operation, _lines(operation))
    text = f"{_verb(operation)} {_places(operation)}".rstrip()
    return _failed(operation, text) if operation.error else text + _detail(operation)


def signature(operation: Operation) -> str:
    """What stays the same of :func:`describe` when a loop does the same with other names."""
    if operation.call == STORE_CALL:
        return normalized(printable(operation.path))
    if operation.is_event:
        return _event(operation, [normalized(line) for line in _lines(operation)])
    text = f"{_verb(operation)} {normalized(_places(operation))}".rstrip()
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
    """Lines of the events file; of effects, which they are."""
    data = b"".join(e.data for e in operation.effects if isinstance(e, (Event, Sent)))
    lines = data.removesuffix(b"\n").split(b"\n")
    if isinstance(operation.effects[0], Event):
        return [printable(line) for line in lines]
    told = [Message.of(line) for line in lines]
    return [
        printable(line) if one.problem else f"{one.kind} {one.id}".rstrip()
        for line, one in zip(lines, told, strict=True)
    ]


def _request(operation: Operation, asked: Stored) -> str:
    """``PUT s3://bucket/key (1,234 bytes) → 200``."""
    size = f" ({asked.size:,} byte{'' if asked.size == 1 else 's'})" if asked.size else ""
    return f"{printable(operation.path)}{size} → {asked.status or 'no answer'}"


def _event(operation: Operation, lines: list[str]) -> str:
    what = "event" if isinstance(operation.effects[0], Event) else "effect"
    return " ".join([what, *(f'"{line}"' for line in lines)])


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
    """The effect that says what an operation was for: others come along (times, a mode cleared)."""
    if operation.write is not None:
        return operation.write
    telling = [effect for effect in operation.effects if not isinstance(effect, SetTime)]
    return next(iter(telling or operation.effects), None)


def _verb(operation: Operation) -> str:
    verb = _VERBS.get(operation.call, operation.call)
    if operation.target_path:  # from name to name: the call's own word, also across the border
        return verb
    match _leading(operation):
        case Create(kind=kind):
            verb = _CREATE_VERBS[kind]
        case CreateUnnamed():
            verb = "create unnamed file in"
        case Write(origin=origin):
            verb = "store through mmap" if origin is Origin.MAPPED else "write"
        case Truncate():
            verb = "truncate"
        case Allocate(zero=zero):
            verb = "zero" if zero else "allocate"
        case MapShared():
            verb = "map shared"
        case SetAttribute(name=name, value=value):
            verb = f"{'remove' if value is None else 'set'} {printable(name)} of"
    return verb


def _detail(operation: Operation) -> str:
    """The numbers that go after the paths."""
    detail = ""
    match _leading(operation):
        case Write(offset=offset, data=data):
            detail = f" ({_bytes(len(data))} at {offset})"
        case Allocate(offset=offset, length=length):
            detail = f" ({_bytes(length)} at {offset})"
        case Truncate(size=size):
            detail = f" to {size}"
        case SetMode(mode=mode):
            detail = f" to {mode:04o}"
        case SetOwner(user=user, group=group):
            detail = f" to {user}:{group}"
    return detail


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
_HIDDEN_NAME: Final = re.compile(
    r"(?P<kept>(?:^|(?<=/)|(?<= ))\.[^/ ]+\.)(?:[a-z0-9_]{8}|[0-9a-zA-Z]{6})(?=$|[/ ])"
)
"""A hidden ``.state.json.XXXXXXXX``: beside the file that it is to replace, so made by mkstemp."""
_PROBE: Final = re.compile(r"(?<=\$TMPDIR/)[a-z0-9_]{8}(?=$|[/ ])")
"""What Python's tempfile makes and removes to see whether it can write there, before all else."""
_PIECE: Final = re.compile(r"[0-9a-zA-Z_]+")
_SUBPIECE: Final = re.compile(r"[0-9a-zA-Z]+")
_RUN: Final = re.compile(r"[0-9]+|[a-z]+|[A-Z]+")
_WORDED: Final = re.compile(r"[a-z]*[0-9]*|[0-9]+[a-z]")
"""What people set off by underscores: words, numbers, ``v2``, ``7b``."""
_FOLLOWS: Final = {
    "a": "bcdfgiklmnprstuvwxy",
    "b": "aceijlorsuy",
    "c": "acehiklmoprstuy",
    "d": "abdefgilorstuy",
    "e": "abcdefgilmnopqrstuvwxy",
    "f": "aefilorstu",
    "g": "aeghilnoprstu",
    "h": "aeimorstuy",
    "i": "abcdefgklmnoprstvxz",
    "j": "aeiosu",
    "k": "aeinosu",
    "l": "abdefgilmopstuvy",
    "m": "abeilmopsuv",
    "n": "acdefgiklmnopstuvy",
    "o": "abcdefgiklmnoprstuvwx",
    "p": "acehiloprstuy",
    "q": "lu",
    "r": "abcdefgiklmnoprstuvwy",
    "s": "acefhiklmopqrstuwy",
    "t": "abcehilmnoprstuwy",
    "u": "abcdefgilmnoprst",
    "v": "aeio",
    "w": "aehilnors",
    "x": "aceipt",
    "y": "ailmnopst",
    "z": "ae",
}
"""Letter → those that come after it in the words of file names: every other pair is odd."""
_ODD_PAIRS: Final = 1
"""So many does an abbreviation have: ``kv_cache``, ``ckpt0001``."""
_PYTHONS: Final = 8
"""The length of Python's random names."""


def normalized(text: str) -> str:
    """Digests and runs of digits as ``#``, random parts of names as ``*``.

    >>> normalized(".state.json.x8k2l1qz"), normalized("shard-00012.bin"), normalized("tmpab12cd_x")
    ('.state.json.*', 'shard-#.bin', 'tmp*')
    """
    text = _UUID.sub("#", text)
    text = _TEMPORARY_NAME.sub("tmp*", text)
    text = _PROBE.sub("*", text)
    text = _HIDDEN_NAME.sub(r"\g<kept>*", text)
    text = _HEX.sub("#", text)
    text = _PIECE.sub(_without_random, text)
    return _DIGITS.sub("#", text)


def _without_random(piece: re.Match[str]) -> str:
    """Python's random names may hold underscores, others are set off by them: try both."""
    text = piece.group()
    if _is_random(text):
        return "*"
    kept, last = text[:-_PYTHONS], text[-_PYTHONS:]
    if kept.endswith("_") and _is_random(last):
        text = kept + "*"
    return _SUBPIECE.sub(lambda part: "*" if _is_random(part.group()) else part.group(), text)


def _is_random(text: str) -> bool:
    """Whether it looks like what mkstemp makes: six letters and digits, or Python's eight.

    A guess: letters and digits that alternate, capitals in odd places, or letters that nobody could
    speak. Words and numbers are none, set off by underscores or not: ``ckpt0001``, ``batch_1a``.
    Of Python's names one in twenty-five is taken for words.
    """
    runs = _RUN.findall(text)
    if len(text) == 6 and "_" not in text:
        return len(runs) > 2 and not text.istitle() and not _is_camel_case(runs)
    if len(text) != _PYTHONS or any(char.isupper() for char in text):
        return False
    if "_" in text:
        in_words = all(_WORDED.fullmatch(part) for part in text.split("_"))
    else:
        in_words = len(runs) <= 2
    odd = sum(_is_odd(one, other) for one, other in pairwise(text))
    return not in_words or odd > _ODD_PAIRS


def _is_odd(one: str, other: str) -> bool:
    return one.isalpha() and other.isalpha() and other not in _FOLLOWS.get(one, "")


def _is_camel_case(runs: list[str]) -> bool:
    return all(run.isalpha() for run in runs) and len(runs) <= 4 and runs[0].isupper()
