"""A crash at every call and at every byte: the pipeline goes on, and nothing done runs again.

The crash is an exception that nothing catches, raised in the call itself; what lies on disk then is
what a kill at that moment leaves. The kit judges the same pipeline with real processes, in
``examples/pipeline``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Context, Pipeline

CALLS = ("open", "write", "fsync", "ftruncate")
RESULT = {"research": {"frames": 2}, "render": ["frame 0", "frame 1"], "assemble": 2}


class Crash(BaseException):
    """The process is gone."""


class Disk:
    """Counts the calls that reach the kernel, and crashes in one of them."""

    def __init__(self) -> None:
        self.calls = 0
        self.crash_before: int | None = None
        self.bytes_left: int | None = None
        """None: as many as you like."""

    def enter(self) -> None:
        self.calls += 1
        if self.calls == self.crash_before:
            raise Crash

    def part(self, data: bytes) -> bytes:
        """As much of the data as is written before the crash."""
        return data if self.bytes_left is None else data[: self.bytes_left]

    def written(self, size: int, asked: int) -> None:
        if self.bytes_left is not None:
            self.bytes_left -= size
            if size < asked:
                raise Crash


@contextmanager
def crashing(disk: Disk) -> Iterator[None]:
    """Let the runtime's calls go through ``disk``."""

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any) -> Any:
            disk.enter()
            return call(*args)

        return wrapper

    write = os.write

    def torn_write(descriptor: int, data: bytes) -> int:
        disk.enter()
        size = write(descriptor, disk.part(data))
        disk.written(size, len(data))
        return size

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(os, "write", torn_write)
        try:
            yield
        except Crash:
            return


def film() -> Pipeline:
    pipeline = Pipeline("film")

    @pipeline.stage
    def research(context: Context) -> dict[str, int]:
        return {"frames": 2}

    @pipeline.stage
    def render(context: Context) -> list[str]:
        return [f"frame {number}" for number in range(context["research"]["frames"])]

    @pipeline.stage
    def assemble(context: Context) -> int:
        return len(context["render"])

    return pipeline


def assert_sound(workspace: Path, events: Path) -> None:
    """Resume, and hold the result and the events against the promise."""
    before = events.read_text().splitlines() if events.exists() else []
    assert dict(film().resume(workspace)) == RESULT
    after = events.read_text().splitlines()[len(before) :]
    acknowledged = {line.removeprefix("done ") for line in before if line.startswith("done ")}
    started = {line.removeprefix("start ") for line in after if line.startswith("start ")}
    assert not acknowledged & started


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(path))
    return path


def fresh(tmp_path: Path, events: Path, name: str) -> Path:
    events.unlink(missing_ok=True)
    workspace = tmp_path / name
    workspace.mkdir()
    return workspace


def test_a_kill_before_any_call_is_survived(tmp_path: Path, events: Path) -> None:
    undisturbed = Disk()
    with crashing(undisturbed):
        film().run(fresh(tmp_path, events, "undisturbed"))
    assert undisturbed.calls > 20
    for call in range(1, undisturbed.calls + 1):
        workspace = fresh(tmp_path, events, f"call-{call}")
        disk = Disk()
        disk.crash_before = call
        with crashing(disk):
            film().run(workspace)
        assert_sound(workspace, events)


def test_a_second_kill_while_the_first_is_repaired_is_survived(
    tmp_path: Path, events: Path
) -> None:
    whole = fresh(tmp_path, events, "whole")
    film().run(whole)
    torn = (whole / "state.log").read_bytes()[:-5]
    for call in range(1, 20):
        workspace = fresh(tmp_path, events, f"call-{call}")
        (workspace / "state.log").write_bytes(torn)
        disk = Disk()
        disk.crash_before = call
        with crashing(disk):
            film().resume(workspace)
        assert_sound(workspace, events)


def test_a_write_torn_at_any_byte_is_survived(
    tmp_path: Path, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fresh(tmp_path, events, "whole")
    film().run(whole)
    size = (whole / "state.log").stat().st_size
    for kept in range(size):
        workspace = fresh(tmp_path, events, f"byte-{kept}")
        disk = Disk()
        disk.bytes_left = kept
        with monkeypatch.context() as patch, crashing(disk):
            patch.delenv("CHECKPOINT_EVENTS")  # its lines are never torn
            film().run(workspace)
        assert (workspace / "state.log").stat().st_size == kept
        assert_sound(workspace, events)
        assert (workspace / "state.log").read_bytes() == (whole / "state.log").read_bytes()
