"""The destination that a URL names."""

from __future__ import annotations

import random as randomness
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.file_objects import FileObjects
from checkpoint_runtime.extract.store.objects import Objects
from checkpoint_runtime.extract.store.options import StoreOptions
from checkpoint_runtime.extract.store.s3_objects import S3Objects

__all__ = ["StoreOptions", "destination_of", "objects_of"]

_FORMS = "s3://bucket/prefix or file:///directory"


def destination_of(
    url: str,
    options: StoreOptions | None = None,
    *,
    note: Callable[[str], None] = lambda text: None,
    random: randomness.Random | None = None,
    stop: threading.Event | None = None,
) -> StoreDestination:
    """Nothing is asked of it yet: see ``prepare``.

    :param url: ``s3://bucket/prefix`` or ``file:///directory``.
    :param note: told a sentence now and then, for the log.
    :param random: of the pauses.
    :param stop: once it is set, nothing waits any more.
    :raises ExtractInputError: that is no such URL, or a package is missing.
    """
    options = options or StoreOptions()
    return StoreDestination(
        objects_of(url, options),
        options,
        note=note,
        random=random or randomness.Random(),
        stop=stop or threading.Event(),
    )


def objects_of(url: str, options: StoreOptions) -> Objects:
    """
    :raises ExtractInputError: that is no such URL.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "s3":
        # No escapes in it: a bucket's keys are what they are.
        bucket, _, prefix = rest.partition("/")
        if bucket:
            return S3Objects(bucket, prefix.strip("/"), options)
    if separator and scheme == "file":
        parts = urlsplit(url)
        path = unquote(parts.path)
        if parts.netloc in ("", "localhost") and path.startswith("/") and "\0" not in path:
            return FileObjects(Path(path))
    raise ExtractInputError(f"--destination {url!r} is not {_FORMS}.")
