"""What an object says of itself: whole, broken and ours, or somebody else's."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.file.header import Header
from checkpoint_runtime.extract.parts import Batch
from checkpoint_runtime.extract.store.account import Account, account_of
from tests.runtime.extract.objects import BATCH, KEY, OTHER_BATCH, file_of, whole_of

pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")


def account(content: bytes, size: int = 64) -> Account:
    def chunks() -> Iterator[bytes]:
        for begin in range(0, len(content), size):
            yield content[begin : begin + size]

    return account_of(chunks(), BATCH)


def written() -> bytes:
    """As an extraction writes it."""
    batch = Batch(0, BATCH, ("a", "é"), ((1, 2), (3,)))
    header = Header(batch, Identity("a" * 40, (2,), "fp32"), label="F32", element_size=4, hidden=2)
    data = bytes(range(header.data_size))
    return header.encoded(crc64nvme(data)) + data


@pytest.mark.parametrize("size", [1, 7, 8, 9, 64, 100_000])
def test_a_whole_one_in_chunks_of_any_size(size: int) -> None:
    content = file_of()
    found = account(content, size)
    assert found.problem is None
    assert found.is_ours
    assert found.marker(KEY).ids == ("a", "b")
    assert found.marker(KEY).whole == whole_of(content)


def test_a_marker_tells_of_the_tokens_what_the_object_does() -> None:
    digests = ("0123456789abcdef", "f" * 16)
    assert account(file_of(digests=json.dumps(digests))).marker(KEY).digests == digests
    assert account(file_of()).marker(KEY).digests == ()


def test_one_without_tensors_is_whole() -> None:
    assert account(file_of(data=b"")).problem is None


@pytest.mark.parametrize("kept", [300, 700, -1])
def test_a_beginning_of_one_is_ours_and_broken(kept: int) -> None:
    found = account(file_of()[:kept])
    assert found.is_ours
    assert found.problem is not None
    assert "bytes, its header tells of" in found.problem


def test_more_than_there_should_be() -> None:
    assert account(file_of() + b"\0").problem is not None


def test_one_flipped_bit_of_the_data() -> None:
    content = bytearray(file_of())
    content[-7] ^= 1
    found = account(bytes(content))
    assert found.is_ours
    assert found.problem == "its bytes do not fit the checksum in its header"


@pytest.mark.parametrize("name", ["own", "real"])
def test_no_flipped_bit_of_the_header_passes(name: str) -> None:
    """The ids, the lengths and the digests, the shapes: all of it is what was written."""
    content = file_of() if name == "own" else written()
    header = 8 + int.from_bytes(content[:8], "little")
    assert account(content).problem is None
    for place in range(8 * header):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        assert account_of([bytes(damaged)], BATCH).problem is not None, bytes(damaged[:header])


def test_one_that_has_no_checksum_of_its_header_is_not_believed() -> None:
    content = file_of().replace(b'"header_crc64nvme"', b'"header_crc64nvmf"')
    found = account(content)
    assert (found.is_ours, found.problem) == (True, "its header does not fit the checksum in it")


def test_an_id_that_looks_like_the_checksum_is_none() -> None:
    content = file_of(ids=('"header_crc64nvme":"0', "b"))
    assert account(content).problem is None
    assert account(content.replace(b'b\\"]', b'c\\"]')).problem is not None


def test_damage_in_the_header_is_ours_all_the_same() -> None:
    content = bytearray(file_of())
    content[8] = 0  # instead of the brace
    found = account(bytes(content))
    assert found.is_ours
    assert found.problem == "its header is not ours"


def test_damage_before_the_header() -> None:
    content = bytearray(file_of())
    content[6] ^= 0x40  # a header longer than any
    found = account(bytes(content))
    assert (found.is_ours, found.problem) == (True, "its header is not ours")


def test_no_more_of_somebody_elses_file_is_in_memory_than_its_beginning() -> None:
    chunk = bytes([255]) * (1 << 20)
    tracemalloc.start()
    try:
        found = account_of((chunk for _ in range(24)), BATCH)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.is_ours, found.size) == (False, 24 << 20)
    assert peak < 8 << 20


def test_another_batch_is_not_this_one() -> None:
    found = account(file_of(OTHER_BATCH))
    assert not found.is_ours
    assert found.problem == f"it is that of another batch ({OTHER_BATCH})"


@pytest.mark.parametrize(
    "content",
    [b"", b"\x05", b"\x02" + b"\0" * 7 + b"{}", b"x" * 500, b"\x02" + b"\0" * 7 + b"[]"],
)
def test_somebody_elses(content: bytes) -> None:
    found = account(content)
    assert not found.is_ours
    assert found.problem is not None


@pytest.mark.parametrize(
    "told",
    [
        {"ids": "[1]"}, {"ids": "{"}, {"ids": "{}"}, {"batch": 3}, {"digests": "[1, 2]"},
        {"digests": '["only one"]'}, {"digests": "{}"}, {"digests": 3},
    ],
)  # fmt: skip
def test_a_header_that_tells_nonsense_is_no_account(told: dict[str, Any]) -> None:
    assert account(file_of(**told)).problem is not None
