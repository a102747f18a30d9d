"""How a batch is cut into forward passes, and what each of them is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_runtime.extract.libraries import required


class Pass(NamedTuple):
    """Samples that go through the model at once."""

    tokens: tuple[tuple[int, ...], ...]
    first: int
    """Which token of the chunk is their first."""

    @property
    def longest(self) -> int:
        return max(map(len, self.tokens))

    @property
    def token_count(self) -> int:
        """Of tokens, without what fills up."""
        return sum(map(len, self.tokens))


class Chunk(NamedTuple):
    """Passes whose hidden states are copied to the host together."""

    passes: tuple[Pass, ...]
    first: int
    """Which token of the batch is its first."""
    token_count: int
    """Of tokens."""


def chunks(
    tokens: Sequence[tuple[int, ...]], *, buffer_tokens: int, pass_tokens: int
) -> Iterator[Chunk]:
    """A batch that fits into the buffer is one chunk; of one pass, where little is filled up.

    :param tokens: of each sample, longest first.
    :param buffer_tokens: that are copied at once. One sample that has more is a chunk of its own.
    :param pass_tokens: that go through the model at once, with what fills up the shorter samples;
        one sample that has more does so alone.
    """
    first = 0
    for group in _grouped(tokens, buffer_tokens, padded=False):
        passes = []
        within = 0
        for samples in _grouped(group, pass_tokens, padded=True):
            passes.append(Pass(samples, within))
            within += passes[-1].token_count
        yield Chunk(tuple(passes), first, within)
        first += within


def _grouped(
    tokens: Sequence[tuple[int, ...]], budget: int, *, padded: bool
) -> Iterator[tuple[tuple[int, ...], ...]]:
    group: list[tuple[int, ...]] = []
    longest = total = 0
    for sample in tokens:
        length = len(sample)
        taken = max(longest, length) * (len(group) + 1) if padded else total + length
        if group and taken > budget:
            yield tuple(group)
            group, longest, total = [], 0, 0
        group.append(sample)
        longest = max(longest, length)
        total += length
    if group:
        yield tuple(group)


class Inputs(NamedTuple):
    """Of one forward pass, on the host."""

    named: dict[str, Any]
    """As the model calls them."""
    valid: Any
    """Which of all positions, counted through the samples, hold a token; None: all of them."""


def inputs_of(tokens: Sequence[tuple[int, ...]], *, pad: int, masked: bool) -> Inputs:
    """
    :param masked: whether the model must be told which positions are filled up.
    """
    torch = required("torch", "an extraction")
    longest = max(map(len, tokens))
    rows = [
        [*sample, *(_fill(sample, pad, masked),) * (longest - len(sample))] for sample in tokens
    ]
    named = {"input_ids": torch.tensor(rows, dtype=torch.int64)}
    if all(len(sample) == longest for sample in tokens):
        return Inputs(named, None)
    lengths = torch.tensor([len(sample) for sample in tokens])
    mask = torch.arange(longest) < lengths[:, None]
    if masked:
        named["attention_mask"] = mask.to(torch.int64)
    return Inputs(named, mask.flatten().nonzero().flatten())


def _fill(sample: tuple[int, ...], pad: int, masked: bool) -> int:
    # Without a mask some models warn of their own padding token; any other does as well.
    return pad if masked else sample[-1]
