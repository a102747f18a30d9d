"""The markers of a job, as they stand in a state: outside of the staging, and in it."""

from __future__ import annotations

import os
from typing import Final

from checkpoint_contracts.evidence import Reference
from pytest_checkpoint.record.describe import shown_path
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.record.store.contents import Contents
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import Directory

_PREFIX: Final = WORKSPACE + b"/"


class Markers:
    """Of one subject; none, if it declares none."""

    def __init__(self, subject: Subject, reference: Reference, staging: bytes) -> None:
        """``staging``: its path as in a recording."""
        glob = None if subject.s3 is None else subject.s3.markers
        self._globs: Final = Globs(() if glob is None else (glob,))
        self._bucket: Final = reference.bucket
        self._below: Final = staging + b"/"

    def in_staging(self, state: State) -> tuple[str, ...]:
        """Paths in the workspace."""
        found = (shown_path(path) for path in self._paths(state) if path.startswith(self._below))
        return tuple(sorted(found))

    def standing(self, state: State) -> frozenset[str]:
        """Those that stand outside of the staging: paths in the workspace, keys of the bucket."""
        held = Contents.of(state.objects).objects
        in_bucket = frozenset() if self._bucket is None else self._bucket.markers_in_bucket
        paths = {
            os.fsdecode(path.removeprefix(_PREFIX))
            for path in self._paths(state)
            if not path.startswith(self._below)
        }
        return frozenset(paths) | (in_bucket & held.keys())

    def marked(self, state: State) -> tuple[str, ...]:
        """Keys of objects that are held, and for which a marker stands that stands for no other."""
        if self._bucket is None:
            return ()
        held, standing = Contents.of(state.objects).objects, self.standing(state)
        links = self._bucket.links
        return tuple(
            dict.fromkeys(one.key for one in links if one.marker in standing and one.key in held)
        )

    def _paths(self, state: State) -> list[bytes]:
        """Of markers that are files."""
        return [
            path
            for path, _, node in walk(state.image)
            if not isinstance(node, Directory) and self._globs.match(path)
        ]
