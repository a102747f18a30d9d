"""What the bucket holds: the log beside the workspace, line by line, and what the lines come to.

Each line says what the store holds of one key, or of one multipart upload, from then on; the last
word counts. Bodies lie elsewhere, under their SHA-256 (``bodies``).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Self

_DIGEST_BYTES: Final = 32
_MODULUS: Final = 1 << (8 * _DIGEST_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a multipart upload, or of the object that it became."""

    number: int
    size: int
    """In bytes."""
    sha256: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Declared checksums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """What the store holds under a key."""

    key: str
    """Without the bucket."""
    size: int
    """In bytes."""
    sha256: str
    """Of the bytes that the store gives back: 64 hexadecimal digits."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Content type, own metadata, declared checksums: lower-case names. No times, no ETag."""
    parts: tuple[Part, ...] = ()
    """Of one that was uploaded in parts: its ETag depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A multipart upload that was begun, and neither completed nor aborted."""

    id: str
    key: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """What the object is to have."""
    parts: Mapping[int, Part] = field(default_factory=dict)


def object_line(one: StoredObject) -> bytes:
    """The line that says that the store holds this."""
    record = {"key": one.key, "size": one.size, "sha256": one.sha256, "headers": dict(one.headers)}
    if one.parts:
        record["parts"] = [_part(part) for part in one.parts]
    return _line(record)


def gone_line(key: str) -> bytes:
    """The line that says that nothing is held under this key."""
    return _line({"key": key, "gone": True})


def upload_line(one: Upload) -> bytes:
    """The line that says that an upload was begun; its parts have lines of their own."""
    return _line({"upload": one.id, "key": one.key, "headers": dict(one.headers)})


def part_line(upload: str, part: Part) -> bytes:
    return _line({"upload": upload, "part": _part(part)})


def upload_gone_line(upload: str) -> bytes:
    """The line that says that an upload was completed or aborted."""
    return _line({"upload": upload, "gone": True})


def _part(part: Part) -> dict[str, Any]:
    return {**dataclasses.asdict(part), "headers": dict(part.headers)}


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def _part_of(record: Mapping[str, Any]) -> Part:
    return Part(**record)


@dataclass(slots=True)
class Contents:
    """What the lines come to. Grows with :meth:`apply`."""

    objects: dict[str, StoredObject] = field(default_factory=dict)
    """By key."""
    uploads: dict[str, Upload] = field(default_factory=dict)
    """By the id that the job knows."""
    begun: int = 0
    """Uploads so far, those that have ended too: the next one is named by it."""
    _terms: dict[str, int] = field(default_factory=dict)
    _total: int = 0

    @classmethod
    def of(cls, log: bytes) -> Self:
        """Of a log of whole lines."""
        contents = cls()
        contents.apply(log)
        return contents

    def apply(self, lines: bytes) -> None:
        for line in lines.splitlines():
            record = json.loads(line)
            if "upload" in record:
                self._apply_upload(record)
            else:
                self._apply_object(record)

    def _apply_object(self, record: Mapping[str, Any]) -> None:
        key = record["key"]
        if record.get("gone"):
            self.objects.pop(key, None)
            self._tell(f"object {key}", b"")
            return
        parts = tuple(_part_of(part) for part in record.get("parts", ()))
        one = StoredObject(
            key=key,
            size=record["size"],
            sha256=record["sha256"],
            headers=record["headers"],
            parts=parts,
        )
        self.objects[key] = one
        self._tell(f"object {key}", object_line(one))

    def _apply_upload(self, record: Mapping[str, Any]) -> None:
        upload = record["upload"]
        if record.get("gone"):
            self.uploads.pop(upload, None)
            self._tell(f"upload {upload}", b"")
            return
        if "part" in record:
            known, part = self.uploads[upload], _part_of(record["part"])
            one = dataclasses.replace(known, parts={**known.parts, part.number: part})
        else:
            self.begun += 1
            one = Upload(id=upload, key=record["key"], headers=record["headers"])
        self.uploads[upload] = one
        lines = b"".join(part_line(upload, one.parts[number]) for number in sorted(one.parts))
        self._tell(f"upload {upload}", upload_line(one) + lines)

    def _tell(self, what: str, lines: bytes) -> None:
        """The digest is a sum, so that one change costs no look at all the rest."""
        self._total -= self._terms.pop(what, 0)
        if lines:
            term = int.from_bytes(blake2b(lines, digest_size=_DIGEST_BYTES).digest(), "big")
            self._terms[what] = term
            self._total += term

    @property
    def digest(self) -> bytes:
        """32 bytes, the same for what a job could not tell apart, however it came about."""
        return (self._total % _MODULUS).to_bytes(_DIGEST_BYTES, "big")

    def dump(self) -> bytes:
        """A log that comes to the same."""
        lines = [object_line(one) for _, one in sorted(self.objects.items())]
        for _, upload in sorted(self.uploads.items()):
            lines.append(upload_line(upload))
            lines += [part_line(upload.id, part) for _, part in sorted(upload.parts.items())]
        return b"".join(lines)


def digests_of(log: bytes) -> set[str]:
    """Of all bytes that some line of a log tells of, whether the store still holds them or not."""
    found: set[str] = set()
    for line in log.splitlines():
        record = json.loads(line)
        parts = [*record.get("parts", ()), *([record["part"]] if "part" in record else [])]
        found.update(one["sha256"] for one in (record, *parts) if "sha256" in one)
    return found


def fold(log: bytes) -> Contents:
    """What the lines of a log come to: ``State.objects``, or the ``objects`` file of a slot."""
    return Contents.of(log)
