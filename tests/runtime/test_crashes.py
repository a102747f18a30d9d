"""A crash at every call and at every byte: the pipeline goes on, and nothing done runs again.

The crash is an exception that nothing catches, raised in the call itself; what lies on disk then is
what a kill at that moment leaves. The kit judges the same pipeline with real processes, in
``examples/pipeline``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint_runtime import Context, Pipeline
from tests.runtime.disk import Disk, on
from tests.runtime.support import files_in
from tests.runtime.values.exactness import is_same
from tests.runtime.values.strategies import VALUES

pytestmark = pytest.mark.usefixtures("no_syncs")

RESULT = {
    "research": {"frames": 42, "picture": b"x" * 70_000},
    "render": ["f0", "f1"],
    "copy": b"x" * 70_000,
    "assemble": 42,
}


def film() -> Pipeline:
    """Small values, a side file, items, scratch, fan-in: all that leaves something on disk."""
    pipeline = Pipeline("film")

    @pipeline.stage
    def research(context: Context) -> dict[str, object]:
        return {"frames": 42, "picture": b"x" * 70_000}

    def one(context: Context, number: int) -> str:
        (context.scratch / "work").touch()
        return f"f{number}"

    pipeline.map(one, [0, 1], name="render")

    @pipeline.stage(after=["research"])
    def copy(context: Context) -> object:
        return context["research"]["picture"]  # the side file is there already

    @pipeline.stage(after=["research", "render"])
    def assemble(context: Context) -> int:
        assert context["render"] == ["f0", "f1"]
        return int(context["research"]["frames"])

    return pipeline


def assert_sound(workspace: Path, events: Path) -> None:
    """Resume, and hold the result, the events and the files against the promise."""
    before = events.read_text().splitlines() if events.exists() else []
    assert dict(film().resume(workspace)) == RESULT
    after = events.read_text().splitlines()[len(before) :]
    acknowledged = {line.removeprefix("done ") for line in before if line.startswith("done ")}
    started = {line.removeprefix("start ") for line in after if line.startswith("start ")}
    assert not acknowledged & started
    names = sorted(name for name in files_in(workspace) if not name.startswith("values/"))
    assert names == ["handoff.json", "handoff.md", "lock", "state.log", "values"]
    assert len(os.listdir(workspace / "values")) == 1


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(path))
    return path


def fresh(tmp_path: Path, events: Path, name: str) -> Path:
    events.unlink(missing_ok=True)
    return tmp_path / name


@pytest.mark.usefixtures("digests_in_a_thread")
def test_a_kill_before_any_call_is_survived(tmp_path: Path, events: Path) -> None:
    with on(Disk()) as undisturbed:
        film().run(fresh(tmp_path, events, "undisturbed"))
    assert undisturbed.calls.keys() >= {
        "open", "write", "fsync", "fdatasync", "mkdir", "unlink", "rmdir", "swap", "replace",
    }  # fmt: skip
    for call in range(1, undisturbed.count + 1):
        workspace = fresh(tmp_path, events, f"call-{call}")
        with on(Disk(crash_before=call)) as disk:
            film().run(workspace)
        assert disk.count == call - 1
        assert_sound(workspace, events)


@pytest.mark.usefixtures("digests_in_a_thread")
def test_a_kill_while_an_earlier_one_is_made_up_for_is_survived(
    tmp_path: Path, events: Path
) -> None:
    """The first leaves a torn line, half a side file, a full scratch and a spare file."""

    def left_by_a_crash(name: str) -> Path:
        workspace = fresh(tmp_path, events, name)
        film().run(workspace)
        events.unlink()
        log = (workspace / "state.log").read_bytes().splitlines(keepends=True)
        (workspace / "state.log").write_bytes(b"".join(log[:4]) + log[4][:-5])
        (workspace / ".scratch" / "1-render").mkdir(parents=True)
        (workspace / ".scratch" / "1-render" / "work").touch()
        (workspace / ".handoff.md.spare").write_bytes(b"half")
        (workspace / "values" / "line-9-1-1.bin").write_bytes(b"half")
        return workspace

    with on(Disk()) as undisturbed:
        film().resume(left_by_a_crash("undisturbed"))
    assert undisturbed.calls["ftruncate"] == 1 + 2  # of the torn line; of the lock
    for call in range(1, undisturbed.count + 1):
        workspace = left_by_a_crash(f"call-{call}")
        with on(Disk(crash_before=call)):
            film().resume(workspace)
        assert_sound(workspace, events)


def test_a_write_torn_at_any_byte_is_survived(
    tmp_path: Path, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all files that are written one after the other; within the large one, now and then."""
    monkeypatch.delenv("CHECKPOINT_EVENTS")  # its lines are never torn
    with on(Disk()) as undisturbed:
        film().run(tmp_path / "undisturbed")
    size_bytes = undisturbed.written_bytes
    assert size_bytes > 70_000
    large = range(6_000, 66_000)  # all of it lies within the side file, wherever that begins
    tried = [kept for kept in range(size_bytes) if kept not in large or kept % 7_919 == 0]
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(events))
    for kept in tried[:: max(1, len(tried) // 300)]:
        workspace = fresh(tmp_path, events, f"byte-{kept}")
        with monkeypatch.context() as patch, on(Disk(bytes_left=kept)):
            patch.delenv("CHECKPOINT_EVENTS")
            film().run(workspace)
        assert_sound(workspace, events)


def test_a_log_torn_at_any_byte_is_survived(tmp_path: Path, events: Path) -> None:
    """Cut short, and cut short with its length on disk before its bytes."""
    small = Pipeline("film")
    small.stage(name="research")(lambda context: {"frames": 42})
    small.stage(name="assemble")(lambda context: context["research"]["frames"])
    small.run(tmp_path / "whole")
    data = (tmp_path / "whole" / "state.log").read_bytes()
    path = tmp_path / "torn" / "state.log"
    path.parent.mkdir()
    for size in range(len(data) + 1):
        end = data.find(b"\n", max(size - 1, 0)) + 1
        padded = [data[:size].ljust(length, b"\0") for length in (end, 4096)]
        for torn in {data[:size], *(padded if size % 5 == 0 or size < 60 else [])}:
            for name in ("handoff.json", "handoff.md"):  # written after the first line only
                path.with_name(name).unlink(missing_ok=True)
            path.write_bytes(torn)
            assert dict(small.resume(path.parent)) == {"research": {"frames": 42}, "assemble": 42}


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(value=VALUES, call=st.integers(1, 60))
def test_any_value_comes_back_the_same_whenever_the_process_is_killed(
    tmp_path_factory: pytest.TempPathFactory, value: object, call: int
) -> None:
    workspace = tmp_path_factory.mktemp("w")
    ran: list[str] = []

    def pipeline() -> Pipeline:
        found = Pipeline("film")

        @found.stage
        def make(context: Context) -> object:
            ran.append("make")
            return value

        @found.stage
        def look(context: Context) -> bool:
            return is_same(context["make"], value)

        return found

    with on(Disk(crash_before=call)):
        pipeline().run(workspace)
    before = list(ran)
    done = "make" in pipeline().results(workspace)
    results = pipeline().resume(workspace)
    assert results["look"] is True
    assert is_same(results["make"], value)
    assert is_same(pipeline().results(workspace)["make"], value)
    assert ran == before + ([] if done else ["make"])
