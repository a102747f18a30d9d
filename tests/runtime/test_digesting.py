"""Digests worked out beside the disk's work: no thread is left, no error lost, none is needed."""

from __future__ import annotations

import _thread
import errno
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import CommitError, Pipeline
from checkpoint_runtime.codec import Attachment
from checkpoint_runtime.state import digesting
from checkpoint_runtime.state.digesting import Digesting
from tests.runtime.disk import failing
from tests.runtime.support import records_of

DEADLINE_S = 20.0
CONTENT = b"x" * 300_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Slow(Attachment):
    """One whose digest is worked out only when it is let, and which says when that is begun."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__("bin", [CONTENT])
        self.begun, self.let, self.ended = (threading.Event() for _ in range(3))
        self.wanted: bool | None = None
        self._error = error

    def error_once_begun(self) -> CommitError:
        assert self.begun.wait(DEADLINE_S)
        return CommitError(Path("x"), "full")

    def work_out(self, wanted: Callable[[], bool]) -> None:
        self.begun.set()
        assert self.let.wait(DEADLINE_S)
        self.wanted = wanted()
        try:
            if self._error is not None:
                raise self._error
            super().work_out(wanted)
        finally:
            self.ended.set()


@contextmanager
def digested(
    one: Attachment, make: Callable[[], object] | None = None
) -> Iterator[Digesting[object]]:
    with Digesting([one], make or (lambda: one.sha256)) as digests:
        digests.start()
        yield digests


def test_the_block_runs_meanwhile_and_the_digest_is_known_when_it_is_left() -> None:
    one = Slow()
    with digested(one) as digests:
        digests.start()  # it has been
        assert one.begun.wait(DEADLINE_S)  # beside this, or never
        assert not one.ended.is_set()
        one.let.set()
    assert one.ended.is_set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashlib, "sha256", None)
        assert one.sha256 == digests.made == SHA256


@pytest.mark.parametrize("error", [MemoryError("no room"), OSError(errno.EIO, "x"), SystemExit(3)])
def test_what_goes_wrong_in_the_thread_is_raised_when_the_block_is_left(
    error: BaseException,
) -> None:
    one = Slow(error)
    with pytest.raises(type(error)) as caught, digested(one):
        one.let.set()
    assert caught.value is error


@pytest.mark.parametrize("size_bytes", [1, len(CONTENT)])
def test_what_is_made_of_the_digests_is_made_once_in_the_thread_if_there_is_one(
    size_bytes: int,
) -> None:
    one, here = Attachment("bin", [CONTENT[:size_bytes]]), threading.get_ident()
    made: list[tuple[str, bool]] = []

    def make() -> int:
        made.append((one.sha256, threading.get_ident() == here))
        return len(made)

    with Digesting([one], make) as digests:
        digests.start()
    assert (digests.made, digests.made) == (1, 1)
    assert made == [(hashlib.sha256(CONTENT[:size_bytes]).hexdigest(), size_bytes == 1)]


def test_what_goes_wrong_in_making_it_is_raised_when_the_block_is_left() -> None:
    def make() -> None:
        raise MemoryError("no room")

    one = Attachment("bin", [CONTENT])
    with pytest.raises(MemoryError, match="no room"), digested(one, make):
        pass


def test_of_digests_that_are_given_up_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    one, wait = Slow(), Digesting._wait
    made: list[str] = []

    def let_and_wait(self: Digesting[None]) -> None:
        one.let.set()
        wait(self)

    monkeypatch.setattr(Digesting, "_wait", let_and_wait)
    with pytest.raises(CommitError), digested(one, lambda: made.append(one.sha256)):
        raise one.error_once_begun()
    assert (one.ended.is_set(), made) == (True, [])


def test_an_error_of_the_block_comes_first_and_gives_the_digests_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, wait = Slow(MemoryError()), Digesting._wait

    def let_and_wait(self: Digesting[str]) -> None:
        one.let.set()
        wait(self)

    monkeypatch.setattr(Digesting, "_wait", let_and_wait)
    with pytest.raises(CommitError), digested(one):
        raise one.error_once_begun()
    assert (one.ended.is_set(), one.wanted) == (True, False)


def test_one_that_is_given_up_before_it_begins_does_not_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, start, wait = Slow(), _thread.start_new_thread, Digesting._wait
    late: list[Callable[[], None]] = []

    def start_and_wait(self: Digesting[str]) -> None:
        start(late.pop(), ())
        wait(self)

    monkeypatch.setattr(_thread, "start_new_thread", lambda function, args: late.append(function))
    monkeypatch.setattr(Digesting, "_wait", start_and_wait)
    with pytest.raises(CommitError), digested(one):
        raise CommitError(Path("x"), "full")
    assert not one.begun.is_set()


class Interrupted:
    """A lock: whoever waits for it is interrupted twice, and has it the third time."""

    def __init__(self, one: Slow) -> None:
        self._one, self._lock, self._waits = one, threading.Lock(), 0

    def acquire(self) -> None:
        if self._lock.acquire(blocking=False):  # before the thread is started
            return
        self._waits += 1
        assert self._one.begun.wait(DEADLINE_S)
        if self._waits < 3:
            raise KeyboardInterrupt(self._waits)
        self._one.let.set()
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


def test_an_interrupt_while_it_is_waited_for_leaves_no_thread_behind() -> None:
    one = Slow()
    digesting_one = Digesting([one], lambda: one.sha256)
    vars(digesting_one)["_at_work"] = Interrupted(one)
    with pytest.raises(KeyboardInterrupt, match="2"), digesting_one:
        digesting_one.start()
    assert (one.ended.is_set(), one.wanted) == (True, False)


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupt_while_it_is_started_leaves_no_thread_at_work(
    monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    one, start = Slow(), _thread.start_new_thread
    late: list[Callable[[], None]] = []

    def interrupted(function: Callable[[], None], args: tuple[()]) -> None:
        if begun:
            start(function, args)
            assert one.begun.wait(DEADLINE_S)
            one.let.set()
        else:
            late.append(function)
        raise KeyboardInterrupt

    monkeypatch.setattr(_thread, "start_new_thread", interrupted)
    with pytest.raises(KeyboardInterrupt), digested(one):
        pass
    for run in late:
        run()
    assert (one.begun.is_set(), one.ended.is_set()) == (begun, begun)


def test_an_error_in_starting_it_is_raised_and_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*args: object) -> int:
        raise MemoryError("no room")

    monkeypatch.setattr(_thread, "start_new_thread", fail)
    monkeypatch.setattr(Digesting, "_wait", pytest.fail)  # it would wait for ever
    with pytest.raises(MemoryError, match="no room"), digested(Slow()):
        pass


@pytest.mark.parametrize("size_bytes", [0, digesting.WORTH_A_THREAD_BYTES - 1])
def test_for_little_no_thread_is_started(size_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", None)
    one = Attachment("bin", [bytes(size_bytes)])
    with digested(one):
        pass
    assert one.sha256 == hashlib.sha256(bytes(size_bytes)).hexdigest()


def test_where_no_thread_may_be_had_the_digests_are_worked_out_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    one = Attachment("bin", [CONTENT])
    with digested(one):
        pass
    assert one.sha256 == SHA256


def large() -> Pipeline:
    pipeline = Pipeline("film")
    pipeline.stage(name="paint")(lambda context: CONTENT)
    pipeline.stage(name="look")(lambda context: len(context["paint"]))
    return pipeline


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_commit_that_fails_says_so_leaves_no_thread_and_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    ended: list[bool] = []
    run, real = Digesting._run, getattr(os, call)

    def noted(self: Digesting[Any]) -> None:
        run(self)
        ended.append(self._ended)

    def fail(descriptor: int, *data: bytes) -> object:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("/line-3-1-1.bin"):
            failing(errno.ENOSPC if call == "write" else errno.EIO)()
        return real(descriptor, *data)

    monkeypatch.setattr(Digesting, "_run", noted)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(
            CommitError, match=r"line-3-1-1\.bin: cannot write: .*as before"
        ) as caught:
            large().run(tmp_path)
    assert (caught.value.needed_bytes == len(CONTENT)) == (call == "write")
    assert ended == [True]
    assert not any("done" in record for record in records_of(tmp_path))
    assert os.listdir(tmp_path / "values") == []
    assert large().resume(tmp_path)["look"] == len(CONTENT)


def test_a_digest_that_cannot_be_worked_out_leaves_its_stage_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Attachment, wanted: Callable[[], bool]) -> None:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Attachment, "work_out", fail)
        with pytest.raises(MemoryError, match="no room"):
            large().run(tmp_path)
    assert not any("done" in record for record in records_of(tmp_path))
    assert large().resume(tmp_path)["look"] == len(CONTENT)
