"""A state whose staging has gone."""

from __future__ import annotations

from pytest_checkpoint.phases.staging.gone import emptied
from pytest_checkpoint.tree.image import directory_at
from tests.kit.power_loss.programs import image, tree


def test_the_content_goes_and_the_directory_stays() -> None:
    before = image(
        {"s/": b"", "s/a": b"1", "s/d/": b"", "s/d/b": b"2", "done/": b"", "done/a": b""}
    )
    after = emptied(before, (b"w/s", b"t"))
    assert tree(after) == {"s/": b"", "done/": b"", "done/a": b""}
    assert "s/a" in tree(before)


def test_a_directory_is_found_by_its_path() -> None:
    there = image({"s/": b"", "s/a": b"1"})
    assert directory_at(there, b"w/s") is not None
    assert [directory_at(there, path) for path in (b"w/s/a", b"w/x", b"w/x/y", b"q")] == [None] * 4
