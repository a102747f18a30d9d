"""CRC-64/NVME: the check value of the catalogue, and what is combined equals what is computed."""

from __future__ import annotations

import pytest

from checkpoint_runtime.extract import crc as module
from checkpoint_runtime.extract.crc import as_base64, as_hex, combined, crc64nvme, from_base64

pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")


def test_the_check_value_of_the_algorithm() -> None:
    assert as_hex(crc64nvme(b"123456789")) == "ae8b14860a799888"


@pytest.mark.parametrize("at", [0, 1, 8, 333, 999, 1000])
def test_two_pieces_combine_to_the_whole(at: int) -> None:
    data = bytes(range(250)) * 4
    first, second = data[:at], data[at:]
    assert combined(crc64nvme(first), crc64nvme(second), len(second)) == crc64nvme(data)


def test_more_than_one_call_takes_is_taken_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    data = memoryview(bytes(range(256)) * 10)
    whole = crc64nvme(data)
    monkeypatch.setattr(module, "_AT_ONCE_BYTES", 100)
    assert crc64nvme(data) == whole


def test_a_checksum_of_parts_is_none_of_the_whole() -> None:
    crc = crc64nvme(b"hidden")
    assert from_base64(as_base64(crc)) == crc
    assert from_base64("AAAAAAAAAAU=-3") is None
    assert from_base64("") is None
    assert from_base64("AAAA") is None
