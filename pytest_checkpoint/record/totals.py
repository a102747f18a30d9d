"""What an execution has done in all, as its result tells it."""

from __future__ import annotations

import dataclasses
import os

from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.record.room.lull import lull_of


def with_totals(result: Result, recorder: Recorder) -> Result:
    """The result, and all that the recorder has counted and noted."""
    return dataclasses.replace(
        result,
        fired_at=recorder.fired_at,
        started_ns=recorder.started_ns,
        workspace_bytes=recorder.totals.workspace_bytes,
        all_bytes=recorder.totals.all_bytes,
        operations=recorder.totals.operations,
        refused=_refused(recorder),
        room_again_s=_room_again_s(recorder),
        steps=recorder.step,
        created_outside=tuple(recorder.policy.still_there()),
        reaches_out=recorder.policy.reaches_out,
        strayed=tuple(recorder.belonging.strays),
        mapped=tuple(recorder.mapped.nodes()),
        unreadable=tuple(
            os.fsdecode(recorder.tree.path(node)) for node in recorder.mapped.unreadable
        ),
    )


def _refused(recorder: Recorder) -> tuple[str, str, int, float] | None:
    lull = lull_of(recorder.troubles)
    worst = None if lull is None else lull.worst
    if worst is None:
        return None
    return worst.call, worst.path, worst.count, worst.within_s


def _room_again_s(recorder: Recorder) -> float | None:
    lull = lull_of(recorder.troubles)
    return None if lull is None else lull.over_s
