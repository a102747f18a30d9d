"""A slot to run small programs in, and what their recordings say against what is on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_checkpoint.record import journal
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences
from pytest_checkpoint.tree.image import Image, NodeId
from pytest_checkpoint.tree.restore import restore

_PREAMBLE = """
import ctypes, errno, os, subprocess, sys
W, T, OUT = os.environ["CHECKPOINT_WORKSPACE"], os.environ["TMPDIR"], os.environ["OUTSIDE"]
EVENTS = os.environ["CHECKPOINT_EVENTS"]
os.chdir(W)
libc = ctypes.CDLL(None, use_errno=True)
def raises(number, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except OSError as error:
        assert error.errno == number, error
    else:
        raise AssertionError("no error")
def put(path, data=b"some data"):
    with open(path, "wb") as file:
        file.write(data)
def get(path):
    with open(path, "rb") as file:
        return file.read()
"""


@dataclass(frozen=True)
class Outcome:
    """One recorded run, and the directory it left."""

    result: Result
    recording: journal.Recording
    found: Image
    events: bytes
    expected: State
    """What the recording says must be there."""
    differences: list[str]

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.recording.operations

    @property
    def calls(self) -> list[str]:
        return [operation.call for operation in self.operations]

    def only(self, call: str) -> Operation:
        (operation,) = (o for o in self.operations if o.call == call)
        return operation

    def errors(self) -> list[tuple[str, int]]:
        return [(o.call, o.error) for o in self.operations if o.error]


@dataclass
class Runner:
    """Runs programs in one slot, each from an empty workspace unless told otherwise."""

    client: SlotClient
    folder: Path
    outside: Path
    """A folder beside the slot, on the same file system."""
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._empty = self.look()

    def look(self) -> Image:
        return capture(self.client.path, exclude=BESIDE).image

    def clear(self) -> None:
        restore(self._empty, self.client.path, exclude=BESIDE)
        self.client.events.write_bytes(b"")
        self.client.objects.write_bytes(b"")

    def request(self, command: tuple[str, ...], **options: Any) -> Request:
        inherited = environment(self.client, keep_tmpdir=False)
        inherited["OUTSIDE"] = str(self.outside)
        inherited |= options.pop("environment", {})
        wanted: dict[str, Any] = {
            "working_directory": str(self.folder),
            "environment": inherited,
            "deadline_s": 60,
            "recording": str(self.folder / "recording"),
        }
        return Request(command=command, **(wanted | self.options | options))

    def run(self, *command: str, fresh: bool = True, **options: Any) -> Outcome:
        """Run and record ``command``; compare at its end, whatever became of it."""
        if fresh:
            self.clear()
        result = self.client.run(self.request(command, **options))
        recording = journal.load(self.folder / "recording")
        timeline = Timeline(
            recording.start,
            recording.start_events,
            recording.operations,
            start_objects=recording.start_objects,
        )
        expected = timeline.after(timeline.steps)
        found = self.look()
        events = self.client.events.read_bytes()
        # Whoever is killed may still store through a mapping until its last thread is dead.
        mapped: dict[NodeId, Literal[True]] = {}
        if result.killed_at:
            mapped = dict.fromkeys(result.mapped, True)
        unlike = differences(expected.image, found, ignore=mapped)
        if expected.events != events:
            unlike.append(f"events {expected.events!r} expected, {events!r} found")
        objects = self.client.objects.read_bytes()
        if fold(expected.objects).digest != fold(objects).digest:
            unlike.append(f"objects {expected.objects!r} expected, {objects!r} found")
        return Outcome(result, recording, found, events, expected, unlike)

    def python(self, source: str, *arguments: str, **options: Any) -> Outcome:
        """Run a program that begins with the names of the preamble."""
        return self.run(sys.executable, "-SE", "-c", _PREAMBLE + source, *arguments, **options)

    def ok(self, source: str, *arguments: str, **options: Any) -> Outcome:
        """As :meth:`python`, for a program that must succeed and be told truly."""
        return sound(self.python(source, *arguments, **options))

    def guarded(self, source: str, **options: Any) -> Result:
        """As :meth:`python`, but nothing is recorded."""
        self.clear()
        command = (sys.executable, "-SE", "-c", _PREAMBLE + source)
        return self.client.run(self.request(command, recording=None, **options))

    def shell(self, script: str, **options: Any) -> Outcome:
        return self.run("/bin/sh", "-ec", 'cd "$CHECKPOINT_WORKSPACE"\n' + script, **options)


def sound(outcome: Outcome) -> Outcome:
    result = outcome.result
    assert (result.exit_code, result.refusal, result.problem) == (0, None, None), (
        result.refusal or result.problem or result.error_output
    )
    assert outcome.differences == []
    return outcome


@pytest.fixture(scope="module")
def module_runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    folder = tmp_path_factory.mktemp("record")
    outside = folder / "outside"
    outside.mkdir()
    with SlotClient(folder / "base") as client:
        yield Runner(client, folder, outside)


@pytest.fixture
def runner(module_runner: Runner) -> Runner:
    """The slot of this module, emptied; and an empty folder outside."""
    module_runner.clear()
    for name in os.listdir(module_runner.outside):
        (module_runner.outside / name).unlink()
    return module_runner
