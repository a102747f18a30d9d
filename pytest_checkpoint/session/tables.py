"""A table of TOML that describes a subject, as what a Python user would have written.

Only what is TOML's own is judged here: which keys there are, and what is a table. The values are
validated with those of every other way (:mod:`pytest_checkpoint.session.registration`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pytest_checkpoint.api import (
    Bucket,
    CommandSubject,
    HeartbeatCommand,
    HeartbeatFile,
    Staging,
)
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.near import meant
from pytest_checkpoint.session.registration import KNOWN_CAPABILITIES


def _fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


KEYS: Final = _fields(CommandSubject)
_FOR_EXAMPLE: Final = {
    "run": "'python job.py {workspace}'",
    "check": "'cat {workspace}/result.json'",
    "stale_after_s": "30",
    "bucket": "'talks'",
    "path": "'staging'",
    "bound_bytes": "8_000_000",
}


def command_subject(who: str, given: object) -> CommandSubject:
    """``who`` begins every message: which table, and where it stands. Raises UserError."""
    parts = _table(who, given, KEYS, required=("run", "check"))
    for key, read in _INNER.items():
        if key in parts:
            parts[key] = read(f"{who}: {key}", parts[key])
    return CommandSubject(**parts)


def unknown_key(where: str, key: str, keys: Sequence[str]) -> str:
    """The sentence about a key that means nothing."""
    if key in KNOWN_CAPABILITIES:
        hint = f"; it is a capability: capabilities = [{key!r}]"
    else:
        hint = meant(key.replace("-", "_"), keys)
    return f"{where}: there is no key {key!r}{hint} (the keys are: {', '.join(keys)})"


def _table(
    what: str, given: object, keys: Sequence[str], *, required: Sequence[str]
) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        needed = f"the key{'s' * (len(required) > 1)} {' and '.join(map(repr, required))}"
        raise UserError(f"{what} must be a table with {needed} in it, not {given!r}")
    for key in given:
        if key not in keys:
            raise UserError(unknown_key(what, key, keys))
    for key in required:
        if key not in given:
            raise UserError(f"{what}: the key {key!r} is missing: {key} = {_FOR_EXAMPLE[key]}, say")
    return dict(given)


def _heartbeat(what: str, given: object) -> HeartbeatFile | HeartbeatCommand:
    keys = tuple(dict.fromkeys((*_fields(HeartbeatFile), *_fields(HeartbeatCommand))))
    parts = _table(what, given, keys, required=("stale_after_s",))
    if ("glob" in parts) == ("command" in parts):
        raise UserError(
            f"{what} needs one of two keys: glob, for a file that changes as long as the job "
            "lives, or command, for one that says how it is"
        )
    if "command" in parts:
        return HeartbeatCommand(**parts)
    if "stalled_after_s" in parts:
        raise UserError(
            f"{what}: stalled_after_s: a file cannot say that a worker is stalled; a command can"
        )
    return HeartbeatFile(**parts)


def _s3(what: str, given: object) -> Bucket:
    return Bucket(**_table(what, given, _fields(Bucket), required=("bucket",)))


def _staging(what: str, given: object) -> Staging:
    return Staging(**_table(what, given, _fields(Staging), required=("path", "bound_bytes")))


_INNER: Final[dict[str, Callable[[str, object], object]]] = {
    "heartbeat": _heartbeat,
    "s3": _s3,
    "staging": _staging,
}
