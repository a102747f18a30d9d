"""What tells one effect from another, to us and to whoever receives it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.state.effect_records import EffectName

_LONGEST = 500


def idempotency_key(pipeline: str, name: EffectName) -> str:
    """32 hexadecimal digits, the same in every attempt, after every crash, on every machine.

    The beginning of the SHA-256 of ``["PIPELINE","STAGE","KIND","KEY"]``, as JSON without spaces.
    """
    text = json.dumps([pipeline, *name], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def checked_effect(stage: str, kind: Any, key: Any) -> EffectName:
    """
    :raises DefinitionError: the kind or the key is nothing that can be named on a command line.
    """
    for what, given in (("kind", kind), ("key", key)):
        if type(given) is not str or not given or given != given.strip():
            fault = "use text, not empty, without spaces around it"
        elif not given.isprintable():
            fault = "use printable text"
        elif len(given) > _LONGEST:
            fault = f"{_LONGEST} characters are the limit"
        else:
            continue
        shown = repr(given) if len(repr(given)) < 60 else f"{repr(given)[:60]}…"
        raise DefinitionError(
            f"stage {stage!r}: {shown} cannot be the {what} of an effect: {fault}."
        )
    return EffectName(stage, kind, key)
