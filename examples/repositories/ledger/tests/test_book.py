from __future__ import annotations

from pathlib import Path

import pytest

from runtime import book


def test_it_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book.write(tmp_path, [20])

    book.run(tmp_path)

    assert book.read(tmp_path) == [20, 15, 7]
    assert capsys.readouterr().out == "going on after 1 of 3\n"
