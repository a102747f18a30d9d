"""Whether a run with a fault came to it as the recording did, whoever took turns with whom."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from pytest_checkpoint.record.drift import drift
from pytest_checkpoint.record.faults import Identity, identity_of, injection_at
from pytest_checkpoint.record.operations import Event, Operation

Step = tuple[int, str, str]
"""Thread, call, path."""


def run(*steps: Step, errors: dict[int, int] | None = None, base: int = 100) -> list[Operation]:
    """``base``: threads are numbered otherwise in every run."""
    return [
        Operation(
            step=number,
            call=call,
            path=b"events" if call == "event" else b"w/" + path.encode(),
            effects=(Event(path.encode() + b"\n"),) if call == "event" else (),
            process=base,
            thread=base + thread,
            error=(errors or {}).get(number, 0),
        )
        for number, (thread, call, path) in enumerate(steps, 1)
    ]


def one(*paths: str) -> list[Step]:
    return [(0, "write", path) for path in paths]


def told(control: Sequence[Step], faulted: Sequence[Step], step: int | None = None) -> str | None:
    at = len(faulted) if step is None else step
    return drift(run(*control), run(*faulted, base=700), at)


def test_the_same_way_is_none() -> None:
    assert told(one("a", "b", "c"), one("a", "b")) is None
    assert told(one("a", "b", "c"), one("a", "b", "c")) is None
    assert told(one("a", "b"), one("a", "b", "z"), step=2) is None


def test_names_that_differ_from_run_to_run_are_the_same() -> None:
    assert told(one("tmpab12cd_x", "shard-1"), one("tmpzz34yy_q", "shard-2")) is None


def test_another_operation_is_named_with_the_one_that_it_was() -> None:
    assert told(one("a", "b", "c"), one("a", "x", "c")) == (
        "this run took another course than the recording before the fault: it came to step 2 "
        "(write x), where the recording has step 2 (write b)"
    )


def test_more_than_the_recording_has() -> None:
    assert told(one("a"), one("a", "b")) == (
        "this run took another course than the recording before the fault: it came to step 2 "
        "(write b), where the recording has nothing more of this thread"
    )
    assert told(one("a"), one("a", "a")) is not None


def test_threads_may_take_turns_otherwise() -> None:
    control = [(1, "write", "a"), (1, "fsync", "a"), (2, "write", "b"), (2, "fsync", "b")]
    faulted = [(2, "write", "b"), (1, "write", "a"), (2, "fsync", "b"), (1, "fsync", "a")]
    assert told(control, faulted) is None
    # And be met in another order, one of them not at all yet.
    assert told(control, [(5, "write", "b"), (5, "fsync", "b")]) is None


def test_within_a_thread_the_order_counts() -> None:
    control = [(1, "write", "a"), (1, "fsync", "a"), (2, "write", "b"), (2, "fsync", "b")]
    faulted = [(1, "write", "a"), (2, "fsync", "b"), (2, "write", "b")]
    assert told(control, faulted) == (
        "this run took another course than the recording before the fault: it came to step 2 "
        "(fsync b), where the recording has step 1 (write a)"
    )


def test_no_thread_of_the_recording_serves_two() -> None:
    control = [(1, "write", "a"), (2, "write", "b")]
    faulted = [(1, "write", "a"), (2, "write", "a")]
    assert told(control, faulted) == (
        "this run took another course than the recording before the fault: it has one more thread "
        "or process, whose first operation is at step 2 (write a)"
    )


def test_threads_are_matched_as_well_as_they_can_be() -> None:
    """The shorter one fits both, the longer one only the longer."""
    control = [*((1, "write", p) for p in "ab"), *((2, "write", p) for p in "ac")]
    assert told(control, [(8, "write", "a"), (9, "write", "a"), (9, "write", "b")]) is None
    assert told(control, [(9, "write", "a"), (9, "write", "b"), (8, "write", "a")]) is None
    assert told(control, [(8, "write", "a"), (9, "write", "a"), (7, "write", "a")]) is not None


def test_many_threads_alike() -> None:
    control = [(thread, "write", path) for thread in range(300) for path in ("in", "out")]
    faulted = [(thread, "write", "in") for thread in range(300)]
    assert told(control, faulted) is None


def test_one_of_several_may_repeat_what_it_does() -> None:
    """A heartbeat in a run that takes longer; but nothing that it never did."""
    control = [(1, "write", "a"), (2, "utimensat", "beat"), (1, "write", "b")]
    beats = [(2, "utimensat", "beat")] * 3
    assert told(control, [(1, "write", "a"), *beats, (1, "write", "b")]) is None
    assert told(control, [(1, "write", "a"), *beats, (2, "unlink", "beat")]) is not None


def test_an_operation_that_failed_by_itself_must_fail_again() -> None:
    steps = one("a", "b", "c")
    control = run(*steps, errors={2: errno.EEXIST})
    assert drift(control, run(*steps, errors={2: errno.EEXIST, 3: errno.EIO}), 3) is None
    assert drift(control, run(*steps, errors={3: errno.EIO}), 3) is not None
    assert drift(control, run(*steps, errors={2: errno.EIO}), 2) is None


def test_other_lines_are_another_course() -> None:
    control = [*one("a"), (0, "event", "done 3"), *one("b")]
    assert told(control, [*one("a"), (0, "event", "done 4"), *one("b")]) is None
    assert told(control, [*one("a"), (0, "event", "fail 3"), *one("b")]) is not None


def test_stores_are_seen_whenever_somebody_looks() -> None:
    stored = [(0, "write", "a"), (0, "store", "m"), (0, "write", "b")]
    assert told(stored, one("a", "b")) is None
    assert told(one("a", "b"), stored) is None


def test_closes_count_only_where_the_recording_has_them() -> None:
    closed = [(0, "write", "a"), (0, "close", "a"), (0, "write", "b")]
    assert told(one("a", "b"), closed) is None
    assert told(closed, one("a", "b")) is not None


def test_an_identity_leaves_out_what_differs_from_run_to_run() -> None:
    (operation,) = run((0, "write", ".state.json.x8k2l1qz"))
    assert identity_of(operation) == Identity("write", ".state.json.*")


def test_an_occurrence_is_counted_by_identity() -> None:
    operations = run(*one("part-1", "a", "part-2", "a", "part-7"))
    found = [injection_at(operations, step, errno.EIO) for step in (1, 3, 5, 4)]
    assert [(i.path, i.occurrence) for i in found] == [
        ("part-#", 1),
        ("part-#", 2),
        ("part-#", 3),
        ("a", 2),
    ]
    with pytest.raises(ValueError, match="no step 6"):
        injection_at(operations, 6, errno.EIO)
