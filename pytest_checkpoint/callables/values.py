"""What a function may be given besides the workspace, as text: nothing is pickled.

Imported by the process that calls the function too, so it stands on the standard library alone.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Final, cast

from pytest_checkpoint.errors import UserError

_TAG: Final = "as"
_HELD: Final = "value"


def encode(what: str, value: object) -> Any:
    """As what JSON can hold. ``what`` names the value in the :class:`UserError` of a strange one.

    There are: None, bool, int, float, str, bytes, paths, and lists, tuples and dicts of these.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, PurePath):
        return {_TAG: "path", _HELD: str(value)}
    if type(value) is bytes:
        return {_TAG: "bytes", _HELD: base64.b64encode(value).decode("ascii")}
    if type(value) is list:
        return [encode(what, one) for one in value]
    if type(value) is tuple:
        return {_TAG: "tuple", _HELD: [encode(what, one) for one in value]}
    if type(value) is dict:
        pairs = cast("Mapping[object, object]", value).items()
        return {
            _TAG: "dict",
            _HELD: [[encode(what, key), encode(what, one)] for key, one in pairs],
        }
    raise UserError(
        f"{what}: {value!r} is of type {type(value).__name__}, and cannot be handed to another "
        "process: numbers, strings, bytes, paths, None, and lists, tuples and dicts of these can; "
        "make the rest within the function"
    )


def decode(record: Any) -> Any:
    """What :func:`encode` was given; a path as this machine's."""
    if isinstance(record, list):
        return [decode(one) for one in record]
    if not isinstance(record, dict):
        return record
    tag, held = record[_TAG], record[_HELD]
    if tag == "path":
        return Path(held)
    if tag == "bytes":
        return base64.b64decode(held)
    if tag == "tuple":
        return tuple(decode(one) for one in held)
    return {decode(key): decode(one) for key, one in held}
