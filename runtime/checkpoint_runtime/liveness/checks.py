"""What a worker may say of its heartbeat."""

from __future__ import annotations

import re
from typing import Final

from checkpoint_runtime.errors import DefinitionError

_WORKER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LARGEST: Final = 2**40
"""So many such advances fit into what is told of them."""
_SHORTEST_S, _LONGEST_S = 0.01, 86_400.0


def checked_worker(name: str) -> str:
    """
    :raises DefinitionError: no name that a file could have.
    """
    if type(name) is not str or not _WORKER.fullmatch(name):
        raise DefinitionError(
            f"{name!r} cannot be the name of a worker: letters, digits, '.', '_' and '-', 100 of "
            "them at most, since a file is called so."
        )
    return name


def checked_advance(by: int, total: int | None) -> None:
    """
    :raises DefinitionError: no number from 0 on.
    """
    if type(by) is not int or not 0 <= by <= _LARGEST:
        raise DefinitionError(f"advance(by={by!r}): it is no number from 0 on.")
    if total is not None and (type(total) is not int or not 0 <= total <= _LARGEST):
        raise DefinitionError(f"advance(total={total!r}): it is no number from 0 on.")


def checked_interval(interval_s: float) -> float:
    """
    :raises DefinitionError: it is no time between two beats.
    """
    if type(interval_s) not in (int, float):
        raise DefinitionError(f"an interval of {interval_s!r} between beats is no number.")
    if not _SHORTEST_S <= interval_s <= _LONGEST_S:
        raise DefinitionError(
            f"an interval of {interval_s!r} s between beats is none: take 0.01 s to a day."
        )
    return float(interval_s)
