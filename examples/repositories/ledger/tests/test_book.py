from __future__ import annotations

from pathlib import Path

from runtime import book


def test_it_goes_on(tmp_path, capsys) -> None:
    book.write(tmp_path, [20])

    book.run(tmp_path)

    assert book.read(tmp_path) == [20, 15, 7]
    assert capsys.readouterr().out == "going on after 1 of 3\n"


def enter_second(folder: Path) -> None:
    book.write(folder, [20, 15])


def test_a_crash_leaves_the_sums_of_before_or_of_after(crash_everywhere, tmp_path) -> None:
    """A fixture of the kit's, in an ordinary test."""
    book.write(tmp_path, [20])
    for crash in crash_everywhere(enter_second, tmp_path):
        assert book.read(crash.workspace) in ([20], [20, 15]), crash.describe()
