"""The form of a handoff, and how it is read. Pure: whoever has its text brings it here.

A handoff is a JSON object for whoever takes a job over, a person or a program::

    {"done": ["fetch", {"name": "render", "where": "frames/", "sha256": "…"}],
     "next": "assemble"}

``done`` lists what is done: names, or objects with a ``name`` and whatever else is worth telling
(what it produced, its digest and size, where it lives). ``next`` is a name, a list of names, or
null. ``failed``, which may be missing, is a list like ``done``. For long jobs ``pages`` lists
files, relative to this one, of the same form, which may have pages in turn: what they say is done
comes first.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

_NAME: Final = "name"


class HandoffError(ValueError):
    """Not of the form. Its text is what is wrong, to follow the name of the file or page."""


class Page(NamedTuple):
    """What one file says."""

    done: tuple[str, ...]
    next: tuple[str, ...]
    failed: tuple[str, ...]
    pages: tuple[str, ...]


def read_page(data: str | bytes) -> Page:
    """A handoff, or a page of one, from its text. Raises :class:`HandoffError`.

    >>> read_page('{"done": ["a", {"name": "b", "size": 3}], "next": "c"}')
    Page(done=('a', 'b'), next=('c',), failed=(), pages=())
    """
    if not data.strip():
        raise HandoffError("it is empty")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise HandoffError(f"it is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise HandoffError("it is not a JSON object")
    if "done" not in value:
        raise HandoffError("it has no member 'done', a list of what is done")
    return Page(
        done=_names("done", value["done"]),
        next=_next(value.get("next")),
        failed=_names("failed", value.get("failed", [])),
        pages=_paths(value.get("pages", [])),
    )


def _next(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list):
        return _names("next", value)
    return (_name("next", value),)


def _names(member: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise HandoffError(f"its member {member!r} is not a list")
    return tuple(_name(member, one) for one in value)


def _name(member: str, value: object) -> str:
    if isinstance(value, dict) and isinstance(value.get(_NAME), str):
        return str(value[_NAME])
    if isinstance(value, str):
        return value
    raise HandoffError(f"in its member {member!r} stands neither a name nor an object with one")


def _paths(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise HandoffError("its member 'pages' is not a list of paths")
    return tuple(str(one) for one in value)
