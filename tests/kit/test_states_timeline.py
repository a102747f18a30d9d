"""The timeline against a real file system that has the same done to it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.operations import (
    Allocate,
    Create,
    CreateUnnamed,
    Effect,
    Event,
    Link,
    MapShared,
    NodeKind,
    Operation,
    Origin,
    Rename,
    Sent,
    SetAttribute,
    SetMode,
    SetOwner,
    SetTime,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences, key
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, Node, Symlink

_LIBC = ctypes.CDLL(None, use_errno=True)
_KEEP_SIZE, _PUNCH_HOLE, _ZERO_RANGE = 1, 2, 16
_EXCHANGE = 2


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "refused")


class _RealRun:
    """Does things to a real directory and writes down what they were, as a recorder would."""

    def __init__(self, base: Path) -> None:
        self.top = base / "top"
        self.outside = base / "outside"
        self.outside.mkdir()
        (self.top / "w" / "old").mkdir(parents=True)
        (self.top / "w" / "old" / "f").write_bytes(b"from before")
        os.link(self.top / "w" / "old" / "f", self.top / "w" / "f")
        os.symlink("old", self.top / "w" / "s")
        captured = capture(self.top)
        self.start = captured.image
        self.nodes = {inode: node for (_, inode), node in captured.identities.items()}
        self.operations: list[Operation] = []
        self.seen = [self.start]
        self.open: list[tuple[int, int]] = []
        """Descriptor and node of files that may have no name any more."""

    def close(self) -> None:
        for descriptor, _ in self.open:
            os.close(descriptor)

    def do(self, call: str, act: Callable[[], Sequence[Effect]]) -> None:
        error = 0
        effects: Sequence[Effect] = ()
        try:
            effects = act()
        except OSError as refused:
            error = refused.errno or 1
        step = len(self.operations) + 1
        self.operations.append(
            Operation(step=step, call=call, path=b"w", effects=tuple(effects), error=error)
        )
        self.seen.append(capture(self.top).image)

    def node(self, path: Path) -> int:
        return self.nodes[os.lstat(path).st_ino]

    def new(self, inode: int) -> int:
        self.nodes[inode] = max(self.nodes.values()) + 1  # also over one that the kernel reuses
        return self.nodes[inode]

    def place(self, path: Path) -> tuple[int, bytes]:
        return self.nodes[os.stat(path.parent).st_ino], os.fsencode(path.name)

    def paths(self, *, directories: bool) -> list[Path]:
        found = [self.top / "w"] if directories else []
        for path, names, files in os.walk(self.top / "w"):
            found += [Path(path) / name for name in (names if directories else files)]
        return sorted(path for path in found if path.is_symlink() or path.is_dir() == directories)

    # What may be done.

    def create(self, path: Path, kind: NodeKind) -> list[Effect]:
        descriptor = -1
        if kind is NodeKind.FILE:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o640)
        elif kind is NodeKind.DIRECTORY:
            os.mkdir(path, 0o750)
        elif kind is NodeKind.SYMLINK:
            os.symlink("some/where", path)
        else:
            os.mkfifo(path, 0o600)
        status = os.lstat(path)
        node = self.new(status.st_ino)
        if kind is NodeKind.FILE:
            self.open.append((descriptor, node))
        mode = stat.S_IMODE(status.st_mode)
        target = b"some/where" if kind is NodeKind.SYMLINK else b""
        return [Create(*self.place(path), node, kind, mode, target)]

    def create_unnamed(self, directory: Path) -> list[Effect]:
        descriptor = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o604)
        status = os.fstat(descriptor)
        node = self.new(status.st_ino)
        self.open.append((descriptor, node))
        return [CreateUnnamed(node, stat.S_IMODE(status.st_mode))]

    def write(self, index: int, offset: int, data: bytes) -> list[Effect]:
        descriptor, node = self.open[index]
        os.pwrite(descriptor, data, offset)
        return [Write(node, offset, data)]

    def truncate(self, index: int, size: int) -> list[Effect]:
        descriptor, node = self.open[index]
        os.ftruncate(descriptor, size)
        return [Truncate(node, size)]

    def allocate(self, index: int, offset: int, length: int, flags: int) -> list[Effect]:
        descriptor, node = self.open[index]
        arguments = (ctypes.c_long(offset), ctypes.c_long(length))
        _checked(_LIBC.fallocate(descriptor, flags, *arguments))
        zero = bool(flags & (_PUNCH_HOLE | _ZERO_RANGE))
        return [Allocate(node, offset, length, zero, bool(flags & _KEEP_SIZE))]

    def link_open(self, index: int, path: Path) -> list[Effect]:
        descriptor, node = self.open[index]
        os.link(f"/proc/self/fd/{descriptor}", path, follow_symlinks=True)
        return [Link(*self.place(path), node)]

    def link(self, source: Path, path: Path) -> list[Effect]:
        os.link(source, path, follow_symlinks=False)
        return [Link(*self.place(path), self.node(path))]

    def remove(self, path: Path) -> list[Effect]:
        (os.rmdir if path.is_dir() and not path.is_symlink() else os.unlink)(path)
        return [Unlink(*self.place(path))]

    def rename(self, source: Path, target: Path, flags: int) -> list[Effect]:
        places = (*self.place(source), *self.place(target))
        here = -100  # AT_FDCWD
        names = (here, os.fsencode(source), here, os.fsencode(target))
        _checked(_LIBC.renameat2(*names, flags))
        return [Rename(*places, exchange=flags == _EXCHANGE)]

    def depart(self, source: Path) -> list[Effect]:
        place = self.place(source)
        os.rename(source, self.outside / f"{len(self.operations):03}")
        return [Unlink(*place)]

    def come_back(self, path: Path) -> list[Effect]:
        if os.path.lexists(path):  # replacing would be two effects: another matter
            raise FileExistsError(errno.EEXIST, "refused", path)
        away = min(self.outside.iterdir(), default=self.outside / "none")
        os.link(away, path) if away.is_file() else os.rename(away, path)
        return [Link(*self.place(path), self.node(path))]

    def set_mode(self, path: Path, mode: int) -> list[Effect]:
        os.chmod(path, mode)
        return [SetMode(self.nodes[os.stat(path).st_ino], mode)]


_NAMES = st.sampled_from(["a", "b", "c", "\udcff\n"])
_OFFSETS = st.sampled_from([0, 1, 5, 4095, 4096, 5000, 70_000])


class _Step:
    """One thing to do, drawn from what is possible now."""

    def __init__(self, run: _RealRun, data: st.DataObject) -> None:
        self.run = run
        self.draw = data.draw

    def take(self) -> None:
        kinds = [
            self.create,
            self.remove,
            self.rename,
            self.rename,
            self.link,
            self.mode,
            self.unnamed,
            self.move,
            self.event,
        ]
        if self.run.open:
            kinds += [self.write, self.write, self.truncate, self.allocate, self.link_open]
        act = self.draw(st.sampled_from(kinds))
        self.run.do(act.__name__, act)

    def existing(self, *, directories: bool) -> Path:
        paths = self.run.paths(directories=directories)
        return self.draw(st.sampled_from(paths or [self.run.top / "w" / "none"]))

    def anything(self) -> Path:
        return self.existing(directories=self.draw(st.booleans()))

    def fresh(self) -> Path:
        return self.existing(directories=True) / self.draw(_NAMES)

    def opened(self) -> int:
        return self.draw(st.integers(0, len(self.run.open) - 1))

    def create(self) -> list[Effect]:
        return self.run.create(self.fresh(), self.draw(st.sampled_from([*NodeKind][:4])))

    def remove(self) -> list[Effect]:
        return self.run.remove(self.anything())

    def rename(self) -> list[Effect]:
        flags = self.draw(st.sampled_from([0, 0, _EXCHANGE]))
        return self.run.rename(self.anything(), self.fresh(), flags)

    def link(self) -> list[Effect]:
        return self.run.link(self.existing(directories=False), self.fresh())

    def mode(self) -> list[Effect]:
        return self.run.set_mode(
            self.anything(), self.draw(st.sampled_from([0o700, 0o4755, 0o777]))
        )

    def unnamed(self) -> list[Effect]:
        return self.run.create_unnamed(self.existing(directories=True))

    def move(self) -> list[Effect]:
        if self.draw(st.booleans()):
            return self.run.come_back(self.fresh())
        path = self.anything()
        return self.run.depart(path) if path != self.run.top / "w" else []

    def event(self) -> list[Effect]:
        return [Event(b"done %d\n" % len(self.run.operations))]

    def write(self) -> list[Effect]:
        data = bytes([len(self.run.operations) + 1]) * self.draw(st.integers(1, 9000))
        return self.run.write(self.opened(), self.draw(_OFFSETS), data)

    def truncate(self) -> list[Effect]:
        return self.run.truncate(self.opened(), self.draw(_OFFSETS))

    def allocate(self) -> list[Effect]:
        flags = [0, _KEEP_SIZE, _PUNCH_HOLE | _KEEP_SIZE, _ZERO_RANGE, _ZERO_RANGE | _KEEP_SIZE]
        length = self.draw(st.integers(1, 9000))
        drawn = self.draw(st.sampled_from(flags))
        return self.run.allocate(self.opened(), self.draw(_OFFSETS), length, drawn)

    def link_open(self) -> list[Effect]:
        return self.run.link_open(self.opened(), self.fresh())


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory on tmpfs, if there is one."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK | os.X_OK):
        yield tmp_path_factory.mktemp("timeline")
        return
    directory = Path(tempfile.mkdtemp(prefix="checkpoint-test-", dir=shared))
    yield directory
    shutil.rmtree(directory)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(st.data())
def test_every_state_is_what_the_kernel_left(memory: Path, data: st.DataObject) -> None:
    base = Path(tempfile.mkdtemp(dir=memory))
    run = _RealRun(base)
    try:
        for _ in range(data.draw(st.integers(1, 25))):
            _Step(run, data).take()
    finally:
        run.close()
        shutil.rmtree(base)

    timeline = Timeline(run.start, b"start\n", run.operations)

    events = b"start\n"
    for step, seen in enumerate(run.seen):
        if step:
            for effect in run.operations[step - 1].effects:
                events += effect.data if isinstance(effect, Event) else b""
        state = timeline.after(step)
        assert differences(seen, state.image) == [], run.operations[:step]
        assert state.events == events
        assert state.key == State(seen, events).key == timeline.key(step)
    for operation in run.operations:
        if operation.write is not None:
            _check_torn(timeline, run, operation)


def _check_torn(timeline: Timeline, run: _RealRun, operation: Operation) -> None:
    write = operation.write
    assert write is not None
    cuts = sorted({1, len(write.data) // 2, len(write.data) - 1} & set(range(1, len(write.data))))
    keys = list(timeline.torn_keys(operation.step, cuts))
    for cut, torn_key in zip(cuts, keys, strict=True):
        short = Operation(
            step=operation.step,
            call="write",
            path=b"w",
            effects=(Write(write.node, write.offset, write.data[:cut]),),
        )
        before = run.operations[: operation.step - 1]
        expected = Timeline(run.start, b"start\n", [*before, short]).after(operation.step)
        torn = timeline.torn(operation.step, cut)
        assert differences(expected.image, torn.image) == []
        assert torn.events == expected.events
        assert torn.key == expected.key == torn_key


# Single cases, without a kernel.

_EMPTY = Image(
    {
        ROOT: Directory(mode=0o700, entries={b"w": 1}),
        1: Directory(mode=0o700, entries={b"f": 2, b"d": 3}),
        2: File(mode=0o600, content=Content.of(b"old"), mtime_ns=5),
        3: Directory(mode=0o700, entries={}),
    }
)


def _operations(*effects: Effect | tuple[Effect, ...]) -> list[Operation]:
    return [
        Operation(
            step=step, call="c", path=b"w/p", effects=some if isinstance(some, tuple) else (some,)
        )
        for step, some in enumerate(effects, start=1)
    ]


def _timeline(*effects: Effect | tuple[Effect, ...]) -> Timeline:
    return Timeline(_EMPTY, b"", _operations(*effects))


def _node(state: State, number: int) -> Node:
    return state.image.nodes[number]


def test_status_of_nodes() -> None:
    timeline = _timeline(
        SetTime(2, 77),
        SetOwner(2, 5, 6),
        SetAttribute(2, b"user.a", b"1"),
        SetAttribute(2, b"user.b", b"2"),
        SetAttribute(2, b"user.a", None),
        SetAttribute(2, b"security.never-captured", None),
        SetMode(2, 0o100644),
        MapShared(2),
        Sync(2, data_only=True),
        Sync(None, data_only=False),
        (),
    )
    assert _node(timeline.after(timeline.steps), 2) == File(
        mode=0o644,
        owner=(5, 6),
        mtime_ns=77,
        attributes={b"user.b": b"2"},
        content=Content.of(b"old"),
    )
    assert _node(timeline.after(0), 2) == _EMPTY.nodes[2]
    unchanged = {timeline.key(step) for step in range(7)}
    assert len(unchanged) == 1
    assert timeline.key(7) not in unchanged


def test_new_nodes_belong_to_whoever_owns_the_recorded_directory() -> None:
    start = Image({ROOT: Directory(mode=0o700, owner=(7, 8), entries={})})
    operations = _operations(
        Create(ROOT, b"f", 1, NodeKind.FILE, 0o600),
        Create(ROOT, b"l", 2, NodeKind.SYMLINK, 0o777, target=b"f"),
    )
    state = Timeline(start, b"", operations).after(2)
    assert _node(state, 1).owner == (7, 8)
    link = _node(state, 2)
    assert isinstance(link, Symlink)
    assert (link.owner, link.target) == ((7, 8), b"f")


def test_torn_has_what_came_before_the_write_and_not_what_comes_after() -> None:
    timeline = _timeline(
        Event(b"one\n"),
        (
            Create(1, b"new", 9, NodeKind.FILE, 0o600),
            Write(9, 0, b"mapped", Origin.MAPPED),
            Write(2, 1, b"XYZ"),
            SetMode(2, 0o644),
            Event(b"two\n"),
        ),
    )
    torn = timeline.torn(2, 2)
    file, new = _node(torn, 2), _node(torn, 9)
    assert isinstance(file, File)
    assert isinstance(new, File)
    assert (file.content.read(), file.mode) == (b"oXY", 0o600)
    assert new.content.read() == b"mapped"
    assert torn.events == b"one\n"
    assert list(timeline.torn_keys(2, [1, 2, 3])) == [
        timeline.torn(2, cut).key for cut in (1, 2, 3)
    ]


def test_what_has_left_the_job_is_part_of_a_state() -> None:
    one, two = Sent(b'{"kind": "mail"}\n'), Sent(b'{"kind": "call"}\n')
    timeline = _timeline(Event(b"one\n"), one, Write(2, 0, b"data"), two)
    assert [timeline.after(step).effects for step in range(5)] == [
        b"",
        b"",
        one.data,
        one.data,
        one.data + two.data,
    ]
    assert timeline.torn(3, 1).effects == one.data
    assert timeline.after(2).events == timeline.after(1).events == b"one\n"
    keys = [timeline.key(step) for step in range(5)]
    assert len(set(keys)) == 5
    assert [timeline.after(step).key for step in range(5)] == keys
    assert [timeline.key(step, repeats=False) for step in range(5)] == keys  # no line came twice
    again = Timeline(timeline.after(2).image, b"one\n", [], one.data)
    assert again.after(0).key == timeline.key(2)


def test_a_torn_write_to_a_file_without_a_name_is_not_to_be_seen() -> None:
    timeline = _timeline(Unlink(1, b"f"), Write(2, 0, b"data"))
    assert timeline.torn(2, 2).key == timeline.key(1)
    assert list(timeline.torn_keys(2, [1, 2])) == [timeline.key(1)] * 2


def test_a_directory_that_left_takes_its_content_along_and_back() -> None:
    timeline = _timeline(
        Rename(1, b"f", 3, b"f"),
        Unlink(1, b"d"),
        Write(2, 0, b"new"),
        Create(3, b"g", 4, NodeKind.FILE, 0o600),
        Link(1, b"e", 3),
    )
    assert set(timeline.after(4).image.nodes) == {0, 1}
    assert timeline.key(2) == timeline.key(3) == timeline.key(4)
    assert set(timeline.after(5).image.nodes) == {0, 1, 2, 3, 4}
    for step in range(6):
        assert timeline.after(step).key == timeline.key(step)


def test_many_changes_of_one_directory() -> None:
    """More than one snapshot of its names, and a base on which each of them stands."""
    effects: list[Effect] = []
    names: set[bytes] = {b"f", b"d"}
    expected = [set(names)]
    for number in range(10, 400):
        name = b"n%d" % (number % 37)
        if name in names:
            effects.append(Unlink(1, name))
            names.remove(name)
        else:
            effects.append(Create(1, name, number, NodeKind.FILE, 0o600))
            names.add(name)
        expected.append(set(names))
    timeline = _timeline(*effects)
    for step, entries in enumerate(expected):
        directory = _node(timeline.after(step), 1)
        assert isinstance(directory, Directory)
        assert set(directory.entries) == entries
        assert timeline.after(step).key == timeline.key(step)


def test_the_start_is_not_changed() -> None:
    before = key(_EMPTY)
    _timeline(Unlink(1, b"f"), SetMode(ROOT, 0), Create(3, b"x", 9, NodeKind.FILE, 0o600))
    assert key(_EMPTY) == before


@pytest.mark.parametrize(
    ("effect", "sentence"),
    [
        (Create(1, b"f", 9, NodeKind.FILE, 0), "'f' is there already"),
        (Create(1, b"x", 2, NodeKind.FILE, 0), "the node 2 is created a second time"),
        (Create(8, b"x", 9, NodeKind.FILE, 0), "the node 8 was never created"),
        (Create(2, b"x", 9, NodeKind.FILE, 0), "the node 2 is not a directory"),
        (CreateUnnamed(1, 0), "the node 1 is created a second time"),
        (Write(9, 0, b"x"), "the node 9 was never created"),
        (Write(3, 0, b"x"), "the node 3 is a Directory, not a file"),
        (Truncate(9, 0), "the node 9 was never created"),
        (Allocate(1, 0, 1, zero=False, keep_size=True), "the node 1 is a Directory, not a file"),
        (Link(1, b"f", 2), "'f' is there already"),
        (Link(1, b"x", 9), "the node 9 was never created"),
        (Link(1, b"x", 3), "a directory gets a second name"),
        (Unlink(1, b"x"), "'x' is not there"),
        (Rename(1, b"x", 1, b"y"), "'x' is not there"),
        (Rename(1, b"f", 9, b"y"), "the node 9 was never created"),
        (Rename(1, b"f", 1, b"y", exchange=True), "an exchange with 'y', which is not there"),
        (Rename(1, b"f", 1, b"d"), "'d' is replaced by a node of another type"),
        (Rename(1, b"d", 1, b"f"), "'f' is replaced by a node of another type"),
        (Rename(1, b"d", 3, b"x"), "a directory is moved into itself"),
        (Rename(1, b"d", ROOT, b"w"), "the directory 'w' is replaced, but not empty"),
        (Rename(1, b"d", ROOT, b"w", exchange=True), "a directory is moved into itself"),
        (SetMode(9, 0), "the node 9 was never created"),
        (SetTime(9, 0), "the node 9 was never created"),
        (SetOwner(9, 0, 0), "the node 9 was never created"),
        (SetAttribute(9, b"user.a", None), "the node 9 was never created"),
        (Sync(9, data_only=False), "the node 9 was never created"),
        (MapShared(3), "the node 3 is a Directory, not a file"),
    ],
)
def test_a_recording_that_contradicts_itself_is_a_sentence(effect: Effect, sentence: str) -> None:
    with pytest.raises(HarnessError) as caught:
        _timeline(Event(b"e"), effect)
    assert str(caught.value) == f"the recording contradicts itself at step 2 (c w/p): {sentence}"


def test_a_recording_out_of_order_is_a_sentence() -> None:
    second = Operation(step=2, call="c", path=b"w", effects=())
    with pytest.raises(HarnessError, match="out of order: step 2 stands at place 1"):
        Timeline(_EMPTY, b"", [second])


def test_a_failed_call_with_effects_is_a_sentence() -> None:
    failed = Operation(step=1, call="write", path=b"w", effects=(Write(2, 0, b"x"),), error=5)
    with pytest.raises(HarnessError, match="write failed, but is said to have changed something"):
        Timeline(_EMPTY, b"", [failed])


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (Image({}), "no directory as its root"),
        (Image({ROOT: File(mode=0, content=Content.empty())}), "no directory as its root"),
        (Image({ROOT: Directory(mode=0, entries={b"x": 5})}), "names a node 5 as 'x'"),
    ],
)
def test_a_start_that_contradicts_itself_is_a_sentence(start: Image, sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        Timeline(start, b"", [])


def test_what_is_not_there_cannot_be_asked_for() -> None:
    timeline = _timeline(Write(2, 0, b"data"), Truncate(2, 0))
    with pytest.raises(HarnessError, match="there is no step 3: the recording has 2"):
        timeline.after(3)
    with pytest.raises(HarnessError, match="there is no step 0"):
        timeline.torn(0, 1)
    with pytest.raises(HarnessError, match="wrote 4 bytes: it cannot be cut at 5"):
        timeline.torn(1, 5)
    with pytest.raises(HarnessError, match="wrote nothing that can be torn"):
        timeline.torn(2, 0)
