"""Bundled subjects on a real tmpfs and with a quota: some boundaries of two of them.

``benchmarks/full_disk.py`` does it for all of them at fifty.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
if not (ROOT / "benchmarks" / "full_disk.py").is_file():
    pytest.skip("there are no benchmarks beside these tests", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.small_rooms.subjects import bundled  # noqa: E402 - the path first
from benchmarks.small_rooms.sweep import NoRealRoomError, sweep  # noqa: E402


@pytest.mark.parametrize(("name", "most"), [("json_writer", 6), ("sound_sqlite_wal", 6)])
def test_a_tmpfs_and_a_quota_agree(tmp_path: Path, name: str, most: int) -> None:
    (commands,) = (one for one in bundled() if one.name == name)
    try:
        tally = sweep(commands, tmp_path / "base", most, seed=1)
    except NoRealRoomError as missing:
        pytest.skip(str(missing))

    assert tally.disagreements == []
    assert tally.agreed == tally.boundaries == most
    assert tally.refused > 0
