"""What stands in the file of a heartbeat, and what is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.liveness import Heartbeat
from checkpoint_runtime.liveness.beat import beat_in
from checkpoint_runtime.liveness.heartbeat_file import read_beat, workers_in


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    with Heartbeat(tmp_path, interval_s=60) as heartbeat:
        return heartbeat.path.read_bytes()


def test_a_beat_is_one_line_of_json(content: bytes) -> None:
    assert content.count(b"\n") == 1
    assert list(json.loads(content)) == [
        "format", "worker", "pid", "start_ticks", "boot_id", "pid_namespace", "host", "interval_s",
        "beat", "monotonic_s", "state", "progress", "done", "total", "stage",
    ]  # fmt: skip
    assert beat_in(content) is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", 2), ("format", True), ("worker", 7), ("pid", -1), ("pid", "1"), ("pid", None),
        ("start_ticks", 1.5), ("boot_id", None), ("pid_namespace", []), ("host", {}),
        ("interval_s", -1), ("interval_s", "x"), ("interval_s", float("inf")), ("beat", None),
        ("monotonic_s", None), ("state", "asleep"), ("state", []), ("progress", -1),
        ("done", "1"), ("total", 1.5), ("stage", 7),
    ],
)  # fmt: skip
def test_a_field_that_is_wrong_or_missing_makes_it_none(
    content: bytes, field: str, value: Any
) -> None:
    fields = json.loads(content)
    assert beat_in(json.dumps({**fields, field: value}).encode()) is None
    del fields[field]
    assert beat_in(json.dumps(fields).encode()) is None


@pytest.mark.parametrize(
    "garbage", [b"", b"{", b"null", b"[]", b"7", b"\xff" * 40, b"[" * 60_000, b" " * 70_000]
)
def test_garbage_is_no_beat_and_gets_a_sentence(tmp_path: Path, garbage: bytes) -> None:
    folder = tmp_path / "heartbeats"
    folder.mkdir()
    (folder / "main.json").write_bytes(garbage)
    assert read_beat(tmp_path, "main") == f"{folder}/main.json holds no heartbeat"


def test_a_beat_cut_short_anywhere_is_none(content: bytes) -> None:
    assert all(beat_in(content[:length]) is None for length in range(len(content) - 2))


def test_workers_are_found_by_their_files(tmp_path: Path) -> None:
    assert workers_in(tmp_path) == []
    folder = tmp_path / "heartbeats"
    folder.mkdir()
    for name in ("b.json", "a.json", ".a.json.spare", "notes.txt", ".x.json"):
        (folder / name).touch()
    assert workers_in(tmp_path) == ["a", "b"]
