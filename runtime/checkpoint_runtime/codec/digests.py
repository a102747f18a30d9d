"""A digest of a value, worked out from its text."""

from __future__ import annotations

import hashlib
import json
import re

from checkpoint_runtime.codec.containers import canonical
from checkpoint_runtime.codec.plain import parse, refuse_constant
from checkpoint_runtime.codec.problems import UnreadableValueError

_SHA256 = re.compile(r"[0-9a-f]{64}")


def digest(text: str) -> str:
    """SHA-256, in hex: equal if and only if two encodings denote the same value.

    The order of a dict does not count, as it does not for ``==``; that of an OrderedDict does.
    Types do: 1, 1.0 and True differ, and so do 0.0 and -0.0.

    :raises UnreadableValueError: it is not the text of a value.
    """
    try:
        if '"$' not in text:
            tree: object = parse(text)
        else:
            tree = json.JSONDecoder(object_hook=_in_order, parse_constant=refuse_constant).decode(
                text
            )
            if isinstance(tree, dict) and "digest" in tree and "$file" in tree:
                return _kept_digest(tree["digest"])
        return hashlib.sha256(canonical(tree).encode()).hexdigest()
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableValueError(f"this is not the text of a value: {error!s:.200}") from error


def _in_order(body: dict[str, object]) -> dict[str, object]:
    for tag in ("$dict", "$set", "$frozenset"):
        parts = body.get(tag)
        if isinstance(parts, list):
            # A set is sorted when it is written, but what is in it can hold dicts.
            return {tag: sorted(parts, key=canonical)}
    return body


def _kept_digest(found: object) -> str:
    if isinstance(found, str) and _SHA256.fullmatch(found):
        return found
    raise ValueError("the digest of a side file is none")
