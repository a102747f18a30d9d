"""The declared markers: which stand in a state, and which object each stands for."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from checkpoint_contracts.bucket import Bucket
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.store.links import Link, Marker, learn
from pytest_checkpoint.record.operations import WORKSPACE, Operation, Stored
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import Contents
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import File

_PREFIX: Final = WORKSPACE + b"/"


def names_of_markers(subject: Subject, state: State) -> tuple[str, ...]:
    """Paths in the workspace, and keys of the bucket, that the declared globs mean."""
    return (*(name for name, _ in _files(subject, state)), *_keys(subject, state))


def markers_of(subject: Subject, state: State, bodies: Bodies) -> tuple[Marker, ...]:
    """The same with what they say."""
    held = Contents.of(state.objects).objects
    files = (
        Marker(name=name, content=file.content.read()) for name, file in _files(subject, state)
    )
    objects = (
        Marker(name=key, content=bodies.read(held[key].sha256), in_bucket=True)
        for key in _keys(subject, state)
    )
    return (*files, *objects)


def links_of(
    subject: Subject, state: State, bodies: Bodies
) -> tuple[Sequence[Link], Sequence[str]]:
    """Which marker of a finished job stands for which object, and which for none alone."""
    markers = set(_keys(subject, state))
    keys = [key for key in Contents.of(state.objects).objects if key not in markers]
    return learn(markers_of(subject, state, bodies), keys)


def bucket_of(
    subject: Subject,
    finished: State,
    operations: Sequence[Operation],
    bodies: Bodies,
    asked: Iterable[str] = (),
) -> Bucket | None:
    """What a recorded run shows of its objects; None: the subject has none.

    ``asked``: the keys of its requests, of objects that are not there at the end, too.
    SubjectError if markers are declared and there is none.
    """
    if subject.s3 is None:
        return None
    links, unlinked = links_of(subject, finished, bodies)
    if subject.s3.markers and not (links or unlinked):
        raise SubjectError(
            f"the glob of markers {subject.s3.markers!r} matches no file in the workspace and no "
            "object in the bucket at the end of the undisturbed run; it is relative to "
            "{workspace}, or to the prefix"
        )
    return Bucket(
        declares_markers=bool(subject.s3.markers),
        reconciles=bool(subject.s3.reconcile),
        links=tuple(link.told for link in links),
        unlinked=tuple(unlinked),
        rewritten=_rewritten(operations),
        markers_in_bucket=frozenset(_keys(subject, finished)),
        ephemeral=ephemeral_keys(subject, {*asked, *_held(finished)}),
    )


def ephemeral_keys(subject: Subject, keys: Iterable[str]) -> frozenset[str]:
    """Those of ``keys`` that its ``ephemeral`` globs mean."""
    return frozenset(_meant(subject, keys, Globs(subject.ephemeral)))


def _files(subject: Subject, state: State) -> Iterator[tuple[str, File]]:
    globs = _globs(subject)
    for path, _, node in walk(state.image):
        if isinstance(node, File) and globs.match(path):
            yield os.fsdecode(path[len(_PREFIX) :]), node


def _keys(subject: Subject, state: State) -> Iterator[str]:
    return _meant(subject, _held(state), _globs(subject))


def _held(state: State) -> Iterable[str]:
    return Contents.of(state.objects).objects


def _meant(subject: Subject, keys: Iterable[str], globs: Globs) -> Iterator[str]:
    """Keys that globs mean, as they are, or what follows the declared prefix."""
    prefix = subject.s3.prefix if subject.s3 is not None else ""
    for key in sorted(keys):
        names = {key, key.removeprefix(prefix)}
        if any(globs.match(_PREFIX + os.fsencode(name.lstrip("/"))) for name in names):
            yield key


def _globs(subject: Subject) -> Globs:
    return Globs(() if subject.s3 is None or not subject.s3.markers else (subject.s3.markers,))


def _rewritten(operations: Sequence[Operation]) -> frozenset[str]:
    """Keys under which a run stores more than once, not the same bytes."""
    known: defaultdict[str, set[str]] = defaultdict(set)
    for operation in operations:
        for effect in operation.effects:
            if isinstance(effect, Stored):
                for line in effect.data.splitlines():
                    record = json.loads(line)
                    if "sha256" in record:
                        known[record["key"]].add(record["sha256"])
    return frozenset(key for key, digests in known.items() if len(digests) > 1)
