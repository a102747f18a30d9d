"""What stands in front of the tensors of a safetensors file."""

from __future__ import annotations

import json
import struct

from checkpoint_runtime.extract.data.digests import digests_of
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.parts import Batch

FORMAT = "checkpoint-runtime.hidden-states.1"
ALIGNMENT = 64
"""Of the first tensor, in bytes. The format asks for 8; copies are fastest to a cache line."""

_NO_CRC = "0" * 16


def tensor_name(layer: int) -> str:
    return f"layer.{layer}"


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
        self.size = len(self.encoded(0))
        """In bytes; the tensors begin behind it."""

    def encoded(self, data_crc64nvme: int) -> bytes:
        """
        :param data_crc64nvme: of all bytes behind the header. With it a file can be told whole by
            what it says itself.
        """
        metadata = {**self._metadata, "data_crc64nvme": f"{data_crc64nvme:016x}"}
        text = json.dumps({"__metadata__": metadata, **self._tensors}, separators=(",", ":"))
        encoded = text.encode()
        # The format allows spaces behind the JSON text.
        encoded += b" " * (-(8 + len(encoded)) % ALIGNMENT)
        return struct.pack("<Q", len(encoded)) + encoded
