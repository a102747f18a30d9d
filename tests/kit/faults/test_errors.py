"""Which calls fail, and how; and when a run is told to end."""

from __future__ import annotations

import errno
import signal
from dataclasses import replace

from pytest_checkpoint.phases.faults.errors import (
    count_of,
    find_error,
    planned_errors,
    wants_closes,
)
from pytest_checkpoint.phases.faults.planned import base_of
from pytest_checkpoint.phases.faults.signals import find_signal, planned_signals
from pytest_checkpoint.record.faults import Injection, SignalAt
from pytest_checkpoint.record.operations import Operation
from tests.kit.power_loss.programs import Program


def saved(*, times: int = 1) -> list[Operation]:
    program = Program()
    for _ in range(times):
        program.create("tmp")
        program.write("tmp", b"state")
        program.fsync("tmp")
        program.rename("tmp", "state")
        program.event("done a")
    return program.operations


def with_closes() -> list[Operation]:
    """The same run with its closes: the file, and a directory that nothing was written to."""
    operations = saved()
    close = replace(operations[2], call="close", effects=())
    other = replace(close, path=b"w")
    found = [*operations[:3], close, close, *operations[3:], other]
    return [replace(one, step=step) for step, one in enumerate(found, 1)]


def test_every_operation_has_its_main_error() -> None:
    needed, _ = planned_errors(saved(), [], exhaustive=False)
    assert sorted(one.point.id for one in needed) == [
        "1.emfile",
        "1.erofs",
        "2.eio",
        "3.eio",
        "4.eio",
    ]
    assert len({one.covers for one in needed} - {""}) == 5


def test_other_errors_are_sampled() -> None:
    operations = saved(times=9)
    _, others = planned_errors(operations, [], exhaustive=False)
    variants = [one.point.variant for one in others]
    for variant in ("enospc", "edquot", "eio-on", "erofs-on"):
        assert variants.count(variant) == 4
    assert variants.count("short") == 9
    _, every = planned_errors(operations, [], exhaustive=True)
    assert [one.point.variant for one in every].count("erofs-on") == 9
    assert count_of(operations, []) == len(every) + 9 * 5


def test_what_cannot_fail_is_left_out() -> None:
    program = Program()
    program.create("a")
    program.write("a", b"x")  # one byte: all or nothing
    program.sync()  # cannot fail
    program.failed_fsync("a")  # had failed by itself
    needed, others = planned_errors(program.operations, [], exhaustive=True)
    assert {one.point.step for one in needed} == {1, 2}
    assert "short" not in {one.point.variant for one in others}


def test_the_close_of_what_was_written_fails() -> None:
    _, others = planned_errors(saved(), with_closes(), exhaustive=False)
    (close,) = [one for one in others if wants_closes(one.point.variant)]
    assert close.point.id == "3.close-eio"
    assert close.point.operation == "EIO after step 3 (close tmp)"
    assert isinstance(close.action, Injection)
    assert (close.action.call, close.action.occurrence) == ("close", 1)


def test_the_same_operation_of_a_later_round_is_another_occurrence() -> None:
    found = find_error(saved(times=3), [], 12, "eio")
    assert found is not None
    assert isinstance(found.action, Injection)
    assert (found.action.call, found.action.occurrence) == ("write", 3)
    assert found.point.operation == "EIO at step 12 (write tmp (5 bytes at 0))"


def test_it_is_found_again_by_its_name() -> None:
    operations, closes = saved(times=2), with_closes()
    needed, others = planned_errors(operations, closes, exhaustive=False)
    for one in (*needed, *others):
        assert find_error(operations, closes, one.point.step, one.point.variant) == one
    for step, variant in ((5, "eio"), (1, "eio"), (99, "eio"), (2, "other"), (3, "short")):
        assert find_error(operations, closes, step, variant) is None


def test_a_lasting_error_says_so() -> None:
    found = find_error(saved(), [], 1, "erofs-on")
    assert found is not None
    assert found.point.operation == "EROFS from step 1 on (create tmp)"
    assert isinstance(found.action, Injection)
    assert (found.action.error, found.action.lasting) == (errno.EROFS, True)


def test_each_signal_after_every_operation_ends_and_middle_first() -> None:
    planned = planned_signals(saved(), 3.0)
    assert [one.point.id for one in planned][:5] == [
        "1.sigterm",
        "5.sigterm",
        "3.sigterm",
        "2.sigterm",
        "4.sigterm",
    ]
    assert {one.point.variant for one in planned[5:]} == {"sigint"}
    assert planned[1].point.operation == 'SIGTERM after step 5 (event "done a")'
    assert planned[0].action == SignalAt(step=1, number=signal.SIGTERM, grace_s=3.0)
    for one in planned:
        assert find_signal(saved(), one.point.step, one.point.variant, 3.0) == one
    for step, variant in ((0, "sigterm"), (6, "sigterm"), (1, "sigusr1")):
        assert find_signal(saved(), step, variant, 3.0) is None


def test_what_follows_a_fault_is_told_from_it() -> None:
    assert base_of("41.eio+57.power-loss-names-kept-data-lost") == (
        "41.eio",
        "57.power-loss-names-kept-data-lost",
    )
    assert base_of("41.eio") == ("41.eio", "")
