"""Samples from files, and a sentence for each that is none."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.parts import Sample


def written(folder: Path, name: str, content: str | bytes) -> Dataset:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Dataset(path)


def test_json_lines(tmp_path: Path) -> None:
    dataset = written(
        tmp_path,
        "d.jsonl",
        '\ufeff{"id": "a", "text": "é\\n"}\r\n\n{"text": " b", "id": 7, "more": []}\n  \n',
    )
    expected = [Sample("a", "é\n"), Sample("7", " b")]
    assert list(dataset) == expected == list(dataset.again()) == list(dataset)


def test_other_field_names(tmp_path: Path) -> None:
    path = tmp_path / "D.NDJSON"
    path.write_text('{"id": "no", "key": "a", "body": "x"}\n')
    assert list(Dataset(path, id_field="key", text_field="body")) == [Sample("a", "x")]


def test_the_id_of_a_line_of_text_is_its_number(tmp_path: Path) -> None:
    dataset = written(tmp_path, "d.txt", "one\n  two \r\nthree")
    assert list(dataset) == [Sample("1", "one"), Sample("2", "  two "), Sample("3", "three")]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "the dataset is empty: there is no sample in it"),
        ("\n \n", "the dataset is empty"),
        ('{"id": 1, "text": "x"}\nnone\n', "d.jsonl, line 2: this is not JSON"),
        ("[" * 100_000, "line 1: this is not JSON"),
        ("[]\n", "line 1: a JSON object with 'id' and 'text' is expected, not '..'"),
        (b'{"id": 1, "text": "x"}\n\xff\n', "line 2: this is not UTF-8: .* at byte 0 of the line"),
        ('{"id": 1}\n', "line 1: there is no field 'text', only 'id': name it with --text-field"),
        ('{"text": ""}\n', "line 1: there is no field 'id', only 'text': name it with --id-field"),
        ('{"id": 1, "text": null}\n', "line 1: the text of 1 is None, which is no text"),
        ('{"id": 1, "text": " \\n"}\n', "line 1: the text of 1 is empty: there is nothing to"),
        ('{"id": true, "text": "x"}\n', "the id is True: a text or a whole number is expected"),
        ('{"id": 1.5, "text": "x"}\n', "the id is 1.5: a text or a whole number is expected"),
        ('{"id": "", "text": "x"}\n', "the id has 0 bytes: one of 1 to 1024 is expected"),
        (json.dumps({"id": "é" * 513, "text": "x"}), "the id has 1026 bytes"),
        ('{"id": "\\ud800", "text": "x"}\n', "half a surrogate pair"),
        ('{"id": 1, "text": "\\udfff"}\n', "half a surrogate pair"),
        (
            '{"id": 1, "text": "x"}\n\n{"id": "1", "text": "y"}\n',
            "line 3: the id '1' is there for the second time",
        ),
    ],
)
def test_unusable_json_lines(tmp_path: Path, content: str | bytes, text: str) -> None:
    with pytest.raises(ExtractInputError, match=text):
        list(written(tmp_path, "d.jsonl", content))


def test_unusable_files(tmp_path: Path) -> None:
    def refused(path: Path, text: str) -> None:
        with pytest.raises(ExtractInputError, match=text):
            list(Dataset(path))

    refused(tmp_path / "none.jsonl", "none.jsonl: the dataset does not exist")
    refused(tmp_path / "d.csv", "may be .jsonl, .ndjson, .parquet, .txt")
    (tmp_path / "folder.txt").mkdir()
    refused(tmp_path / "folder.txt", "the dataset is not a file")
    (tmp_path / "gap.txt").write_text("a\n\nb\n")
    refused(tmp_path / "gap.txt", "gap.txt, line 2: the text of '2' is empty")


class TestParquet:
    @pytest.fixture
    def arrow(self) -> Any:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: parquet is not tried")
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")

    def test_rows_in_the_order_of_the_file(self, arrow: Any, tmp_path: Path) -> None:
        path = tmp_path / "d.parquet"
        ids = list(range(2500))
        columns = {"id": ids, "more": ids, "text": [f"t{number}" for number in ids]}
        arrow.parquet.write_table(arrow.table(columns), path, row_group_size=700)
        assert list(Dataset(path)) == [Sample(str(number), f"t{number}") for number in ids]

    def test_unusable(self, arrow: Any, tmp_path: Path) -> None:
        def refused(path: Path, text: str) -> None:
            with pytest.raises(ExtractInputError, match=text):
                list(Dataset(path))

        path = tmp_path / "d.parquet"
        path.write_bytes(b"PAR1 and no more")
        refused(path, "d.parquet: this cannot be read as parquet")
        arrow.parquet.write_table(arrow.table({"id": [1], "body": ["x"]}), path)
        refused(path, "there is no column 'text', only 'id', 'body': name it with --text-field")
        arrow.parquet.write_table(arrow.table({"id": ["a", None], "text": ["x", "y"]}), path)
        refused(path, "row 2: the id is None")
        arrow.parquet.write_table(arrow.table({"id": ["a", "a"], "text": ["x", "y"]}), path)
        refused(path, "row 2: the id 'a' is there for the second time")
        arrow.parquet.write_table(arrow.table({"id": [], "text": []}), path)
        refused(path, "the dataset is empty")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ExtractInputError, match=r"parquet file needs pyarrow,.*pip"):
        list(written(tmp_path, "d.parquet", b""))
