"""The story: per file system, run the writers, read what the device may hold, compare."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems import fuse_file, kernel, loop, sqlite_writers
from benchmarks.real_filesystems.filesystems import FileSystem, MissingError
from benchmarks.real_filesystems.images import DeviceState, at_most, device_states
from benchmarks.real_filesystems.judge import Judge, moments_of
from benchmarks.real_filesystems.plans import ALWAYS, plans
from benchmarks.real_filesystems.provoke import Plan
from benchmarks.real_filesystems.reader import StateReader, Unmountable
from benchmarks.real_filesystems.run import MOUNTED, carry_out, prepared_device
from benchmarks.real_filesystems.stopping import stop_if_asked
from benchmarks.real_filesystems.writers import Writer, small_writers
from pytest_checkpoint.errors import HarnessError

SEED: Final = 1
_STATES_PER_RUN: Final = 250
_TMPFS: Final = Path("/dev/shm")


@dataclass(slots=True)
class Comparison:
    """What came of one file system."""

    system: FileSystem
    judges: dict[str, Judge] = field(default_factory=dict)
    """By the writer's name."""
    runs: int = 0
    states: int = 0
    """Device states that were mounted and read."""
    pairs: int = 0
    """Moments of a run, each with a device state that may be found then."""
    seconds: float = 0.0
    reading_s: float = 0.0
    unmountable: list[str] = field(default_factory=list)


class Workshop:
    """A folder, and below it a mount namespace, that are gone with the process."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.disk: Final = folder / "disk"
        self.mount_point: Final = folder / "read"
        self.disk.mkdir()
        self.mount_point.mkdir()

    def leave(self) -> None:
        """Whatever is still mounted would be emptied together with the folder."""
        for path in (self.mount_point, self.disk / MOUNTED, self.disk / fuse_file.NAME):
            try:
                kernel.unmount(path, detach=True)
            except OSError:
                pass  # as it should be: nothing is mounted there


@contextmanager
def workshop() -> Iterator[Workshop]:
    """:class:`MissingError` if this machine does not let us."""
    check_machine()
    kernel.private_mounts()
    base = _TMPFS if _TMPFS.is_dir() else None
    with tempfile.TemporaryDirectory(prefix=f"validate-models-{os.getpid()}-", dir=base) as folder:
        shop = Workshop(Path(folder))
        try:
            yield shop
        finally:
            shop.leave()


def check_machine() -> None:
    if os.geteuid() != 0:
        raise MissingError("mounting file systems and making loop devices takes root")
    for device, why in ((fuse_file.DEVICE, "FUSE"), (loop.CONTROL, "loop devices")):
        try:
            os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            raise MissingError(
                f"{device} cannot be opened ({error.strerror}): {why} are needed"
            ) from error


def all_writers(shop: Workshop) -> tuple[list[Writer], str | None]:
    """And, if SQLite's could not be recorded, why."""
    writers = list(small_writers())
    try:
        for name in sqlite_writers.SETTINGS:
            writers.append(sqlite_writers.record(name, shop.folder))
            stop_if_asked()
    except HarnessError as error:
        return writers, str(error)
    return writers, None


def validate(
    shop: Workshop, system: FileSystem, writers: Sequence[Writer], seconds: float
) -> Comparison:
    """Try plan after plan, each with every writer, until the time is over or none is left.

    The first plans are carried out with each writer whatever the time says.
    """
    began = time.monotonic()
    comparison = Comparison(system)
    bases: dict[str, bytes] = {}
    for writer in writers:
        comparison.judges[writer.name] = Judge(writer)
        stop_if_asked()
        bases[writer.name] = prepared_device(system, writer.start, shop.mount_point)
    for number, (writer, plan) in enumerate(_in_turn(writers)):
        if number >= ALWAYS * len(writers) and time.monotonic() - began > seconds:
            break
        try:
            _try_one(shop, comparison, bases[writer.name], writer, plan)
        except OSError as error:
            raise HarnessError(
                f"{system.name}, {writer.name}, {plan.kind} at {plan.step or 'each step'}: {error}"
            ) from error
    comparison.seconds = time.monotonic() - began
    return comparison


def _in_turn(writers: Iterable[Writer]) -> Iterator[tuple[Writer, Plan]]:
    """The first plan with each writer, then the second …"""
    left = [(writer, plans(len(writer.operations), writer.aimed)) for writer in writers]
    while left:
        for writer, following in list(left):
            plan = next(following, None)
            if plan is None:
                left.remove((writer, following))
            else:
                yield writer, plan


def _try_one(
    shop: Workshop, comparison: Comparison, base: bytes, writer: Writer, plan: Plan
) -> None:
    system, judge = comparison.system, comparison.judges[writer.name]
    seed = random.Random(SEED)
    run = carry_out(system, base, writer, plan, shop.disk)
    pairs = at_most(list(device_states(run.entries, run.begin, seed)), _STATES_PER_RUN, seed)
    positions: dict[DeviceState, list[int]] = {}
    for position, state in pairs:
        positions.setdefault(state, []).append(position)
    comparison.runs += 1
    began = time.monotonic()
    with StateReader(system, base, run.entries, shop.mount_point) as reader:
        for state in sorted(positions, key=lambda state: state.prefix):
            moments = [
                moment
                for position in positions[state]
                for moment in moments_of(run, position, state)
            ]
            stop_if_asked()
            comparison.states += 1
            comparison.pairs += len(moments)
            try:
                judge.see(reader.read(state), moments)
            except Unmountable as refused:
                comparison.unmountable.append(f"{writer.name}, {plan.kind}, {state}: {refused}")
    comparison.reading_s += time.monotonic() - began
