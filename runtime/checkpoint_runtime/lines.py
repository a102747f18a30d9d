"""The lines of a state log: a checksum and one JSON record each, and what a crash leaves of them.

    5f0c1a2b {"format": 1, "pipeline": "film"}
    c01dcafe {"version": 1, "stage": "research", "value": {"frames": 3}}

A line is appended with one write. A crash can leave the *last* line short, and nothing else: a
record holds no newline, so a line without one was cut, and so was a last line whose checksum does
not fit (its bytes did not all reach the disk). Such a tail was never acknowledged and may go. A
line in the middle that does not fit its checksum is damage that no crash explains, and is refused.
A last line that was acknowledged and damaged later cannot be told from a torn one: its stage runs
again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from checkpoint_runtime import values
from checkpoint_runtime.errors import DamagedStateError, ForeignStateError

FORMAT = 1
"""Of the file; in its first line."""
RECORD_VERSION = 1
"""Of one record; in each."""

_KEEP = "To start over, move the file away; nothing has been changed."


class Contents(NamedTuple):
    """What a log says."""

    values: dict[str, str]
    """Stage name → what it returned, encoded, in the order of commit."""
    sound_bytes: int
    """Up to where the file is whole. What follows is the torn tail; 0: not even a header."""


def header_line(pipeline: str) -> bytes:
    return _line(json.dumps({"format": FORMAT, "pipeline": pipeline}, ensure_ascii=False))


def record_line(stage: str, encoded_value: str) -> bytes:
    name = json.dumps(stage, ensure_ascii=False)
    return _line(f'{{"version": {RECORD_VERSION}, "stage": {name}, "value": {encoded_value}}}')


def parse(data: bytes, *, pipeline: str, stages: Sequence[str], path: Path) -> Contents:
    """Read a whole log of a pipeline with these stages. ``path`` is for messages only.

    :raises DamagedStateError: a line that no crash leaves behind.
    :raises ForeignStateError: a sound log, but not of this pipeline, these stages, this version.
    """
    *lines, tail = data.split(b"\n")
    if not lines:
        return _parse_torn_header(tail, pipeline, path)
    _check_header(_payload(lines[0], path, 1), pipeline, path)
    found: dict[str, str] = {}
    sound_bytes = len(lines[0]) + 1
    for number, line in enumerate(lines[1:], start=2):
        record = _payload(line, path, number)
        if record is None:
            if number == len(lines) and not tail:
                break
            raise DamagedStateError(
                path, number, f"the checksum does not fit, and it is not the last line. {_KEEP}"
            )
        stage, value = _stage_and_value(record, path, number)
        _check_place(stage, stages[len(found) : len(found) + 1], path, number)
        found[stage] = values.encode(value, stage)
        sound_bytes += len(line) + 1
    return Contents(found, sound_bytes)


def _line(record: str) -> bytes:
    body = record.encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _payload(line: bytes, path: Path, number: int) -> Any:
    """The record of a line (without its newline), or None if the checksum does not fit."""
    checksum, _, body = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        return json.loads(body)
    except ValueError as error:
        raise DamagedStateError(
            path, number, f"the checksum fits, but this cannot be read as JSON ({error}). {_KEEP}"
        ) from error


def _parse_torn_header(tail: bytes, pipeline: str, path: Path) -> Contents:
    # Zeros: the length of the file reached the disk, its data did not.
    if header_line(pipeline).startswith(tail.rstrip(b"\0")):
        return Contents({}, 0)
    raise DamagedStateError(
        path, 1, f"this is not the beginning of a state of pipeline {pipeline!r}. {_KEEP}"
    )


def _check_header(header: Any, pipeline: str, path: Path) -> None:
    if not isinstance(header, dict) or not {"format", "pipeline"} <= header.keys():
        raise DamagedStateError(path, 1, f"this is not the first line of a state log. {_KEEP}")
    if header["format"] != FORMAT:
        raise ForeignStateError(
            path, 1, f"format {header['format']!r}, but this version reads format {FORMAT}. {_KEEP}"
        )
    if header["pipeline"] != pipeline:
        raise ForeignStateError(
            path, 1, f"the state of pipeline {header['pipeline']!r}, not of {pipeline!r}. {_KEEP}"
        )


def _check_place(stage: str, expected: Sequence[str], path: Path, number: int) -> None:
    # Stages run in their order, so what is done is the first so many of them.
    if stage not in expected:
        wanted = f"stage {expected[0]!r}" if expected else "no further stage"
        raise ForeignStateError(
            path,
            number,
            f"stage {stage!r} is recorded where the pipeline has {wanted}: its stages were "
            f"renamed, reordered or removed since. {_KEEP}",
        )


def _stage_and_value(record: Any, path: Path, number: int) -> tuple[str, object]:
    if not isinstance(record, dict) or "version" not in record:
        raise DamagedStateError(path, number, f"this is not a record of a stage. {_KEEP}")
    if record["version"] != RECORD_VERSION:
        raise ForeignStateError(
            path,
            number,
            f"a record of version {record['version']!r}, but this version reads "
            f"{RECORD_VERSION}. {_KEEP}",
        )
    stage = record.get("stage")
    if not isinstance(stage, str) or "value" not in record:
        raise DamagedStateError(path, number, f"this is not a record of a stage. {_KEEP}")
    return stage, record["value"]
