"""A declared bucket: what its prefix means."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_checkpoint.api import Bucket
from pytest_checkpoint.session.buckets import checked


@pytest.mark.parametrize(
    ("given", "means"), [("", ""), ("run", "run/"), ("run/", "run/"), ("a/b", "a/b/")]
)
def test_a_prefix_is_a_folder_and_not_its_neighbours(given: str, means: str) -> None:
    place = checked("s3", Bucket("things", given), Path.cwd())
    assert place is not None
    assert place.prefix == means
    assert not "run2/of-somebody-else".startswith(place.prefix or "/")
