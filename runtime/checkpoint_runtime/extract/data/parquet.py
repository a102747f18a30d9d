"""Samples from a parquet file, read in pieces through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.data.raw import Raw
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.libraries import required

_ROWS = 1024
"""Held at a time, beside what pyarrow holds of a row group."""


def parquet_rows(path: Path, id_field: str, text_field: str) -> Iterator[Raw]:
    """A row each, in the order of the file."""
    arrow = required("pyarrow", f"{path}: a parquet file", "pip install pyarrow")
    parquet = required("pyarrow.parquet", f"{path}: a parquet file", "pip install pyarrow")
    try:
        with parquet.ParquetFile(path) as file:
            _check_columns(path, file, id_field, text_field)
            number = 0
            for rows in file.iter_batches(_ROWS, columns=[id_field, text_field]):
                ids, texts = _column(rows, id_field), _column(rows, text_field)
                for found, text in zip(ids, texts, strict=True):
                    number += 1
                    yield Raw(found, text, f"{path}, row {number}")
    except arrow.ArrowException as error:
        raise ExtractInputError(
            f"{path}: this cannot be read as parquet: {error!s:.200}"
        ) from error


def _check_columns(path: Path, file: Any, id_field: str, text_field: str) -> None:
    there = list(file.schema_arrow.names)
    for field, option in ((id_field, "--id-field"), (text_field, "--text-field")):
        if field not in there:
            names = ", ".join(map(repr, there[:10]))
            raise ExtractInputError(
                f"{path}: there is no column {field!r}, only {names}: name it with {option}"
            )


def _column(rows: Any, field: str) -> list[object]:
    found: list[object] = rows.column(field).to_pylist()
    return found
