"""Which object a marker stands for, learnt from what the undisturbed run has left.

Looked at is where the one names the other, from the most telling way to the least: the marker's
content holds the key; its name holds the key's last part; both are the same but for their endings;
its name holds that part without its ending; the key holds the marker's name without its ending; its
content holds the last part of the key, then that without its ending. The first way by which it
names any object decides. If that is one object alone, it stands for it; if there are more, or none,
nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.bucket import MarkerLink

_STEM_LEAST: Final = 2
"""Characters: a shorter name without its ending stands in many texts by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A marker as it stands: a file of the workspace, or an object."""

    name: str
    """A path in the workspace, or a key."""
    content: bytes
    in_bucket: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A marker that stands for one object."""

    marker: str
    key: str
    in_bucket: bool = False
    token: str = ""
    """What its content must hold to stand for it; empty: that it is there is enough."""

    @property
    def told(self) -> MarkerLink:
        """In the words of the evidence."""
        return MarkerLink(marker=self.marker, key=self.key, in_bucket=self.in_bucket)

    def stands_by(self, content: bytes) -> bool:
        """Whether a marker with this content stands for the object."""
        return not self.token or holds(content.decode("utf-8", "replace"), self.token)


def learn(
    markers: Iterable[Marker], keys: Sequence[str]
) -> tuple[tuple[Link, ...], tuple[str, ...]]:
    """The links, and the names of markers that stand for no one object alone.

    ``keys``: of objects that are no markers.

    >>> learn([Marker(name="done/a.ok", content=b"")], ["out/a.bin", "out/b.bin"])[0][0].key
    'out/a.bin'
    """
    links: list[Link] = []
    unlinked: list[str] = []
    for marker in markers:
        link = _link(marker, keys)
        if link is None:
            unlinked.append(marker.name)
        else:
            links.append(link)
    return tuple(links), tuple(unlinked)


def _link(marker: Marker, keys: Sequence[str]) -> Link | None:
    name, text = _last(marker.name), marker.content.decode("utf-8", "replace")
    own = _stem(name)
    ways: tuple[list[tuple[str, str]], ...] = (
        [(key, key) for key in keys if holds(text, key)],
        [(key, "") for key in keys if holds(name, _last(key))],
        [(key, "") for key in keys if _stem(_last(key)) in (own, name)],
        [(key, "") for key in keys if _telling(_stem(_last(key)), name)],
        [(key, "") for key in keys if _telling(own, key)],
        [(key, _last(key)) for key in keys if holds(text, _last(key))],
        [(key, _stem(_last(key))) for key in keys if _telling(_stem(_last(key)), text)],
    )
    for found in ways:
        named = _longest(found)
        if len(named) > 1:
            return None
        if named:
            key, token = named[0]
            return Link(marker=marker.name, key=key, in_bucket=marker.in_bucket, token=token)
    return None


def _longest(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without keys that are found only as a part of another that is."""
    return [
        (key, token)
        for key, token in found
        if not any(key != other and holds(other, key) for other, _ in found)
    ]


def _telling(stem: str, text: str) -> bool:
    return len(stem) >= _STEM_LEAST and holds(text, stem)


def holds(text: str, token: str) -> bool:
    """Whether ``token`` stands in ``text`` by itself, not as a part of a longer word or number.

    >>> holds("done_part-1.ok", "part-1"), holds("done_part-12.ok", "part-1")
    (True, False)
    """
    start = text.find(token) if token else -1
    while start >= 0:
        before, after = text[:start][-1:], text[start + len(token) :][:1]
        joins_before = before.isalnum() and token[0].isalnum()
        joins_after = after.isalnum() and token[-1].isalnum()
        if not joins_before and not joins_after:
            return True
        start = text.find(token, start + 1)
    return False


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _stem(name: str) -> str:
    """Without what follows its last dot, and without dots at its beginning."""
    bare = name.lstrip(".")
    stem, dot, _ = bare.rpartition(".")
    return stem if dot else bare
