"""The staging of a subject, as a user wrote it, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from checkpoint_contracts.staged import STAGING
from pytest_checkpoint.api import Staging
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import commands, quantities
from pytest_checkpoint.subject import StagingPlace

_PATH: Final = "--checkpoint-staging"
_BOUND: Final = "--checkpoint-staging-bound"


def of_options(parts: Mapping[str, list[str]]) -> Staging | None:
    """What the command form says; UserError if one of the two options is given alone.

    ``parts``: option → values.
    """
    path, bound = (parts.get(name, [None])[0] for name in (_PATH, _BOUND))
    if path is None and bound is None:
        return None
    if path is None:
        raise UserError(f"{_BOUND} given without {_PATH} PATH: which directory is the staging?")
    if bound is None:
        raise UserError(
            f"{_PATH} needs {_BOUND} SIZE: how many bytes of data does the job ever have there?"
        )
    return Staging(path, quantities.size_bytes(_BOUND, bound))


def checked(what: str, given: object) -> StagingPlace | None:
    """``what`` names it in messages."""
    if given is None:
        return None
    if not isinstance(given, Staging):
        raise UserError(f"{what} must be Staging(path, bound_bytes), not {given!r}")
    return StagingPlace(path=_path(what, given.path), bound_bytes=_bound(what, given.bound_bytes))


def with_staging(who: str, capabilities: frozenset[str], *, declared: bool) -> frozenset[str]:
    """``staging`` is declared by naming it."""
    if STAGING in capabilities and not declared:
        raise UserError(
            f"{who}: the capability {STAGING!r} is declared by the directory that it is: "
            f"staging=Staging(path, bound_bytes), {_PATH} PATH and {_BOUND} SIZE"
        )
    return capabilities | {STAGING} if declared else capabilities


def _path(what: str, given: object) -> PurePosixPath:
    if not isinstance(given, str) or not given or "\0" in given:
        raise UserError(f"{what}: the path of a directory in the workspace, not {given!r}")
    path = PurePosixPath(given)
    if not path.parts or path.is_absolute() or ".." in path.parts or commands.WORKSPACE in given:
        raise UserError(
            f"{what}: {given!r} must be relative to the workspace, and stay in it: let the job "
            f"take the directory as an argument, and give it {commands.WORKSPACE}/staging here; "
            "TMPDIR has no room of its own that could be bounded"
        )
    return path


def _bound(what: str, given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise UserError(f"{what}: bound_bytes must be a whole number of 1 or more, not {given!r}")
    return given
