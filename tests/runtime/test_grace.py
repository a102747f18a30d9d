"""A grace after a signal: what is under way may get to its end, and is abandoned if it does not."""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Context, DefinitionError, Pipeline, Preempted, StageState
from checkpoint_runtime.progress import Silent
from tests.runtime.support import RESULT, Ran, film, one, records_of

LONG_S = 300.0
"""More than any test lasts."""


def send(number: signal.Signals = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


def blocks(context: object = None) -> None:
    """In one system call, until a signal comes out of it."""
    select.select([], [], [], 60)
    raise AssertionError


def states(pipeline: Pipeline, workspace: Path) -> list[StageState]:
    return [stage.state for stage in pipeline.status(workspace).stages]


KINDS = pytest.mark.parametrize(
    ("number", "raised"),
    [
        (signal.SIGTERM, Preempted),
        (signal.SIGUSR1, Preempted),
        (signal.SIGINT, KeyboardInterrupt),
    ],
)


@KINDS
def test_what_gets_to_its_end_within_the_grace_is_done(
    tmp_path: Path, number: signal.Signals, raised: type[BaseException]
) -> None:
    ran: Ran = []
    with pytest.raises(raised):
        film(ran, render=lambda: send(number)).run(tmp_path, grace_s=LONG_S)
    assert ran == ["research", "render"]
    assert states(film(), tmp_path) == [StageState.DONE, StageState.DONE, StageState.PENDING]
    assert dict(film(ran).resume(tmp_path)) == RESULT
    assert ran == ["research", "render", "assemble"]


@KINDS
def test_what_does_not_is_abandoned_even_in_a_system_call(
    tmp_path: Path, number: signal.Signals, raised: type[BaseException]
) -> None:
    def work(context: Context) -> None:
        send(number)
        blocks()

    begun_s = time.monotonic()
    with pytest.raises(raised) as caught:
        one(work).run(tmp_path, grace_s=0.05)
    assert time.monotonic() - begun_s < 30
    assert records_of(tmp_path)[-1] == {"released": "work"}
    if number is not signal.SIGINT:
        assert str(caught.value) == f"preempted ({number.name})"
    for one_of in (signal.SIGTERM, signal.SIGUSR1, signal.SIGURG):
        assert signal.getsignal(one_of) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_of_a_mapped_stage_the_item_under_way_is_what_gets_to_its_end(tmp_path: Path) -> None:
    def work(context: Context, item: int) -> int:
        if item == 1:
            send()
        return item

    pipeline = Pipeline("film")
    pipeline.map(work, [0, 1, 2], name="m")
    with pytest.raises(Preempted):
        pipeline.run(tmp_path, grace_s=LONG_S)
    assert pipeline.status(tmp_path).stages[0].items_done == 2


def test_another_kind_of_signal_ends_the_grace(tmp_path: Path) -> None:
    """SLURM: SIGUSR1 some minutes before, then SIGTERM when the time is over."""

    def work(context: Context) -> None:
        send(signal.SIGUSR1)
        send(signal.SIGTERM)
        raise AssertionError

    with pytest.raises(Preempted) as caught:
        one(work).run(tmp_path, grace_s=LONG_S)
    assert caught.value.signal is signal.SIGTERM
    assert records_of(tmp_path)[-1] == {"released": "work"}


def test_a_second_one_of_the_same_kind_does_at_once_what_it_does_without_us(tmp_path: Path) -> None:
    found: list[object] = []

    def work(context: Context) -> None:
        send(signal.SIGUSR1)
        found.append(signal.getsignal(signal.SIGUSR1))

    with pytest.raises(Preempted):
        one(work).run(tmp_path, grace_s=LONG_S)
    assert found == [signal.SIG_DFL]


def test_waits_are_no_work_and_get_no_grace(tmp_path: Path) -> None:
    def work(context: Context) -> None:
        timer.start()
        raise RuntimeError

    timer = threading.Timer(0.05, send)
    with pytest.raises(Preempted):
        one(work, attempts=2, backoff_s=60.0).run(tmp_path, grace_s=LONG_S)
    timer.join()


def test_one_that_fails_within_the_grace_has_failed(tmp_path: Path) -> None:
    def work(context: Context) -> None:
        send()
        raise RuntimeError("out of paint")

    with pytest.raises(Preempted) as caught:
        one(work).run(tmp_path, grace_s=LONG_S)
    assert "out of paint" in str(caught.value.__context__)
    assert states(one(work), tmp_path)[0] is StageState.FAILED


def test_the_end_of_the_grace_that_comes_with_the_end_of_the_stage_is_harmless(
    tmp_path: Path,
) -> None:
    """Whichever is first, a stage is done or abandoned whole, and nothing is left of it."""
    for number in range(30):
        workspace = tmp_path / str(number)

        def work(context: Context, number: int = number) -> str:
            send()
            select.select([], [], [], number / 5000)
            return "done"

        with pytest.raises(Preempted):
            one(work).run(workspace, grace_s=0.003)
        assert states(one(work), workspace)[0] in (StageState.DONE, StageState.PENDING)
        assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL
        assert "grace" not in [thread.name for thread in threading.enumerate()]


def test_it_is_said_that_a_grace_has_begun(tmp_path: Path) -> None:
    said = threading.Event()
    notes: list[str] = []

    class Told(Silent):
        def note(self, text: str) -> None:
            notes.append(text)
            said.set()

    def work(context: Context) -> str:
        send(signal.SIGUSR1)
        assert said.wait(30)
        return "done"

    with pytest.raises(Preempted):
        one(work).run(tmp_path, grace_s=LONG_S, progress=Told())
    assert notes[0] == (
        "SIGUSR1: what is under way has 300 s to get to its end; another one ends the run at once."
    )


def test_who_catches_a_signal_without_python_keeps_it(tmp_path: Path) -> None:
    """``faulthandler.register(SIGUSR1)``: to look where a job hangs must not end it."""

    def work(context: Context) -> str:
        send(signal.SIGUSR1)
        return "done"

    with tempfile.TemporaryFile() as file:
        faulthandler.register(signal.SIGUSR1, file=file)
        try:
            assert one(work).run(tmp_path)["work"] == "done"
        finally:
            faulthandler.unregister(signal.SIGUSR1)
        assert file.tell()


def test_a_pipeline_within_a_stage_shares_the_grace(tmp_path: Path) -> None:
    ran: Ran = []

    def work(context: Context) -> int:
        film(ran, research=send).run(tmp_path / "inner")
        raise AssertionError

    with pytest.raises(Preempted):
        one(work).run(tmp_path / "outer", grace_s=LONG_S)
    assert ran == ["research"]
    assert states(film(), tmp_path / "inner")[0] is StageState.DONE


@pytest.mark.parametrize("grace_s", [-1, float("nan"), float("inf"), True, "5", None])
def test_a_grace_that_is_none_is_refused(tmp_path: Path, grace_s: Any) -> None:
    with pytest.raises(DefinitionError, match="a grace of"):
        film().run(tmp_path, grace_s=grace_s)
