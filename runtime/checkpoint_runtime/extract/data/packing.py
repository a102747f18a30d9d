"""Which samples go through the model together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

WINDOW = 1024
"""Samples, in the order of the file, that are sorted and packed together. A window, and not the
whole file, so that what is added at its end changes only the last one."""


def packed(lengths: Mapping[str, int], batch_tokens: int) -> Iterator[tuple[str, ...]]:
    """The ids of each batch, longest first.

    By length, so that a forward pass is padded little; those of one length by id. No batch has
    more tokens than the budget, but for one sample that alone is longer.

    :param lengths: of each sample, in tokens.
    """
    batch: list[str] = []
    room = batch_tokens
    for name in sorted(lengths, key=lambda name: (-lengths[name], name)):
        if batch and lengths[name] > room:
            yield tuple(batch)
            batch, room = [], batch_tokens
        batch.append(name)
        room -= lengths[name]
    if batch:
        yield tuple(batch)
