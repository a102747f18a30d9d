"""The story of one extraction: look at everything first, then do what the shard has left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from checkpoint_runtime.errors import CheckpointRuntimeError
from checkpoint_runtime.events import EventFile
from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.data.plan import Plan, Remaining
from checkpoint_runtime.extract.data.shards import Shard
from checkpoint_runtime.extract.data.tokens import OnLong, Tokenizer
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.figures import Figures
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.manner import Manner
from checkpoint_runtime.extract.markers.bucket import BucketMarkers
from checkpoint_runtime.extract.markers.local import LocalMarkers
from checkpoint_runtime.extract.markers.opening import open_markers
from checkpoint_runtime.extract.model.extractor import Extractor
from checkpoint_runtime.extract.model.loading import Model, load_model
from checkpoint_runtime.extract.parts import Markers
from checkpoint_runtime.extract.staging.folder import ShardFolder, final_name
from checkpoint_runtime.extract.staging.leftovers import Leftovers
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.room import Room
from checkpoint_runtime.extract.staging.stage import Stage
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.opening import destination_of
from checkpoint_runtime.extract.store.options import StoreOptions
from checkpoint_runtime.extract.told import LOGS_NAME, All, LogFile, ProgressFile, Shown
from checkpoint_runtime.extract.trouble import Trouble
from checkpoint_runtime.extract.worker import Worker
from checkpoint_runtime.liveness.heartbeat import Heartbeat
from checkpoint_runtime.liveness.heartbeat_file import remove_heartbeat
from checkpoint_runtime.preemption import Preempted, Preemption
from checkpoint_runtime.state.durable import make_directory
from checkpoint_runtime.texts import counted, words_of

MARKERS_NAME = "markers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user wants extracted, and how."""

    model: Path
    dataset: Path
    id_field: str
    text_field: str
    layers: tuple[int, ...]
    dtype: str
    device: str
    batch_tokens: int
    on_long: OnLong
    accept_changed: bool
    shard: Shard
    destination: str
    store: StoreOptions
    staging: Path
    marks: Marks
    state: Path
    markers: str | None
    """None: in the state; ``bucket``: beside the objects."""
    markers_anywhere: bool
    heartbeat_s: float | None
    ahead: int | None
    """So many batches may be extracted while the one before them has yet to be staged; None: one
    where the device copies beside the next forward pass, else none."""
    manner: Manner

    @property
    def worker(self) -> str:
        """Its name: of its log, its heartbeat, its directory in the staging."""
        return f"shard-{self.shard.index}-of-{self.shard.count}"


@dataclass(slots=True)
class Outcome:
    """What is to be known of a run however it ended."""

    left_behind: bool = False
    """Whether a thread is in the midst of something that nothing can end: the process has to."""


def extract_shard(wishes: Wishes, shown: Shown, outcome: Outcome) -> None:
    """Do what is left of a shard. What is wrong with any of it is told before any work.

    :raises CheckpointRuntimeError: what is wrong.
    :raises Preempted, KeyboardInterrupt: a signal; what is marked is done.
    """
    log = LogFile(wishes.state / LOGS_NAME / f"{wishes.worker}.log", shown.note)

    def note(text: str) -> None:
        log.add(text)
        shown.note(text)

    trouble = Trouble()
    # What is told without touching anything comes first, then what takes long to load.
    dataset = Dataset(wishes.dataset, id_field=wishes.id_field, text_field=wishes.text_field)
    destination = destination_of(
        wishes.destination, wishes.store, note=note, random=Random(), stop=trouble.stop
    )
    unopened = _markers(wishes, destination, note)
    for name in ("torch", "transformers"):
        required(name, "an extraction")
    _make_state(wishes)
    with ExitStack() as stack:
        preemption = stack.enter_context(Preemption())
        events = stack.enter_context(EventFile.from_environment())
        stack.enter_context(_logged(log))
        with preemption.heeded():
            destination.prepare()
        markers = stack.enter_context(_entered(unopened))
        folder = stack.enter_context(ShardFolder(wishes.staging, wishes.worker, note))
        with preemption.heeded():
            model, remaining = _looked_at(wishes, dataset, markers)
            destination.abandon_uploads(map(final_name, remaining.keys))
        heartbeat = stack.enter_context(_beating(wishes, remaining, note))
        _tell_plan(wishes.worker, remaining, note)
        staged = folder.take_up(remaining.keys, remaining.others)
        if not remaining.batches:
            return
        buffers = model.device.buffers if wishes.ahead is None else 1 + wishes.ahead
        extractor = stack.enter_context(
            Extractor(model, batch_tokens=wishes.batch_tokens, buffers=buffers)
        )
        room = Room(
            folder.path, wishes.marks, changed=trouble.changed, note=note, clear=folder.clear
        )
        stage = Stage(folder.path, room)
        leftovers = Leftovers(stage, remaining.outlines(staged), note)
        worker = Worker(
            extractor=extractor,
            stage=stage,
            destination=destination,
            markers=markers,
            figures=Figures(
                batches=remaining.batches, samples=remaining.samples, tokens=remaining.tokens
            ),
            events=events,
            preemption=preemption,
            told=All(shown, log, ProgressFile(folder.path), heartbeat),
            trouble=trouble,
            manner=wishes.manner,
            buffers=buffers,
        )
        try:
            worker.run(remaining, leftovers)
        finally:
            outcome.left_behind = worker.left_behind


def _make_state(wishes: Wishes) -> None:
    try:
        make_directory(wishes.state)
    except OSError as error:
        raise ExtractInputError(
            f"the state directory {wishes.state} cannot be made: {error.strerror}."
        ) from error


@contextmanager
def _logged(log: LogFile) -> Iterator[None]:
    """What ends the work stands in the log too."""
    try:
        yield
    except (CheckpointRuntimeError, Preempted, KeyboardInterrupt) as error:
        log.add(f"ended by {words_of(error)}")
        raise


def _markers(
    wishes: Wishes, destination: StoreDestination, note: Callable[[str], None]
) -> LocalMarkers | BucketMarkers:
    return open_markers(
        wishes.markers or str(wishes.state / MARKERS_NAME),
        destination,
        shard=f"{wishes.shard.index}-of-{wishes.shard.count}",
        staging=wishes.staging,
        anywhere=wishes.markers_anywhere,
        note=note,
    )


@contextmanager
def _entered(markers: LocalMarkers | BucketMarkers) -> Iterator[Markers]:
    with markers as found:
        yield found


def _looked_at(wishes: Wishes, dataset: Dataset, markers: Markers) -> tuple[Model, Remaining]:
    model = load_model(wishes.model, layers=wishes.layers, dtype=wishes.dtype, device=wishes.device)
    tokenizer = Tokenizer(wishes.model, max_tokens=model.max_tokens, on_long=wishes.on_long)
    plan = Plan.made(dataset, tokenizer, batch_tokens=wishes.batch_tokens, identity=model.identity)
    return model, plan.remaining(wishes.shard, markers.load(), accept_changed=wishes.accept_changed)


@contextmanager
def _beating(
    wishes: Wishes, remaining: Remaining, note: Callable[[str], None]
) -> Iterator[Heartbeat | None]:
    if wishes.heartbeat_s is None:
        remove_heartbeat(wishes.state, wishes.worker)
        yield None
        return
    heartbeat = Heartbeat(wishes.state, wishes.worker, interval_s=wishes.heartbeat_s, note=note)
    with heartbeat.ending():
        if remaining.batches:  # a run that finds nothing to do changes nothing
            heartbeat.begin("extract")
            heartbeat.stage("extract", done=0, total=remaining.samples)
        yield heartbeat


def _tell_plan(worker: str, remaining: Remaining, note: Callable[[str], None]) -> None:
    if remaining.changed:
        note(
            f"{worker}: {counted(len(remaining.changed), 'sample')} that are stored have other "
            "tokens now: what is stored is kept (--accept-changed)"
        )
    if not remaining.batches:
        note(f"{worker}: every sample is stored already: nothing is to be done")
        return
    note(
        f"{worker}: {remaining.samples} samples in {remaining.batches} batches are left, "
        f"{remaining.tokens:,} tokens"
    )
