"""At which kills a marker stands before its object is whole: read off the recording alone.

The operations are gone through once. A marker in the workspace stands as soon as its name leads to
a file that says what it says at the end; one in the bucket as soon as it is stored. Of each time
that a marker stands so, the first kill is told.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from checkpoint_contracts.bucket import StoredObject, by_key
from checkpoint_contracts.evidence import MarkerAhead, Reference
from checkpoint_contracts.objects_held import steady_keys
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.store.links import Link
from pytest_checkpoint.phases.store.markers import links_of
from pytest_checkpoint.record.operations import WORKSPACE, Operation, Stored
from pytest_checkpoint.record.store.contents import Contents
from pytest_checkpoint.states.kill import kill_state
from pytest_checkpoint.states.paths import PathsWatched
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.tree.image import File


def markers_ahead(
    source: StateSource,
    links: Iterable[Link],
    final: Mapping[str, StoredObject],
    whole: Collection[str],
) -> tuple[MarkerAhead, ...]:
    """In the order of the operations.

    ``final``: what the run left in the bucket, by key; ``whole``: keys of which a shorter object
    than that is known to be a part.
    """
    search = _Search(source, tuple(links), final, frozenset(whole))
    return tuple(one for operation in source.operations for one in search.advance(operation))


def ahead_of(bench: Bench, reference: Reference, source: StateSource) -> tuple[MarkerAhead, ...]:
    """Of the markers that a subject declares, if it does."""
    bucket = reference.bucket
    if bucket is None or not bucket.links:
        return ()
    timeline = source.timeline
    links, _ = links_of(bench.subject, timeline.after(timeline.steps), bench.client.bodies)
    whole = steady_keys(reference) - bucket.rewritten
    return markers_ahead(source, links, by_key(reference.objects), whole)


class _Search:
    def __init__(
        self,
        source: StateSource,
        links: tuple[Link, ...],
        final: Mapping[str, StoredObject],
        whole: frozenset[str],
    ) -> None:
        self._source: Final = source
        self._links: Final = links
        self._final: Final = final
        self._whole: Final = whole
        self._held: Final = Contents.of(source.recording.start_objects)
        paths = [_path(link) for link in links if not link.in_bucket]
        self._paths: Final = PathsWatched(source.timeline.after(0).image, paths)
        self._ahead: set[Link] = {link for link in links if self._is_ahead(link, 0)}
        """Those that stand so now: of the ones that setup left so, nothing is said."""

    def advance(self, operation: Operation) -> Iterator[MarkerAhead]:
        for effect in operation.effects:
            if isinstance(effect, Stored):
                self._held.apply(effect.data)
            else:
                self._paths.apply(effect, operation.step, arrives=False)
        for link in self._links:
            if not self._is_ahead(link, operation.step):
                self._ahead.discard(link)
            elif link not in self._ahead:
                self._ahead.add(link)
                held = self._held.objects.get(link.key)
                yield MarkerAhead(
                    point=self._source.point(kill_state(operation.step)),
                    marker=link.marker,
                    key=link.key,
                    held_bytes=None if held is None else held.size,
                    final_bytes=self._final[link.key].size_bytes,
                )

    def _is_ahead(self, link: Link, step: int) -> bool:
        held, final = self._held.objects.get(link.key), self._final[link.key]
        if held is not None:
            is_part = held.size < final.size_bytes and held.sha256 != final.digest
            if link.key not in self._whole or not is_part:
                return False
        if link.in_bucket:
            return link.marker in self._held.objects
        binding = self._paths.binding(_path(link))
        if binding is None:
            return False
        timeline = self._source.timeline
        node = timeline.history.node_at(binding.node, timeline.tick_after(step))
        return isinstance(node, File) and link.stands_by(node.content.read())


def _path(link: Link) -> bytes:
    return WORKSPACE + b"/" + os.fsencode(link.marker)
