"""The recording as it is written, operation by operation, and read back whole.

A recording is a folder: ``operations.jsonl`` (first line: the start), ``data.bin`` (bytes of writes
and of the files that were there before). It is written while the job runs, so that a job that is
killed leaves the recording of exactly what it did.
"""

from __future__ import annotations

import json
import mmap
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import codec
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.tree.image import Image

FORMAT: Final = 1
_OPERATIONS: Final = "operations.jsonl"
_DATA: Final = "data.bin"
_BUFFER: Final = 1 << 18
_AT_ONCE: Final = 128
"""Operations that are written down together."""


class Journal:
    """Writes a recording. Not for reading while it is open."""

    def __init__(
        self,
        folder: Path,
        start: Image,
        events: bytes,
        slot: str,
        effects: bytes = b"",
        objects: bytes = b"",
    ) -> None:
        self._folder = folder
        self._pending: list[codec.Fields] = []
        self._pending_bytes = 0
        try:
            with ExitStack() as opened:
                folder.mkdir(parents=True, exist_ok=True)
                self._data_file = opened.enter_context(open(folder / _DATA, "wb", _BUFFER))
                self._lines = opened.enter_context(open(folder / _OPERATIONS, "wb", _BUFFER))
                self._data = codec.DataWriter(self._data_file)
                head = {
                    "format": FORMAT,
                    "slot": slot,
                    "events": codec.text(events),
                    "effects": codec.text(effects),
                    "objects": codec.text(objects),
                    "start": codec.encode_image(start, self._data),
                }
                self._lines.write(json.dumps(head).encode("ascii") + b"\n")
                self._files = opened.pop_all()
        except OSError as problem:
            raise _unwritable(folder, problem) from problem

    def append(self, fields: codec.Fields, size: int) -> None:
        """``fields``: of an :class:`Operation`; ``size``: of what it writes, in bytes.

        The job waits meanwhile. What is written down of many at once takes half as long.
        """
        self._pending.append(fields)
        self._pending_bytes += size
        if len(self._pending) >= _AT_ONCE or self._pending_bytes >= _BUFFER:
            self._write_down()

    def _write_down(self) -> None:
        try:
            lines = [codec.encode_step(fields, self._data) for fields in self._pending]
            self._lines.write("".join(lines).encode("ascii"))
        except OSError as problem:
            raise _unwritable(self._folder, problem) from problem
        finally:
            self._pending.clear()
            self._pending_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._files:
                self._write_down()
        except OSError as error:
            raise _unwritable(self._folder, error) from error


def _unwritable(folder: Path, error: OSError) -> HarnessError:
    return HarnessError(
        f"the recording cannot be written to {folder} ({error.strerror}): make room there"
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run: where it began and what it did, in order."""

    slot: str
    """The directory that was recorded: the recording belongs to this path."""
    start: Image
    start_events: bytes
    operations: tuple[Operation, ...]
    start_effects: bytes = b""
    start_objects: bytes = b""


def load(folder: Path) -> Recording:
    """Read a recording; HarnessError with a sentence if it is not whole."""
    try:
        with open(folder / _OPERATIONS, encoding="ascii") as lines:
            head = json.loads(lines.readline())
            if head["format"] != FORMAT:
                raise HarnessError(
                    f"the recording in {folder} was written by another version; record again"
                )
            read = _reader(folder / _DATA)
            start = codec.decode_image(head["start"], read)
            operations = tuple(codec.decode_operation(line, read) for line in lines)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise HarnessError(
            f"the recording in {folder} cannot be read ({error}); delete it and record again"
        ) from error
    effects = codec.raw(head.get("effects", ""))
    objects = codec.raw(head.get("objects", ""))
    return Recording(head["slot"], start, codec.raw(head["events"]), operations, effects, objects)


def _reader(path: Path) -> codec.Reader:
    with open(path, "rb") as file:
        size = path.stat().st_size
        whole = (
            memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            if size
            else memoryview(b"")
        )

    def read(offset: int, length: int) -> memoryview:
        if offset < 0 or length < 0 or offset + length > size:
            raise ValueError(f"{path.name} ends at {size}, before {offset} + {length}")
        return whole[offset : offset + length]

    return read
