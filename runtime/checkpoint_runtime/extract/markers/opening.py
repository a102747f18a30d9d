"""The markers that an option names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.markers.bucket import BucketMarkers
from checkpoint_runtime.extract.markers.local import LocalMarkers
from checkpoint_runtime.extract.store.destination import StoreDestination

IN_THE_BUCKET: Final = "bucket"


def open_markers(
    place: str,
    destination: StoreDestination,
    *,
    shard: str,
    note: Callable[[str], None],
    staging: Path | None = None,
    anywhere: bool = False,
) -> LocalMarkers | BucketMarkers:
    """To be entered: that takes the shard's lock.

    :param place: a directory, or ``bucket``: beside the objects.
    :param shard: a name that no other worker has: ``1-of-2``.
    :param staging: must be on another file system than the markers.
    :param anywhere: it need not.
    :raises ExtractInputError: they would go with the staging.
    """
    if place == IN_THE_BUCKET:
        return BucketMarkers(destination)
    folder = Path(place).absolute()
    if staging is not None and not anywhere:
        _check_apart(folder, staging)
    return LocalMarkers(folder, destination.url, shard=shard, note=note)


def _check_apart(folder: Path, staging: Path) -> None:
    if _device(folder) == _device(staging.absolute()):
        raise ExtractInputError(
            f"The markers ({folder}) are on the same file system as the staging ({staging}): what "
            "fills or empties the one takes the other with it. Put them on another one, or into "
            "the bucket (--markers-in-bucket), or say --markers-anywhere."
        )


def _device(path: Path) -> int:
    """Of the file system on which it is, or would be made."""
    while True:
        try:
            return os.stat(path).st_dev
        except FileNotFoundError:
            if path == path.parent:
                raise
            path = path.parent
        except OSError as error:
            raise ExtractInputError(f"{path}: {error.strerror}.") from error
