"""The file of a batch, as other programs read it."""

from __future__ import annotations

import array
import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.crc import as_hex, crc64nvme
from checkpoint_runtime.extract.data.digests import digest_of
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.file.header import ALIGNMENT, FORMAT, Header
from checkpoint_runtime.extract.file.reading import read_hidden_states
from checkpoint_runtime.extract.parts import Batch

pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")

IDENTITY = Identity("a" * 40, (0, 7), "fp32")
HIDDEN = 3


def made(count: int = 2, name: str = "é") -> tuple[Header, bytes]:
    """A batch of samples of 2, 1, 1 … tokens, whose states are the numbers from 0."""
    ids = tuple(f"{name}{number}" for number in range(count))
    batch = Batch(0, IDENTITY.key(ids), ids, ((1, 2), *[(3,)] * (count - 1)))
    header = Header(batch, IDENTITY, label="F32", element_size=4, hidden=HIDDEN)
    numbers = array.array("f", range(2 * HIDDEN * (count + 1)))
    assert header.data_size == 4 * len(numbers)
    return header, header.encoded(0xABC) + numbers.tobytes()


@pytest.mark.parametrize("count", [1, 2, 3, 10, 200])
def test_a_header_has_the_size_that_it_says_and_is_aligned(count: int) -> None:
    header, _ = made(count)
    for crc in (0, 1, 2**64 - 1):
        encoded = header.encoded(crc)
        assert len(encoded) == header.size
        assert header.size % ALIGNMENT == 0
        assert int.from_bytes(encoded[:8], "little") == header.size - 8
        assert encoded[8:9] == b"{"
        metadata = json.loads(encoded[8:])["__metadata__"]
        assert int(metadata["data_crc64nvme"], 16) == crc


def test_metadata() -> None:
    header, _ = made()
    ids = ("é0", "é1")
    encoded = header.encoded(0xABC)
    own = json.loads(encoded[8:])["__metadata__"]["header_crc64nvme"]
    assert own == as_hex(crc64nvme(encoded.replace(own.encode(), b"0" * 16)))
    assert json.loads(encoded[8:]) == {
        "__metadata__": {
            "format": FORMAT,
            "batch": IDENTITY.key(ids),
            "ids": json.dumps(ids),
            "digests": json.dumps([digest_of((1, 2)).hex(), digest_of((3,)).hex()]),
            "lengths": "[2, 1]",
            "layers": "[0, 7]",
            "dtype": "fp32",
            "model": "a" * 40,
            "data_crc64nvme": "0000000000000abc",
            "header_crc64nvme": own,
        },
        "layer.0": {"dtype": "F32", "shape": [3, 3], "data_offsets": [0, 36]},
        "layer.7": {"dtype": "F32", "shape": [3, 3], "data_offsets": [36, 72]},
    }


class TestRead:
    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        pytest.importorskip("safetensors", reason="needs safetensors: extra extractor")
        return pytest.importorskip("torch", reason="needs torch: extra extractor")

    def test_by_sample_and_layer(self, tmp_path: Path) -> None:
        _, content = made(3)
        path = tmp_path / "batch.safetensors"
        path.write_bytes(content)
        for file in (path, str(path), content, memoryview(content)):
            found = read_hidden_states(file)
            assert {
                name: {layer: states.tolist() for layer, states in layers.items()}
                for name, layers in found.items()
            } == {
                "é0": {0: [[0, 1, 2], [3, 4, 5]], 7: [[12, 13, 14], [15, 16, 17]]},
                "é1": {0: [[6, 7, 8]], 7: [[18, 19, 20]]},
                "é2": {0: [[9, 10, 11]], 7: [[21, 22, 23]]},
            }

    def test_by_the_librarys_own_reader(self, torch: Any, tmp_path: Path) -> None:
        from safetensors import safe_open

        _, content = made()
        path = tmp_path / "batch.safetensors"
        path.write_bytes(content)
        with safe_open(path, "pt") as file:
            assert sorted(file.keys()) == ["layer.0", "layer.7"]
            assert file.metadata()["lengths"] == "[2, 1]"
            expected = torch.arange(9, 18, dtype=torch.float32).view(3, 3)
            assert torch.equal(file.get_tensor("layer.7"), expected)

    def test_damaged(self) -> None:
        _, content = made()
        for damaged in (
            content[:-1],
            content[:20],
            b"",
            content.replace(b'"[2, 1]"', b'"[2, 2]"'),
            content.replace(b"[0, 7]", b"[0, 8]"),
        ):
            with pytest.raises(ExtractInputError, match=r"these bytes: this file .* is damaged"):
                read_hidden_states(damaged)
        foreign = content.replace(b"hidden-states.1", b"hidden-states.9")
        with pytest.raises(ExtractInputError, match="this is no file of hidden states"):
            read_hidden_states(foreign)
