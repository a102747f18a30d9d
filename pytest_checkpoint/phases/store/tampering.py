"""A finished job's bucket and markers, changed behind its back."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Final

from checkpoint_contracts.bucket import MarkerLink, StoredObject, Tampered
from pytest_checkpoint.phases.store.reading import objects_of
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.record.store import contents
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import Contents, gone_line, object_line
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import ROOT, Directory, Image

NOTHING: Final = "nothing"
LOST: Final = "lost"
TRUNCATED: Final = "truncated"
ORPHAN: Final = "orphan"
FOREIGN: Final = "foreign"
ALL: Final = "all"
VARIANTS: Final = (NOTHING, LOST, TRUNCATED, ORPHAN, FOREIGN, ALL)
_GUEST: Final = "an-object-of-somebody-else"
_GUEST_BYTES: Final = b"left by another program\n"


class Tampering:
    """What can be done to one finished job."""

    def __init__(
        self,
        finished: State,
        bodies: Bodies,
        *,
        keys: Sequence[str],
        links: Sequence[MarkerLink],
        prefix: str,
    ) -> None:
        """``keys``: of objects that are no markers; ``links``: of their markers."""
        self._finished: Final = finished
        self._bodies: Final = bodies
        self._held: Final = Contents.of(finished.objects).objects
        self._keys: Final = sorted(keys)
        self._links: Final = links
        self._guest: Final = f"{prefix}{_GUEST}"

    def done(self, variant: str) -> tuple[State, Tampered] | None:
        """The state afterwards, and what was done; None: there is nothing that it could be."""
        if variant == ALL:
            return self._all()
        if variant == NOTHING:
            return self._state([], [], [], guest=False)
        objects = self._keys
        lost = objects[:1] if variant == LOST else []
        cut = [key for key in objects if self._held[key].size > 1][-1:]
        links = self._links[len(self._links) // 2 :][:1] if variant == ORPHAN else []
        cut = cut if variant == TRUNCATED else []
        if variant != FOREIGN and not (lost or cut or links):
            return None
        return self._state(lost, cut, links, guest=variant == FOREIGN)

    def _all(self) -> tuple[State, Tampered] | None:
        """One object each, as far as they go round; None with fewer than two."""
        free = list(self._keys)
        if len(free) < 2:
            return None
        lost = [free.pop(0)]
        links = [link for link in self._links if link.key in free][:1]
        for link in links:
            free.remove(link.key)
        cut = [key for key in free if self._held[key].size > 1][-1:]
        return self._state(lost, cut, links, guest=True)

    def _state(
        self, lost: Sequence[str], cut: Sequence[str], links: Sequence[MarkerLink], *, guest: bool
    ) -> tuple[State, Tampered]:
        lines = b"".join(map(gone_line, lost))
        lines += b"".join(object_line(self._halved(key)) for key in cut)
        lines += b"".join(gone_line(link.marker) for link in links if link.in_bucket)
        image = self._finished.image
        for link in links:
            if not link.in_bucket:
                image = without(image, os.fsencode(link.marker))
        foreign: tuple[StoredObject, ...] = ()
        if guest:
            line = object_line(self._stored(self._guest, _GUEST_BYTES))
            foreign, lines = objects_of(line), lines + line
        state = dataclasses.replace(
            self._finished, image=image, objects=self._finished.objects + lines
        )
        done = Tampered(
            lost=tuple(lost), truncated=tuple(cut), orphaned=tuple(links), foreign=foreign
        )
        return state, done

    def _halved(self, key: str) -> contents.StoredObject:
        """With what it was given, but for what a store computes from the bytes."""
        whole = self._held[key]
        half = self._bodies.read(whole.sha256)[: whole.size // 2]
        headers = {
            name: value
            for name, value in whole.headers.items()
            if not name.startswith("x-amz-checksum") and name != "content-md5"
        }
        return dataclasses.replace(self._stored(key, half), headers=headers)

    def _stored(self, key: str, data: bytes) -> contents.StoredObject:
        return contents.StoredObject(key=key, size=len(data), sha256=self._bodies.put(data))


def without(image: Image, path: bytes) -> Image:
    """The same tree with one name of the workspace less; that has to be there."""
    number, names = ROOT, (WORKSPACE + b"/" + path).split(b"/")
    for name in names[:-1]:
        node = image.nodes[number]
        assert isinstance(node, Directory)
        number = node.entries[name]
    folder = image.nodes[number]
    assert isinstance(folder, Directory)
    left = {name: inner for name, inner in folder.entries.items() if name != names[-1]}
    changed = dataclasses.replace(folder, entries=left)
    return Image({**image.nodes, number: changed})
