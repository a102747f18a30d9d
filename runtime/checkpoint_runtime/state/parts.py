"""What several kinds of records have in common, as values; each raises what makes one damaged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from checkpoint_runtime.state.checks import count_in, name_in, text_in
from checkpoint_runtime.state.facts import Fingerprint, Kept, SideFile

_NO_FILES: Final[Mapping[str, SideFile]] = MappingProxyType({})


def fingerprint_in(record: Mapping[str, Any]) -> Fingerprint:
    made_of = record.get("made_of")
    return Fingerprint(
        text_in(record["version"]),
        {name_in(name): text_in(digest) for name, digest in record["inputs"].items()},
        text_in(record["parameters"]),
        None if made_of is None else text_in(made_of),
    )


def kept_in(record: Mapping[str, Any], line: int) -> Kept:
    return Kept(record["value"], text_in(record["digest"]), files_in(record), line)


def files_in(record: Mapping[str, Any]) -> Mapping[str, SideFile]:
    if "files" not in record:
        return _NO_FILES
    return {
        name_in(name): SideFile(count_in(file["bytes"]), text_in(file["sha256"]))
        for name, file in record["files"].items()
    }
