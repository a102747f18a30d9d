"""What a commit costs: one sync, and the same however much is done already."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from checkpoint_runtime import Context, Pipeline
from tests.runtime.disk import Disk, on

STAGES = 120


def costs(workspace: Path, value: object) -> list[Counter[str]]:
    """The calls between the beginning of each stage and that of the next."""
    found: list[Counter[str]] = []
    disk = Disk()
    pipeline = Pipeline("film")

    def work(context: Context) -> object:
        found.append(Counter(disk.calls))
        return value

    for number in range(STAGES):
        pipeline.stage(name=f"s{number}", after=[])(work)
    with on(disk):
        pipeline.run(workspace)
    # Who holds the workspace is taken out of the lock file at the end.
    found.append(Counter(disk.calls) - Counter(ftruncate=1))
    return [after - before for before, after in itertools.pairwise(found)]


SMALL = {"open": 2, "write": 3, "fdatasync": 1, "swap": 2, "unlink": 2}
"""One record and two files of the handoff."""
TURNING_A_PAGE = {"open": 3, "write": 4, "fdatasync": 1, "swap": 2, "unlink": 2, "replace": 1}


def test_a_small_commit_is_one_sync_however_much_is_done(tmp_path: Path) -> None:
    found = costs(tmp_path, 42)
    turning = [number for number, calls in enumerate(found) if calls.total() != sum(SMALL.values())]
    assert turning == [*range(16, STAGES, 16)]
    for number, calls in enumerate(found):
        if number == 16:  # the folder of the pages is made, once
            calls.subtract({"mkdir": 1, "fsync": 2, "open": 2})
            calls += Counter()
        assert calls == (TURNING_A_PAGE if number in turning else SMALL), number
    assert sum(calls["fdatasync"] for calls in found) == STAGES


def test_a_commit_with_a_side_file_syncs_that_and_its_folder_before(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    disk = Disk()
    begun: list[int] = []
    for number in range(3):

        def work(context: Context, number: int = number) -> bytes:
            begun.append(len(disk.order))
            return bytes([number]) * 300_000

        pipeline.stage(name=f"s{number}")(work)
    with on(disk):
        pipeline.run(tmp_path)
    calls = disk.order[begun[1] : begun[2]]
    assert calls[:7] == ["open", "write", "fsync", "open", "fsync", "write", "fdatasync"]
    assert Counter(calls)["fsync"] == 2


def test_an_item_of_a_mapped_stage_is_one_sync(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.map(lambda context, item: item, range(50), name="m")
    with on(Disk()) as disk:
        pipeline.run(tmp_path)
    assert disk.calls["fdatasync"] == 50 + 3  # the first line, an attempt, the stage


@pytest.mark.parametrize("done", [10, 100])
def test_opening_costs_the_same_number_of_calls_however_much_is_done(
    tmp_path: Path, done: int
) -> None:
    def pipeline(stages: int) -> Pipeline:
        found = Pipeline("film")
        for number in range(stages):
            found.stage(name=f"s{number}")(lambda context: 1)
        return found

    pipeline(done).run(tmp_path)
    with on(Disk()) as disk:
        pipeline(done).resume(tmp_path)
    # The lock; the log, the names of the workspace; then what a crash may have left of the handoff.
    assert disk.order == [
        *["open", "pwrite"], *["open", "fsync", "open", "fsync"], *["unlink", "unlink"], "ftruncate"
    ]  # fmt: skip
