"""How a batch is cut, and the buffers that go round. Without a model."""

from __future__ import annotations

import ctypes
import threading
from random import Random

import pytest

from checkpoint_runtime.extract.errors import ExtractError
from checkpoint_runtime.extract.model.loading import parse_layers
from checkpoint_runtime.extract.model.passes import chunks
from checkpoint_runtime.extract.model.ring import Ring


class Memory:
    """As a tensor of bytes is asked for its place and size."""

    def __init__(self, size: int) -> None:
        self.content = (ctypes.c_ubyte * size)()
        self.size = size

    def numel(self) -> int:
        return self.size

    def data_ptr(self) -> int:
        return ctypes.addressof(self.content)


def test_a_batch_within_the_budgets_is_one_pass() -> None:
    tokens = ((1,) * 5, (1,) * 4)
    [chunk] = chunks(tokens, buffer_tokens=9, pass_tokens=10)
    assert (chunk.first, chunk.token_count) == (0, 9)
    [one] = chunk.passes
    assert (one.tokens, one.first, one.token_count, one.longest) == (tokens, 0, 9, 5)


@pytest.mark.parametrize("seed", range(20))
def test_chunks_and_passes_cover_a_batch_in_order(seed: int) -> None:
    random = Random(seed)
    lengths = sorted((random.randint(1, 30) for _ in range(40)), reverse=True)
    tokens = tuple((number,) * length for number, length in enumerate(lengths))
    buffer_tokens, pass_tokens = random.randint(1, 100), random.randint(1, 100)
    first = 0
    found: list[tuple[int, ...]] = []
    for chunk in chunks(tokens, buffer_tokens=buffer_tokens, pass_tokens=pass_tokens):
        samples = sum(len(one.tokens) for one in chunk.passes)
        assert chunk.first == first
        assert chunk.token_count <= buffer_tokens or samples == 1
        within = 0
        for one in chunk.passes:
            assert one.first == within
            assert one.longest * len(one.tokens) <= pass_tokens or len(one.tokens) == 1
            within += one.token_count
            found += one.tokens
        assert within == chunk.token_count
        first += within
    assert tuple(found) == tokens


def test_a_buffer_grows_for_what_is_larger() -> None:
    made: list[int] = []

    def allocate(size: int) -> Memory:
        made.append(size)
        return Memory(size)

    ring = Ring(2, 10, allocate)
    large, small = ring.take(30, 0), ring.take(4, 0)
    assert (large.size, small.size, len(small.view)) == (30, 10, 10)
    small.view[:2] = b"ab"
    assert bytes(small.memory.content[:2]) == b"ab"
    ring.give(large)
    ring.give(small)
    # The small one for what is small: the large one is not made again.
    assert ring.take(4, 0) is small
    assert ring.take(30, 0) is large
    assert made == [10, 10, 30]


def test_who_waits_for_a_buffer_is_told_of_the_end() -> None:
    ring = Ring(1, 10, Memory)
    ring.take(1, 0)
    raised: list[str] = []
    began = threading.Event()

    def wait() -> None:
        began.set()
        try:
            ring.take(1, 30)
        except ExtractError as error:
            raised.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    assert began.wait(30)
    ring.close()
    thread.join(30)
    assert raised == ["the extraction has ended: there are no buffers any more"]


def test_layers() -> None:
    assert parse_layers("14,2,8") == (2, 8, 14)
    for text, message in (
        ("", "numbers with commas between them are expected"),
        ("1,", "numbers with commas"),
        ("-1", "numbers with commas"),
        ("1,2,1", "1 is there more than once"),
    ):
        with pytest.raises(ExtractError, match=message):
            parse_layers(text)
