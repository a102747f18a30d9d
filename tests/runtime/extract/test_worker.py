"""One worker, with stand-ins for the model and the store: order, errors, signals, bounds."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Preempted
from checkpoint_runtime.events import EventFile
from checkpoint_runtime.extract.errors import NotFiniteError, StagingError, StoreError
from checkpoint_runtime.extract.figures import Figures
from checkpoint_runtime.extract.manner import Manner
from checkpoint_runtime.extract.parts import Batch, Whole
from checkpoint_runtime.extract.staging.folder import ShardFolder
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.room import Room
from checkpoint_runtime.extract.staging.stage import Place, Stage
from checkpoint_runtime.extract.trouble import Trouble
from checkpoint_runtime.extract.worker import Worker, name_of
from checkpoint_runtime.preemption import Preemption
from tests.runtime.extract.fakes import (
    DEADLINE_S,
    FakeExtractor,
    FakeMarkers,
    FakeStore,
    Heard,
    batches,
    content_of,
)
from tests.runtime.support import files_in

KEYED = "00000000"
"""In the names of all files that are staged."""


class Bench:
    """A worker and all that it works with."""

    def __init__(self, tmp_path: Path, stack: ExitStack) -> None:
        self.trouble = Trouble()
        self.extractor = FakeExtractor()
        self.store = FakeStore(self.trouble.stop)
        self.markers = FakeMarkers(self.store)
        self.heard = Heard()
        self.staging = tmp_path / "staging"
        self.events_path = tmp_path / "events"
        self._stack = stack

    def work(
        self,
        todo: list[Batch],
        *,
        marks: Marks | None = None,
        buffers: int = 1,
        **manner: Any,
    ) -> Worker:
        folder = self._stack.enter_context(
            ShardFolder(self.staging, "shard-0-of-1", self.heard.note)
        )
        room = Room(
            folder.path,
            marks or Marks(),
            changed=self.trouble.changed,
            note=self.heard.note,
        )
        preemption = self._stack.enter_context(Preemption())
        self.stage = Stage(folder.path, room)
        return Worker(
            extractor=self.extractor,
            stage=self.stage,
            destination=self.store,
            markers=self.markers,
            figures=Figures(
                batches=len(todo),
                samples=sum(len(batch.ids) for batch in todo),
                tokens=sum(batch.token_count for batch in todo),
            ),
            events=self._stack.enter_context(EventFile(os.fspath(self.events_path))),
            preemption=preemption,
            told=self.heard,
            trouble=self.trouble,
            manner=Manner(**manner),
            buffers=buffers,
        )

    def do(self, todo: list[Batch], **options: Any) -> Worker:
        worker = self.work(todo, **options)
        worker.run(todo)
        return worker

    @property
    def events(self) -> list[str]:
        return self.events_path.read_text().splitlines()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(tmp_path, stack)


@pytest.mark.parametrize("uploads", [0, 1, 4])
def test_every_batch_is_stored_then_marked_then_gone(bench: Bench, uploads: int) -> None:
    todo = batches(7)
    worker = bench.do(todo, uploads=uploads)
    assert bench.store.objects == {
        f"{batch.key}.safetensors": content_of(batch, 1000) for batch in todo
    }
    assert {marker.ids for marker in bench.markers.found.values()} == {b.ids for b in todo}
    assert sorted(files_in(bench.staging)) == ["shard-0-of-1", "shard-0-of-1/lock"]
    for batch in todo:
        start, done = (bench.events.index(f"{verb} {name_of(batch)}") for verb in ("start", "done"))
        assert start < done
    assert bench.extractor.extracted == list(range(7))
    assert [payload.released for payload in bench.extractor.payloads] == [1] * 7
    assert bench.heard.progress[-1] == (14, 14)
    last = bench.heard.last
    assert last is not None
    assert (last.batches, last.samples, last.tokens, last.bytes_staged) == (7, 14, 28, 7000)
    assert (last.bytes_uploaded, last.copies_per_batch, last.staging_bytes) == (7000, 1.0, 0)
    assert not worker.left_behind


def test_one_at_a_time_a_kill_loses_one_batch_at_most(bench: Bench) -> None:
    bench.do(batches(4), uploads=0)
    verbs = [line.split()[0] for line in bench.events]
    assert verbs == ["start", "done"] * 4


def test_extraction_staging_and_uploads_go_on_side_by_side(bench: Bench) -> None:
    both = threading.Barrier(2)
    bench.store.before = lambda whole: both.wait(DEADLINE_S)
    todo = batches(4)
    bench.do(todo, uploads=2)  # with one thread at a time the barrier would break
    assert len(bench.store.objects) == 4


@pytest.mark.parametrize("buffers", [1, 3])
def test_no_more_payloads_are_held_than_there_are_buffers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, buffers: int
) -> None:
    """One more would wait for a buffer, deaf to signals and to errors of other threads."""
    held: list[int] = []
    write = Place.write

    def slowly(place: Place, content: memoryview) -> Path:
        threading.Event().wait(0.01)
        return write(place, content)

    monkeypatch.setattr(Place, "write", slowly)
    bench.extractor.before = lambda batch: held.append(
        1 + sum(not payload.released for payload in bench.extractor.payloads)
    )
    bench.do(batches(12), uploads=1, buffers=buffers)
    assert max(held) <= buffers
    assert max(held) > 1 or buffers == 1


@pytest.mark.parametrize("uploads", [0, 4])
def test_with_one_buffer_what_a_kill_costs_is_one_batch(bench: Bench, uploads: int) -> None:
    """A forward pass begins when the file of the one before lies whole in the staging."""
    todo = batches(12)
    behind: list[int] = []

    def look(batch: Batch) -> None:
        if batch.number:
            name = f"{todo[batch.number - 1].key}.safetensors"
            kept = name in bench.store.objects or (bench.stage.folder / name).exists()
            behind.append(not kept)

    bench.extractor.before = look
    bench.do(todo, uploads=uploads)
    assert behind == [0] * 11


def test_the_first_error_ends_all_and_what_was_marked_stays(bench: Bench) -> None:
    todo = batches(20)

    def refuse(whole: Whole) -> None:
        if whole.key.startswith(todo[3].key):
            raise StoreError("access denied")

    bench.store.before = refuse
    with pytest.raises(StoreError, match="access denied"):
        bench.do(todo, uploads=1, marks=Marks(budget_bytes=10 * 4096))
    assert [b.number for b in todo if b.key in bench.markers.found] == [0, 1, 2]
    assert len(bench.extractor.extracted) < 20
    done = {line for line in bench.events if line.startswith("done")}
    assert done == {f"done {name_of(b)}" for b in todo if b.key in bench.markers.found}


def test_an_error_reaches_a_worker_that_waits_for_room(bench: Bench) -> None:
    begun = threading.Event()

    def fail(whole: Whole) -> None:
        assert begun.wait(DEADLINE_S)
        raise StoreError("gone")

    bench.store.before = fail
    bench.heard.on_note = lambda text: begun.set() if "Paused" in text else None
    with pytest.raises(StoreError, match="gone"):
        bench.do(batches(9), uploads=1, marks=Marks(budget_bytes=10 * 4096))
    assert begun.is_set()
    assert len(bench.extractor.extracted) == 8


def test_the_staging_is_never_fuller_than_its_bound(bench: Bench) -> None:
    paused, most = threading.Event(), list[int]()

    def look(whole: Whole) -> None:
        assert paused.wait(DEADLINE_S)  # slower than the extraction, until it had to wait
        names = os.listdir(bench.staging / "shard-0-of-1")
        most.append(sum(KEYED in name for name in names))

    bench.store.before = look
    bench.heard.on_note = lambda text: paused.set() if "Paused" in text else None
    bench.do(batches(30), uploads=2, marks=Marks(budget_bytes=5 * 4096, high=0.8, low=0.4))
    last = bench.heard.last
    assert last is not None
    assert last.staging_peak_bytes == 4 * 4096
    assert last.pauses >= 1
    assert max(most) == 4
    assert len(bench.store.objects) == 30


def test_a_batch_that_never_fits_is_told(bench: Bench) -> None:
    with pytest.raises(StagingError, match="it can never be staged"):
        bench.do(batches(1), marks=Marks(budget_bytes=4096))
    assert bench.events_path.read_text() == ""


def test_a_nan_names_its_sample_and_nothing_of_it_is_stored(bench: Bench) -> None:
    bench.extractor = FakeExtractor(not_finite={1: ("s1-0",)})
    with pytest.raises(NotFiniteError, match=r"of 1 sample hold a NaN or an infinity: s1-0\. Noth"):
        bench.do(batches(3), uploads=1)
    assert not any(key.startswith(batches(2)[1].key) for key in bench.store.objects)


def test_a_nan_may_be_kept_and_is_told(bench: Bench) -> None:
    bench.extractor = FakeExtractor(not_finite={1: tuple(f"s{n}" for n in range(7))})
    bench.do(batches(3), uploads=1, keeps_not_finite=True)
    assert len(bench.store.objects) == 3
    (note,) = bench.heard.notes
    assert "7 samples hold a NaN or an infinity: s0, s1, s2, s3, s4, …; kept (batch-1-" in note


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_ends_it_at_once_without_a_grace(bench: Bench, number: signal.Signals) -> None:
    hang = threading.Event()
    uploading = threading.Event()

    def block(whole: Whole) -> None:
        uploading.set()
        hang.wait(DEADLINE_S)

    def send(batch: Batch) -> None:
        if batch.number == 2:
            assert uploading.wait(DEADLINE_S)
            os.kill(os.getpid(), number)

    bench.store.before = block
    bench.extractor.before = send
    kind = KeyboardInterrupt if number is signal.SIGINT else Preempted
    todo = batches(9)
    worker = bench.work(todo, uploads=1)
    try:
        with pytest.raises(kind):
            worker.run(todo)
        assert worker.left_behind  # the request that hangs is for the process to end
        assert bench.markers.found == {}
    finally:
        hang.set()


def test_within_the_grace_what_is_extracted_is_stored_and_nothing_new_begun(bench: Bench) -> None:
    go_on = threading.Event()
    bench.store.before = lambda whole: go_on.wait(DEADLINE_S)
    bench.extractor.before = lambda batch: (
        os.kill(os.getpid(), signal.SIGTERM) if batch.number == 3 else None
    )
    bench.heard.on_note = lambda text: go_on.set() if "a signal" in text else None
    todo = batches(9)
    worker = bench.work(todo, uploads=1, grace_s=DEADLINE_S)
    with pytest.raises(Preempted):
        worker.run(todo)
    assert not worker.left_behind
    assert bench.extractor.extracted == [0, 1, 2]
    assert len(bench.markers.found) == 3


def test_a_grace_that_is_too_short_ends(bench: Bench) -> None:
    hang = threading.Event()
    bench.store.before = lambda whole: hang.wait(DEADLINE_S)
    bench.extractor.before = lambda batch: (
        os.kill(os.getpid(), signal.SIGTERM) if batch.number == 1 else None
    )
    todo = batches(3)
    worker = bench.work(todo, uploads=1, grace_s=0.1)
    try:
        with pytest.raises(Preempted):
            worker.run(todo)
        assert worker.left_behind
    finally:
        hang.set()


def test_a_signal_in_a_pause_is_heeded(bench: Bench) -> None:
    hang = threading.Event()
    bench.store.before = lambda whole: hang.wait(DEADLINE_S)
    bench.heard.on_note = lambda text: (
        os.kill(os.getpid(), signal.SIGTERM) if "Paused" in text else None
    )
    todo = batches(9)
    worker = bench.work(todo, uploads=1, marks=Marks(budget_bytes=5 * 4096))
    try:
        with pytest.raises(Preempted):
            worker.run(todo)
    finally:
        hang.set()
