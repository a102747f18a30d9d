"""The processes of a job: what they have used, whoever their parent is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_checkpoint.record import family

if TYPE_CHECKING:
    import pytest

    from tests.kit.record.conftest import Runner


def test_startup_is_what_all_have_used_until_the_first_operation(runner: Runner) -> None:
    """Here a child that still lives then, and is not ours."""
    result = runner.ok("""
import resource
ready, lasting = os.pipe(), os.pipe()
if not os.fork():
    os.close(lasting[1])
    while resource.getrusage(resource.RUSAGE_SELF).ru_utime < 0.1: sum(range(10000))
    os.write(ready[1], b".")
    os.read(lasting[0], 1)
    os._exit(0)
os.read(ready[0], 1)
put("first")
""").result
    assert result.startup_cpu_s >= 0.08  # the kernel counts in hundredths


def test_a_parent_that_ends_while_it_is_asked_whose_a_process_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its children have become ours by then."""
    parents: dict[int, list[int | None]] = {3: [2, os.getpid()], 2: [None], 4: [None]}
    monkeypatch.setattr(family, "_parent_of", lambda process: parents[process].pop(0))
    assert family.is_below(3)
    assert not family.is_below(4)
