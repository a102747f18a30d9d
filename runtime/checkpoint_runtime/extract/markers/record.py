"""The content of a marker: what was stored, of which samples, and a checksum of all that.

{"format": 1, "key": "3f….safetensors", "size": 81920, "crc64nvme": "…", "ids": […],
 "digests": […], "sha256": "…"}
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

from checkpoint_runtime.extract.crc import as_hex
from checkpoint_runtime.extract.errors import MarkerError
from checkpoint_runtime.extract.parts import Marker, Whole

FORMAT: Final = 1
SUFFIX: Final = ".done"
_NAME: Final = re.compile(r"([0-9a-f]{16,64})\.done")
_OBJECT: Final = re.compile(r"([0-9a-f]{16,64})\.safetensors")


def marker_name(key: str) -> str:
    """
    :param key: of the batch.
    """
    return key + SUFFIX


def batch_of_marker(name: str) -> str | None:
    """The key of the batch whose marker has this name; None: it is no marker's."""
    found = _NAME.fullmatch(name)
    return found and found[1]


def batch_of_object(key: str) -> str | None:
    """The key of the batch whose object has this key; None: it is no batch's."""
    found = _OBJECT.fullmatch(key)
    return found and found[1]


def content_of(marker: Marker) -> bytes:
    fields = {
        "format": FORMAT,
        "key": marker.whole.key,
        "size": marker.whole.size,
        "crc64nvme": as_hex(marker.whole.crc64nvme),
        "ids": list(marker.ids),
    }
    if marker.digests:
        fields["digests"] = list(marker.digests)
    return json.dumps(fields | {"sha256": _digest(fields)}).encode() + b"\n"


def marker_in(content: bytes, place: str) -> Marker:
    """
    :param place: where it stands, for the sentence.
    :raises MarkerError: that is not what was written there.
    """
    try:
        fields: dict[str, Any] = json.loads(content)
        format_number = fields["format"]
        digest = fields.pop("sha256")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(place, "it is no record") from error
    if digest != _digest(fields):
        raise _damaged(place, "its checksum does not fit")
    if format_number != FORMAT:
        raise MarkerError(
            f"{place}: this marker was written by a newer version (format {format_number}, this "
            f"one knows {FORMAT}). Nothing was done: use that version."
        )
    marker = Marker(
        Whole(fields["key"], fields["size"], int(fields["crc64nvme"], 16)),
        tuple(fields["ids"]),
        tuple(fields.get("digests", ())),
    )
    if len(marker.digests) not in (0, len(marker.ids)):
        raise _damaged(place, "it has a digest for some of its samples only")
    if marker_name(marker.key) != place.rpartition("/")[2]:
        raise _damaged(place, f"it is that of {marker.whole.key}")
    return marker


def _digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _damaged(place: str, problem: str) -> MarkerError:
    return MarkerError(
        f"{place}: the marker is damaged: {problem}. No crash leaves that behind. Nothing was "
        "done. If you remove it, `checkpoint-runtime reconcile` finds what it stood for."
    )
