"""A file of samples: JSON lines, parquet, or plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from checkpoint_runtime.extract.data.lines import json_lines, text_lines
from checkpoint_runtime.extract.data.parquet import parquet_rows
from checkpoint_runtime.extract.data.raw import Raw
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.parts import Sample

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".txt": "text"}
"""By the end of the file's name, in lower case."""


class Dataset:
    """Iterated, it gives its samples in the order of the file, and reads it anew each time."""

    def __init__(self, path: Path, *, id_field: str = "id", text_field: str = "text") -> None:
        """
        :param id_field: of a JSON object, or a column of parquet. The ids of plain text are the
            numbers of its lines, from 1.
        :raises ExtractInputError: there is no such file, or its name does not tell what it holds.
        """
        if path.suffix.lower() not in FORMATS:
            raise ExtractInputError(
                f"{path}: what the file holds is told by the end of its name, which may be "
                f"{', '.join(FORMATS)}"
            )
        if not path.is_file():
            what = "is not a file" if path.exists() else "does not exist"
            raise ExtractInputError(f"{path}: the dataset {what}")
        self.path = path
        self.format = FORMATS[path.suffix.lower()]
        self._id_field = id_field
        self._text_field = text_field

    def __iter__(self) -> Iterator[Sample]:
        """
        :raises ExtractInputError: a line cannot be read, holds no text, or has an id that another
            line has; or there is none. It names the line.
        """
        seen: set[str] = set()
        for raw in self._raw():
            sample = raw.sample()
            if sample.id in seen:
                raise ExtractInputError(
                    f"{raw.where}: the id {sample.id!r} is there for the second time: the stored "
                    "states of the two could not be told apart"
                )
            seen.add(sample.id)
            yield sample
        if not seen:
            raise ExtractInputError(f"{self.path}: the dataset is empty: there is no sample in it")

    def again(self) -> Iterator[Sample]:
        """The same, of a dataset that was gone through: without a memory of all ids.

        :raises ExtractInputError: a line cannot be read, or holds no text.
        """
        for raw in self._raw():
            yield raw.sample()

    def _raw(self) -> Iterator[Raw]:
        try:
            if self.format == "text":
                yield from text_lines(self.path)
            elif self.format == "jsonl":
                yield from json_lines(self.path, self._id_field, self._text_field)
            else:
                yield from parquet_rows(self.path, self._id_field, self._text_field)
        except OSError as error:
            raise ExtractInputError(f"{self.path}: cannot be read: {error}") from error
