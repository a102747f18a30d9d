"""Which parameters are others than before, from what to what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checkpoint_runtime.stored import decoded_parameters, encoded_parameters
from checkpoint_runtime.texts import printable, shortened

_SHOWN = 60
_MOST = 3


def differences(recorded: str, given: str, path: Path) -> list[str]:
    """A clause each, without a full stop; none if they are equal.

    :param recorded: encoded, as the other.
    :param path: of the log, for messages.
    """
    if recorded == given:
        return []
    was, now = (decoded_parameters(json.loads(text), path) for text in (recorded, given))
    found = []
    for name in [*was, *(name for name in now if name not in was)]:
        if name not in now:
            found.append(f"parameter {name!r} was {_shown(was[name])}, and is not given now")
        elif name not in was:
            found.append(f"parameter {name!r} was not given, and is {_shown(now[name])} now")
        elif encoded_parameters({"": was[name]}) != encoded_parameters({"": now[name]}):
            found.append(
                f"parameter {name!r} was {_shown(was[name])}, and is {_shown(now[name])} now"
            )
    if not found:
        return ["the parameters come in another order"]
    if len(found) > _MOST:
        found[_MOST:] = [f"{len(found) - _MOST} more parameters are others now"]
    return found


def _shown(value: Any) -> str:
    return shortened(printable(repr(value)), _SHOWN)
