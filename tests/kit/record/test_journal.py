"""Recordings on disk: what goes in comes out, and what is damaged is told."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import codec, operations
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.journal import Journal, load
from pytest_checkpoint.record.operations import NodeKind, Operation, Origin, Write
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Special, Symlink
from tests.kit.record.recorders import recorder_of

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

_node = st.integers(0, 1 << 40)
_name = st.binary(max_size=20)
_size = st.integers(0, 1 << 62)
_mode = st.integers(0, 0o7777)
_effects: st.SearchStrategy[operations.Effect] = st.one_of(
    st.builds(
        operations.Create,
        _node,
        _name,
        _node,
        st.sampled_from(NodeKind),
        _mode,
        _name,
        st.integers(0, 1 << 31),
    ),
    st.builds(operations.CreateUnnamed, _node, _mode),
    st.builds(
        operations.Write,
        _node,
        _size,
        st.binary(max_size=50),
        st.sampled_from(Origin),
        st.booleans(),
    ),
    st.builds(operations.Truncate, _node, _size),
    st.builds(operations.Allocate, _node, _size, _size, st.booleans(), st.booleans()),
    st.builds(operations.Link, _node, _name, _node),
    st.builds(operations.Unlink, _node, _name),
    st.builds(operations.Rename, _node, _name, _node, _name, st.booleans()),
    st.builds(operations.SetMode, _node, _mode),
    st.builds(operations.SetOwner, _node, _size, _size),
    st.builds(operations.SetTime, _node, st.integers(-(1 << 62), 1 << 62)),
    st.builds(operations.SetAttribute, _node, _name, st.none() | _name),
    st.builds(operations.Sync, st.none() | _node, st.booleans()),
    st.builds(operations.MapShared, _node),
    st.builds(operations.Event, _name),
    st.builds(operations.Sent, _name),
)
_operations = st.builds(
    Operation,
    step=st.integers(1, 1 << 40),
    call=st.text("abc", max_size=5),
    path=_name,
    effects=st.lists(_effects, max_size=4).map(tuple),
    target_path=_name,
    process=st.integers(0, 1 << 22),
    thread=st.integers(0, 1 << 22),
    time_ns=_size,
    error=st.integers(0, 133),
    node=st.none() | _node,
)


def _line(operation: Operation, data: codec.DataWriter) -> str:
    one = operation
    called = one.step, one.call, one.path, one.effects, one.target_path
    told = one.process, one.thread, one.time_ns, one.error, one.node
    return codec.encode_step((*called, *told), data)


def _reader(data: bytes) -> codec.Reader:
    return lambda offset, length: memoryview(data)[offset : offset + length]


@given(st.lists(_operations, max_size=5))
@settings(max_examples=60, deadline=None)
def test_operations_come_back_as_they_were(given_operations: list[Operation]) -> None:
    file = io.BytesIO()
    data = codec.DataWriter(file)
    lines = [_line(operation, data) for operation in given_operations]
    assert all(line.index("\n") == len(line) - 1 and line.isascii() for line in lines)
    read = _reader(file.getvalue())
    assert [codec.decode_operation(line, read) for line in lines] == given_operations


@given(_effects)
@settings(max_examples=150, deadline=None)
def test_lines_put_together_by_hand_are_as_json_makes_them(effect: operations.Effect) -> None:
    names = [field.name for field in dataclasses.fields(effect)]
    item: list[Any] = [type(effect).__name__, *(getattr(effect, name) for name in names)]
    item = [one.decode("latin-1") if isinstance(one, bytes) else one for one in item]
    if isinstance(effect, Write):
        item[3] = [0, len(effect.data)]
    wanted = json.dumps(item, separators=(",", ":"))
    operation = Operation(step=1, call="c", path=b"", effects=(effect,))
    line = _line(operation, codec.DataWriter(io.BytesIO()))
    assert line.startswith(f'{{"step":1,"call":"c","path":"","effects":[{wanted}],"process":0,')


def test_images_come_back_as_they_were() -> None:
    image = Image(
        {
            ROOT: Directory(mode=0o700, entries={b"a\xff\n": 1, b"hard": 1, b"s": 2, b"f": 3}),
            1: File(
                mode=0o644, mtime_ns=5, attributes={b"user.x": b"\0"}, content=Content.of(b"ab")
            ),
            2: Symlink(mode=0o777, owner=(3, 4), target=b"\xfe"),
            3: Special(mode=0o600, kind="device", device=7),
        }
    )
    file = io.BytesIO()
    encoded = json.loads(json.dumps(codec.encode_image(image, codec.DataWriter(file))))
    assert codec.decode_image(encoded, _reader(file.getvalue())) == image


def test_the_journal_of_a_killed_run_is_whole(runner: Runner) -> None:
    outcome = runner.python("put('a', b'x' * 10); put('b'); put('c')", kill_at=3)
    assert [o.step for o in outcome.operations] == [1, 2, 3]
    written = outcome.operations[1].write
    assert written == Write(written.node, 0, b"x" * 10) if written else False


def _written(step: int, data: bytes) -> tuple[codec.Fields, int]:
    """What the journal is given of a write."""
    write = Write(1, 0, data)
    return (step, "write", b"w/a", (write,), b"", 0, 0, 0, 0, None), len(data)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    start = Image({ROOT: Directory(mode=0o700, entries={})})
    with Journal(tmp_path, start, b"start a\n", "/slot") as journal:
        journal.append(*_written(1, b"xyz"))
    return tmp_path


def test_a_whole_recording_is_read(recording: Path) -> None:
    read = load(recording)
    assert (read.slot, read.start_events) == ("/slot", b"start a\n")
    assert read.operations[0].effects == (Write(1, 0, b"xyz"),)


def _edit(line: int, change: Any) -> Any:
    def damage(folder: Path) -> None:
        path = folder / "operations.jsonl"
        lines = [json.loads(text) for text in path.read_text().splitlines()]
        lines[line] = change(lines[line])
        path.write_text("".join(json.dumps(record) + "\n" for record in lines))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "data.bin").write_bytes(b"xy"),
        lambda folder: (folder / "data.bin").unlink(),
        lambda folder: (folder / "operations.jsonl").write_bytes(b""),
        lambda folder: (folder / "operations.jsonl").write_bytes(b"\xff\xfe"),
        lambda folder: (folder / "operations.jsonl").write_text("[]\n"),
        lambda folder: (folder / "operations.jsonl").unlink(),
        lambda folder: (folder / "operations.jsonl").open("a").write('{"step": 2, "ca'),
        _edit(0, lambda head: head | {"start": [[0, "directory"]]}),
        _edit(1, lambda operation: operation | {"effects": [["Wrong", 1]]}),
        _edit(1, lambda operation: operation | {"effects": [[]]}),
        _edit(1, lambda operation: operation | {"effects": [["Truncate", 1]]}),
        _edit(1, lambda operation: [1, 2]),
        _edit(1, lambda operation: operation | {"path": "\u20ac"}),
    ],
)
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_damaged_recording_is_told_in_a_sentence(recording: Path, damage: Any) -> None:
    damage(recording)
    with pytest.raises(HarnessError, match=r"cannot be read \(.*\); delete it and record again"):
        load(recording)


def test_a_recording_of_another_version(recording: Path) -> None:
    _edit(0, lambda head: head | {"format": 99})(recording)
    with pytest.raises(HarnessError, match="was written by another version; record again"):
        load(recording)


def test_a_recording_that_cannot_be_written(runner: Runner) -> None:
    with pytest.raises(HarnessError):
        runner.run("/bin/true", recording="/proc/nowhere/recording")


def test_the_bytes_of_large_writes_are_not_held_back(tmp_path: Path) -> None:
    """Operations are written down many at once; a gigabyte in a hundred calls is not kept."""
    start = Image({ROOT: Directory(mode=0o700, entries={})})
    with Journal(tmp_path, start, b"", "/slot") as journal:
        journal.append(*_written(1, b"x" * (1 << 20)))
        assert (tmp_path / "data.bin").stat().st_size == 1 << 20


def test_the_recorder_tells_how_much_it_has_written(tmp_path: Path) -> None:
    """Or large writes would be held back in memory."""
    (tmp_path / "tree").mkdir()
    recorder = recorder_of(tmp_path / "tree")
    start = Image({ROOT: Directory(mode=0o700, entries={})})
    with Journal(tmp_path / "recording", start, b"", "/slot") as recorder.journal:
        recorder.record(Caller(os.getpid()), "write", b"w/a", Write(1, 0, b"x" * (1 << 20)))
        assert (tmp_path / "recording" / "data.bin").stat().st_size == 1 << 20


@pytest.mark.parametrize("name", ["operations.jsonl", "data.bin"])
@pytest.mark.parametrize(("start_bytes", "size_bytes"), [(1, 1), (1, 1 << 20), (1 << 20, 1)])
def test_a_recording_that_finds_no_room_is_told(
    name: str, start_bytes: int, size_bytes: int, tmp_path: Path
) -> None:
    """At the latest when it ends; ``/dev/full`` refuses every byte."""
    (tmp_path / name).symlink_to("/dev/full")
    there = File(mode=0o600, content=Content.of(memoryview(b"x" * start_bytes)))
    names = {b"a" * 200 + b"%d" % number: 1 for number in range(start_bytes // 500 + 1)}
    start = Image({ROOT: Directory(mode=0o700, entries=names), 1: there})

    def record() -> None:
        with Journal(tmp_path, start, b"", "/slot") as journal:
            for step in range(1, 200):
                journal.append(*_written(step, b"x" * size_bytes))

    with pytest.raises(HarnessError, match=r"cannot be written to .*No space left.*make room"):
        record()


def test_a_recording_that_cannot_be_begun_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    start = Image({ROOT: Directory(mode=0o700, entries={})})
    with pytest.raises(HarnessError, match=r"cannot be written to .*Not a directory"):
        Journal(tmp_path / "file" / "recording", start, b"", "/slot")
