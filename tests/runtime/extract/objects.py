"""Objects as a worker makes them, made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.crc import as_hex, crc64nvme
from checkpoint_runtime.extract.file.header import FORMAT, sealed
from checkpoint_runtime.extract.parts import Marker, Whole

# Whoever imports this makes objects with it: without it the whole module is skipped, and says so.
pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")

BATCH = "0123456789abcdef" * 2
OTHER_BATCH = "fedcba9876543210" * 2
KEY = f"{BATCH}.safetensors"


def file_of(
    batch: str = BATCH, ids: tuple[str, ...] = ("a", "b"), data: bytes = b"\x01\x02" * 500,
    **told: Any,
) -> bytes:  # fmt: skip
    """
    :param told: instead of what the header would tell.
    """
    metadata = {
        "format": FORMAT, "batch": batch, "ids": json.dumps(ids),
        "data_crc64nvme": as_hex(crc64nvme(data)), "header_crc64nvme": "0" * 16,
    } | told  # fmt: skip
    tensor = {"dtype": "BF16", "shape": [len(data) // 2], "data_offsets": [0, len(data)]}
    text = json.dumps({"__metadata__": metadata, "hidden": tensor}, separators=(",", ":"))
    return sealed(len(text).to_bytes(8, "little") + text.encode()) + data


def whole_of(content: bytes, key: str = KEY) -> Whole:
    return Whole(key, len(content), crc64nvme(content))


def marker_of(content: bytes, key: str = KEY, ids: tuple[str, ...] = ("a", "b")) -> Marker:
    return Marker(whole_of(content, key), ids)


def staged(folder: Path, content: bytes) -> Path:
    path = folder / "staged"
    path.write_bytes(content)
    return path
