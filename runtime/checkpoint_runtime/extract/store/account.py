"""What an object says of itself: the header of its safetensors file, against its bytes.

So it can be told whole in any store, by whoever finds it, without the run that made it.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from checkpoint_runtime.extract.crc import as_hex, crc64nvme
from checkpoint_runtime.extract.file.header import FORMAT, is_sealed
from checkpoint_runtime.extract.parts import Marker, Whole
from checkpoint_runtime.extract.store.objects import CHUNK_BYTES

_LONGEST_HEADER_BYTES: Final = 100_000_000  # what safetensors reads


@dataclass(frozen=True, slots=True)
class Account:
    """Of an object whose bytes were all read."""

    size: int
    crc64nvme: int
    is_ours: bool
    """Whether a worker wrote it for this batch, whole or not: as far as it can still be read, it
    says so, and says nothing else."""
    ids: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    """Of its samples' tokens; none: it does not tell."""
    problem: str | None = None
    """Why it is not whole, without a full stop; None: it is."""

    def marker(self, key: str) -> Marker:
        """The one that it should have."""
        return Marker(Whole(key, self.size, self.crc64nvme), self.ids, self.digests)


@dataclass(frozen=True, slots=True)
class _Header:
    batch: str
    ids: tuple[str, ...]
    digests: tuple[str, ...]
    data_crc: str
    data_bytes: int


def account_of(chunks: Iterable[bytes], batch: str) -> Account:
    """Read an object to its end; no more of it than its header and a chunk is in memory.

    :param batch: whose object it should be.
    """
    sizes = _Sizes()
    source = sizes.counted(chunks)
    head, behind = _taken(source, 8)
    header_bytes = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
    # Of something else, or with damage here, the beginning is enough to see whose it is.
    wanted = header_bytes if header_bytes <= _LONGEST_HEADER_BYTES else CHUNK_BYTES
    text, data = _taken(itertools.chain([behind], source), wanted)
    data_crc = crc64nvme(data)
    for chunk in source:
        data_crc = crc64nvme(chunk, data_crc)
    header = _header(text)
    if header is None:
        problem = (
            "it ends within its header"
            if sizes.total < 8 + header_bytes <= 8 + _LONGEST_HEADER_BYTES or len(head) < 8
            else "its header is not ours"
        )
        return Account(sizes.total, sizes.crc, FORMAT.encode() in text, problem=problem)
    if header.batch != batch:
        problem = f"it is that of another batch ({header.batch})"
        return Account(sizes.total, sizes.crc, False, header.ids, header.digests, problem)
    expected = 8 + header_bytes + header.data_bytes
    if sizes.total != expected:
        problem = f"it has {sizes.total:,} bytes, its header tells of {expected:,}"
    elif not is_sealed(head + text):
        # Its ids and lengths may be others: they are in no other checksum.
        problem = "its header does not fit the checksum in it"
    elif header.data_crc != as_hex(data_crc):
        problem = "its bytes do not fit the checksum in its header"
    else:
        return Account(sizes.total, sizes.crc, True, header.ids, header.digests)
    return Account(sizes.total, sizes.crc, True, header.ids, header.digests, problem)


class _Sizes:
    """What has gone by."""

    def __init__(self) -> None:
        self.total = 0
        self.crc = 0

    def counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.total += len(chunk)
            self.crc = crc64nvme(chunk, self.crc)
            yield chunk


def _taken(source: Iterator[bytes], size: int) -> tuple[bytes, bytes]:
    """The first bytes, as many as there are up to ``size``, and what of the last chunk is left."""
    found = bytearray()
    while len(found) < size:
        chunk = next(source, None)
        if chunk is None:
            break
        found += chunk
    return bytes(found[:size]), bytes(found[size:])


def _header(text: bytes) -> _Header | None:
    """None: it is no header, or not of a file of ours."""
    try:
        found: Any = json.loads(text)
        told = found.pop("__metadata__")
        if told["format"] != FORMAT:
            return None
        ids = json.loads(told["ids"])
        digests = json.loads(told.get("digests", "[]"))
        data_bytes = max((tensor["data_offsets"][1] for tensor in found.values()), default=0)
        header = _Header(
            told["batch"], tuple(ids), tuple(digests), told["data_crc64nvme"], data_bytes
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    texts = (header.batch, header.data_crc, *header.ids, *header.digests)
    whole = type(data_bytes) is int and isinstance(ids, list) and isinstance(digests, list)
    whole = whole and len(header.digests) in (0, len(header.ids))
    return header if whole and all(type(text) is str for text in texts) else None
