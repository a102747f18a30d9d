"""The object store of a subject, as a user wrote it, checked before anything runs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from pytest_checkpoint.api import Bucket
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import commands
from pytest_checkpoint.subject import BucketPlace, Command

S3: Final = "s3"
_PLACE: Final = "--checkpoint-s3"
_MARKERS: Final = "--checkpoint-s3-markers"
_RECONCILE: Final = "--checkpoint-s3-reconcile"
_SCHEME: Final = "s3://"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def of_options(parts: Mapping[str, list[str]]) -> Bucket | None:
    """What the command form says; UserError if a part of it is missing.

    ``parts``: option → values.
    """
    place, markers, reconcile = (
        parts.get(name, [None])[0] for name in (_PLACE, _MARKERS, _RECONCILE)
    )
    if place is None:
        for name, value in ((_MARKERS, markers), (_RECONCILE, reconcile)):
            if value is not None:
                raise UserError(f"{name} given without {_PLACE} s3://BUCKET/PREFIX: which bucket?")
        return None
    if not place.startswith(_SCHEME):
        raise UserError(f"{_PLACE} {place!r}: one looks like s3://bucket or s3://bucket/prefix")
    bucket, _, prefix = place.removeprefix(_SCHEME).partition("/")
    return Bucket(bucket, prefix, markers, reconcile)


def checked(what: str, given: object, working_directory: Path) -> BucketPlace | None:
    """``what`` names it in messages."""
    if given is None:
        return None
    if not isinstance(given, Bucket):
        raise UserError(f"{what} must be Bucket(bucket, prefix, markers), not {given!r}")
    name: object = given.bucket
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UserError(
            f"{what}: {given.bucket!r} is no name of a bucket: 3 to 63 of a-z, 0-9, '-' and '.', "
            "with a letter or digit at both ends"
        )
    prefix: object = given.prefix
    if not isinstance(prefix, str) or prefix.startswith("/"):
        raise UserError(f"{what}: the prefix is a text without '/' before it, not {given.prefix!r}")
    return BucketPlace(
        bucket=given.bucket,
        # A folder's: "run" is not to mean what somebody else keeps under "run2/".
        prefix=f"{prefix.rstrip('/')}/" if prefix else "",
        markers=_markers(what, given.markers),
        reconcile=_reconcile(f"{what}: reconcile", given.reconcile, working_directory),
    )


def _reconcile(what: str, given: object, working_directory: Path) -> Command | None:
    if given is None:
        return None
    command = commands.split(what, given)
    commands.require_program(what, command, working_directory)
    commands.require_workspace(what, command)
    return command


def _markers(what: str, given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise UserError(f"{what}: markers is a glob in the workspace, not {given!r}")
    if os.path.isabs(given) or ".." in PurePosixPath(given).parts or commands.WORKSPACE in given:
        raise UserError(f"{what}: {given!r} must be relative to the workspace, and stay in it")
    return given


def with_bucket(who: str, capabilities: frozenset[str], *, declared: bool) -> frozenset[str]:
    """``s3`` is declared by naming the bucket."""
    if S3 in capabilities and not declared:
        raise UserError(
            f"{who}: the capability {S3!r} is declared by the bucket that it is: "
            f"s3=Bucket(bucket, prefix), {_PLACE} s3://BUCKET/PREFIX"
        )
    return capabilities | {S3} if declared else capabilities


def endpoint(option: str, text: str) -> str:
    """The user's own store. UserError if it is no URL, or there are no credentials for it."""
    if not _is_endpoint(text):
        raise UserError(f"{option} {text!r}: one looks like http://127.0.0.1:8333")
    missing = [
        name for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") if not os.environ.get(name)
    ]
    if missing:
        raise UserError(
            f"{option} {text}: what is asked of it is signed with the credentials in the "
            f"environment, and {' and '.join(missing)} is not set"
        )
    return text


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # the port is no number, or too large a one; a bracket is open
        return False
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return is_web and parts.path in ("", "/") and not (parts.query or parts.username)
