"""What looks damaged, or strange, before anything is run: for people, no verdict depends on it."""

from __future__ import annotations

import json
import os
import pwd
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pytest_checkpoint.command.inspecting.footprint import Footprint
from pytest_checkpoint.tree.image import printable

_SHOWN: Final = 5
_MOST_BYTES: Final = 16 << 20
"""Larger files are not read."""
_LEFTOVER: Final = re.compile(
    rb"\.(tmp|temp|part|partial|incomplete|swp|crdownload)(\.|$)|~$|^tmp[a-z0-9_]{8}$"
    rb"|\.tmp[.-][^.]*$|^\.[^/]+\.[A-Za-z0-9_]{6,8}$",
    re.IGNORECASE,
)


def signs(copy: Path, stamps: Footprint) -> tuple[str, ...]:
    """Sentences."""
    files = sorted((path, stamp.size) for path, stamp in stamps.stamps.items() if stamp.is_file)
    empty = [path for path, size in files if not size]
    leftovers = [path for path, _ in files if _LEFTOVER.search(os.path.basename(path))]
    read = ((path, size) for path, size in files if path.endswith(b".json") and size)
    broken = [path for path, size in read if size <= _MOST_BYTES and not _is_json(copy, path)]
    told = (
        _told(empty, "is empty", "are empty", "a marker may be, a state may not"),
        _told(
            leftovers,
            "looks like a leftover of a write that never ended",
            "look like leftovers of writes that never ended",
        ),
        _told(broken, "is no whole JSON", "are no whole JSON"),
    )
    return tuple(filter(None, told))


def names_itself(copy: Path, stamps: Footprint, directory: Path) -> tuple[str, ...]:
    """The files, and symbolic links, that hold the directory's own path; fit to be shown."""
    needle = re.compile(re.escape(os.fsencode(directory)) + rb"(?![\w.-])")
    return tuple(
        printable(path)
        for path, stamp in sorted(stamps.stamps.items())
        if not stamp.is_directory
        and stamp.size <= _MOST_BYTES
        and any(needle.search(text) for text in _text(copy, path, is_file=stamp.is_file))
    )


def owned_by_another(directory: Path) -> str:
    """A sentence if somebody else's job is looked at; else empty."""
    owner, here = directory.stat().st_uid, os.geteuid()
    if owner == here:
        return ""
    return (
        f"the directory belongs to {_user(owner)}, and the commands ran as {_user(here)}, who may "
        "do there what the other may not, or the other way round: look as the user whose job it is"
    )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def leading_out(copy: Path, stamps: Footprint, directory: Path) -> tuple[str, ...]:
    """The symbolic links to something that is there, and not in the directory; fit to be shown."""
    top = os.fsencode(directory)
    found = []
    for path, stamp in sorted(stamps.stamps.items()):
        if not stat.S_ISLNK(stamp.mode):
            continue
        target = os.path.realpath(os.path.join(top, path))
        if target != top and not target.startswith(top + b"/") and os.path.exists(target):
            text = os.readlink(os.path.join(os.fsencode(copy), path))
            found.append(f"{printable(path)} → {printable(text)}")
    return tuple(found)


def listed(names: Iterable[str]) -> str:
    """The first few, and how many more there are."""
    shown = [*names]
    more = len(shown) - _SHOWN
    return ", ".join(shown[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _told(paths: list[bytes], is_one: str, are_many: str, aside: str = "") -> str:
    if not paths:
        return ""
    names = listed(map(printable, paths))
    text = f"{names} {is_one}" if len(paths) == 1 else f"{len(paths)} files {are_many}: {names}"
    return text + (aside and f" ({aside})")


def _text(copy: Path, path: bytes, *, is_file: bool) -> Iterator[bytes]:
    place = os.path.join(os.fsencode(copy), path)
    if is_file:
        with open(place, "rb") as file:
            yield file.read()
    elif os.path.islink(place):
        yield os.readlink(place)


def _is_json(copy: Path, path: bytes) -> bool:
    for text in _text(copy, path, is_file=True):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
    return True
