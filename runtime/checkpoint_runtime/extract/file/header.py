"""What stands in front of the tensors of a safetensors file."""

from __future__ import annotations

import json
import struct
from typing import Final

from checkpoint_runtime.extract.crc import as_hex, crc64nvme
from checkpoint_runtime.extract.data.digests import digests_of
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.parts import Batch

FORMAT = "checkpoint-runtime.hidden-states.1"
ALIGNMENT = 64
"""Of the first tensor, in bytes. The format asks for 8; copies are fastest to a cache line."""

_NO_CRC: Final = as_hex(0)
_OWN_CRC: Final = b'"header_crc64nvme":"'
"""Not to be met anywhere else in the text: what stands in a string has its quotes escaped."""


def tensor_name(layer: int) -> str:
    return f"layer.{layer}"


def sealed(header: bytes) -> bytes:
    """With the checksum of itself in it.

    :param header: from its first byte to its last; of its checksum the digits may be any.
    :raises ValueError: it has no place for one.
    """
    before, after = _around_crc(header)
    return before + as_hex(crc64nvme(before + _NO_CRC.encode() + after)).encode() + after


def is_sealed(header: bytes) -> bool:
    """Whether every bit of it is as it was written, by the checksum in it."""
    try:
        return sealed(header) == header
    except ValueError:
        return False


def _around_crc(header: bytes) -> tuple[bytes, bytes]:
    begin = header.index(_OWN_CRC) + len(_OWN_CRC)
    return header[:begin], header[begin + len(_NO_CRC) :]


class Header:
    """Of one batch's file. Its size does not depend on what the model gives."""

    def __init__(
        self, batch: Batch, identity: Identity, *, label: str, element_size: int, hidden: int
    ) -> None:
        """
        :param label: of the type of elements, as safetensors calls it.
        :param element_size: in bytes.
        :param hidden: elements of a hidden state.
        """
        tokens = batch.token_count
        layer_bytes = tokens * hidden * element_size
        self._metadata = {
            "format": FORMAT,
            "batch": batch.key,
            "ids": json.dumps(batch.ids),
            "digests": json.dumps(digests_of(batch)),
            "lengths": json.dumps([len(some) for some in batch.tokens]),
            "layers": json.dumps(identity.layers),
            "dtype": identity.dtype,
            "model": identity.model,
            "data_crc64nvme": _NO_CRC,
            "header_crc64nvme": _NO_CRC,
        }
        self._tensors = {
            tensor_name(layer): {
                "dtype": label,
                "shape": [tokens, hidden],
                "data_offsets": [place * layer_bytes, (place + 1) * layer_bytes],
            }
            for place, layer in enumerate(identity.layers)
        }
        self.data_size = layer_bytes * len(identity.layers)
        """Of all tensors, in bytes."""
        self.size = len(self._unsealed(0))
        """In bytes; the tensors begin behind it."""

    def encoded(self, data_crc64nvme: int) -> bytes:
        """With two checksums, by which a file can be told whole by what it says itself.

        :param data_crc64nvme: of all bytes behind the header. The other one is the header's own.
        """
        return sealed(self._unsealed(data_crc64nvme))

    def _unsealed(self, data_crc64nvme: int) -> bytes:
        metadata = {**self._metadata, "data_crc64nvme": as_hex(data_crc64nvme)}
        text = json.dumps({"__metadata__": metadata, **self._tensors}, separators=(",", ":"))
        encoded = text.encode()
        # The format allows spaces behind the JSON text.
        encoded += b" " * (-(8 + len(encoded)) % ALIGNMENT)
        return struct.pack("<Q", len(encoded)) + encoded
