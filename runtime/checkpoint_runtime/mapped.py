"""The items of a mapped stage: what there is to do, and what tells one item from another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkpoint_runtime.context import Context
from checkpoint_runtime.stages import Items, unusable_items
from checkpoint_runtime.stored import digest_of, encoded_items


def listed(items: Items, context: Context) -> list[Any]:
    """What a mapped stage goes through.

    :raises TypeError: it is nothing to go through, or in no order. What a function raises that
        makes the items comes out as it is.
    """
    found = items(context) if callable(items) else items
    problem = unusable_items(found)
    if problem is not None:
        raise TypeError(problem)
    return list(found)


def keys_of(stage: str, items: Sequence[Any]) -> list[str]:
    """A digest of each item.

    :raises StageValueError: an item cannot be kept.
    """
    return [
        digest_of(encoded_items(item, stage, f"items[{index}]").text)
        for index, item in enumerate(items)
    ]
