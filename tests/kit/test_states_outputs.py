"""Which outputs stand partial, against hand-made runs and against a plain definition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import pytest

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.record.operations import (
    Create,
    CreateUnnamed,
    Effect,
    Link,
    NodeKind,
    Operation,
    Origin,
    Rename,
    SetMode,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.states.outputs import Outputs, find_outputs, unmatched_glob
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image, NodeId

W: Final = 1
OLD: Final = 3
START = Image(
    {
        ROOT: Directory(mode=0o755, entries={b"w": W, b"t": 2}),
        W: Directory(mode=0o700, entries={b"old": OLD}),
        2: Directory(mode=0o700, entries={}),
        OLD: File(mode=0o600, content=Content.of(b"before")),
    }
)


Call = tuple[str, Sequence[Effect]]


def call(name: str, *effects: Effect) -> Call:
    return name, effects


def run(*calls: Call) -> list[Operation]:
    return [
        Operation(step=step, call=call, path=b"w/x", effects=tuple(effects))
        for step, (call, effects) in enumerate(calls, start=1)
    ]


def create(name: bytes, node: NodeId, directory: NodeId = W) -> Call:
    return "openat", [Create(directory, name, node, NodeKind.FILE, 0o600)]


def mkdir(name: bytes, node: NodeId, directory: NodeId = W) -> Call:
    return "mkdir", [Create(directory, name, node, NodeKind.DIRECTORY, 0o700)]


def write(node: NodeId, data: bytes, offset: int = 0) -> Call:
    return "write", [Write(node, offset, data)]


def rename(
    source: bytes, target: bytes, one: NodeId = W, two: NodeId = W, *, exchange: bool = False
) -> Call:
    return "rename", [Rename(one, source, two, target, exchange=exchange)]


def found(operations: list[Operation], *globs: str, start: Image = START) -> Outputs:
    return find_outputs(Timeline(start, b"", operations), operations, globs or ("**",))


def places(outputs: Outputs) -> list[tuple[str, str, int]]:
    return [(one.path, one.point.id, one.size_bytes) for one in outputs.partial]


def test_written_in_place() -> None:
    outputs = found(run(create(b"a", 5), write(5, b"abcd"), write(5, b"efgh", 4)), "a")
    assert outputs.paths == ("a",)
    assert places(outputs) == [
        ("a", "1.kill", 0),
        ("a", "2.kill", 4),
        ("a", "2.torn-2", 2),
    ]
    first, second, torn = outputs.partial
    assert first.final_size_bytes == 8
    assert first.why == (
        "it was created under its final name at step 1 and is filled there; "
        "whole only from step 3 on"
    )
    assert second.point.fault is Fault.KILL
    assert torn.point.operation == "write x (4 bytes at 0)"
    assert "its write at step 2 is cut short" in torn.why


def test_an_empty_output_is_whole_when_it_is_created() -> None:
    assert found(run(create(b"a", 5)), "a") == (("a",), ())


@pytest.mark.parametrize(
    "calls",
    [
        [create(b"tmp", 5), write(5, b"abcd"), rename(b"tmp", b"a")],
        [create(b"tmp", 5), write(5, b"abcd"), call("link", Link(W, b"a", 5))],
        [
            call("openat", CreateUnnamed(5, 0o600)),
            write(5, b"abcd"),
            call("linkat", Link(W, b"a", 5)),
        ],
        [create(b"a", 5, 2), write(5, b"abcd"), rename(b"a", b"a", 2, W)],
    ],
)
def test_brought_there_by_a_rename_or_a_link(calls: list[Call]) -> None:
    assert found(run(*calls), "a") == (("a",), ())


def test_brought_there_from_outside_of_the_tree() -> None:
    arrival: list[Effect] = [
        Create(W, b"d", 5, NodeKind.DIRECTORY, 0o700),
        Create(5, b"a", 6, NodeKind.FILE, 0o600),
        Write(6, 0, b"abcd", Origin.ARRIVED),
    ]
    more = [("rename", arrival), write(6, b"efgh", 4)]
    outputs = found(run(*more), "d/a")
    assert places(outputs) == [("d/a", "2.torn-2", 6)]
    assert outputs.partial[0].why.startswith("it came under this name whole at step 1 and is")


def test_with_a_directory_above_it() -> None:
    calls = [mkdir(b"tmp", 5), create(b"a", 6, 5), write(6, b"abcd"), rename(b"tmp", b"d")]
    assert found(run(*calls), "d/a") == (("d/a",), ())


def test_made_in_a_directory_that_had_been_renamed_before() -> None:
    calls = [mkdir(b"tmp", 5), rename(b"tmp", b"d"), create(b"a", 6, 5), write(6, b"abcd")]
    outputs = found(run(*calls), "d/a")
    assert places(outputs) == [("d/a", "3.kill", 0), ("d/a", "4.torn-2", 2)]
    assert outputs.partial[0].why.startswith("it was created under its final name at step 3")


def test_versions_that_follow_each_other_by_renames_are_all_whole() -> None:
    calls = [
        call
        for node in (5, 6, 7)
        for call in (create(b"tmp", node), write(node, b"%d" % node * node), rename(b"tmp", b"a"))
    ]
    assert found(run(*calls), "a") == (("a",), ())


def test_patched_after_it_arrived() -> None:
    calls = [create(b"tmp", 5), write(5, b"abcd"), rename(b"tmp", b"a"), write(5, b"XY")]
    assert places(found(run(*calls), "a")) == [("a", "4.torn-1", 4)]
    calls += [write(5, b"Z")]
    assert places(found(run(*calls), "a")) == [("a", "4.kill", 4), ("a", "4.torn-1", 4)]


def test_what_was_there_before_the_run_is_whole_as_it_was() -> None:
    calls = [call("truncate", Truncate(OLD, 0)), write(OLD, b"before"), write(OLD, b"AFTER!")]
    outputs = found(run(*calls), "old")
    assert places(outputs) == [
        ("old", "1.kill", 0),
        ("old", "2.torn-3", 3),
        ("old", "3.torn-3", 6),
    ]
    assert outputs.partial[0].why.startswith("it stood there before the run and is written over")
    assert outputs.partial[0].why.endswith("; whole only from step 2 on")


def test_absent_is_whole() -> None:
    calls = [create(b"a", 5), write(5, b"abc"), call("unlink", Unlink(W, b"a"))]
    calls += [create(b"tmp", 6), write(6, b"abcd"), rename(b"tmp", b"a")]
    outputs = found(run(*calls), "a")
    assert places(outputs) == [
        ("a", "1.kill", 0),
        ("a", "2.kill", 3),
        ("a", "2.torn-1", 1),
    ]
    assert outputs.partial[0].why.endswith("; whole only from step 3 on")


def test_two_names_of_one_file_are_two_outputs() -> None:
    calls = [create(b"a", 5), call("link", Link(W, b"b", 5)), write(5, b"abcd")]
    assert places(found(run(*calls), "a", "b")) == [
        ("a", "1.kill", 0),
        ("a", "3.torn-2", 2),
        ("b", "3.torn-2", 2),
    ]


def test_an_exchange_brings_both() -> None:
    calls = [
        create(b"a", 5),
        create(b"b", 6),
        write(6, b"abcd"),
        rename(b"a", b"b", exchange=True),
    ]
    assert places(found(run(*calls), "a")) == [("a", "1.kill", 0)]
    assert found(run(*calls[:2], rename(b"a", b"b", exchange=True)), "a", "b").partial == ()


def test_stores_through_a_mapping_are_never_cut() -> None:
    store = call("store through mmap", Write(5, 0, b"ab", Origin.MAPPED))
    calls = [create(b"a", 5), call("ftruncate", Truncate(5, 2)), store]
    assert places(found(run(*calls), "a")) == [("a", "1.kill", 0), ("a", "2.kill", 2)]


def test_what_changes_no_byte_makes_nothing_partial() -> None:
    calls = [create(b"tmp", 5), write(5, b"abcd"), rename(b"tmp", b"a")]
    calls += [write(5, b"bc", 1), call("chmod", SetMode(5, 0o644)), call("fsync", Sync(5, False))]
    calls += [call("ftruncate", Truncate(5, 4))]
    assert found(run(*calls), "a").partial == ()


def test_bytes_that_stay_are_no_writing() -> None:
    arrived = [create(b"tmp", 5), write(5, b"abcd"), rename(b"tmp", b"a")]
    assert found(run(*arrived, write(5, b"abX")), "a").partial == ()  # its cuts change nothing
    assert found(run(*arrived, write(5, b"bc", 1), write(5, b"X")), "a").partial == ()


def test_what_is_written_to_a_replaced_version_does_not_matter() -> None:
    calls = [create(b"a", 5), write(5, b"abcd"), create(b"tmp", 6), write(6, b"efgh")]
    calls += [rename(b"tmp", b"a"), write(5, b"ZZ")]
    assert places(found(run(*calls), "a")) == [
        ("a", "1.kill", 0),
        ("a", "2.kill", 4),
        ("a", "2.torn-2", 2),
    ]


def test_patched_in_a_directory_that_arrived() -> None:
    calls = [mkdir(b"tmp", 5), create(b"a", 6, 5), write(6, b"abcd"), rename(b"tmp", b"d")]
    assert places(found(run(*calls, write(6, b"XY")), "d/a")) == [("d/a", "5.torn-1", 4)]


def test_a_rename_onto_another_name_of_the_same_file_does_nothing() -> None:
    calls = [create(b"a", 5), write(5, b"abcd"), call("link", Link(W, b"b", 5))]
    calls += [rename(b"a", b"b"), write(5, b"efgh", 4)]
    outputs = found(run(*calls), "a", "b")
    assert outputs.paths == ("a", "b")
    assert outputs.partial[0].why.endswith("; whole only from step 5 on")


def test_what_happens_in_a_directory_that_left_the_tree_concerns_nobody() -> None:
    inside = call("mkdir", Create(5, b"a", 8, NodeKind.DIRECTORY, 0o700))
    calls = [mkdir(b"d", 5), call("rename", Unlink(W, b"d")), mkdir(b"d", 6), create(b"a", 7, 6)]
    assert [one.point.id for one in found(run(*calls, inside, write(7, b"x")), "d/a").partial] == [
        "4.kill"
    ]


def test_a_loop_is_told_once_for_each_file_and_kind_of_operation() -> None:
    calls = [create(b"a", 5), *(write(5, b"%04d" % n, 4 * n) for n in range(50))]
    assert [one.point.id for one in found(run(*calls), "a").partial] == [
        "1.kill",
        "2.kill",
        "2.torn-2",
    ]


def test_only_files_in_the_workspace_that_are_there_at_the_end() -> None:
    calls = [create(b"gone", 5), write(5, b"abcd"), call("unlink", Unlink(W, b"gone"))]
    calls += [create(b"mine", 6, 2), write(6, b"abcd"), mkdir(b"d", 7)]
    assert found(run(*calls), "**") == (("old",), ())


def test_what_is_ephemeral_is_no_output() -> None:
    operations = run(create(b"a", 5), write(5, b"abcd"))
    timeline = Timeline(START, b"", operations)
    assert find_outputs(timeline, operations, ["*"], ["a"]) == (("old",), ())


def test_a_glob_that_means_nothing_is_a_sentence() -> None:
    end = Timeline(START, b"", run(mkdir(b"d", 5), create(b"a", 6, 5))).after(2).image
    assert unmatched_glob(end, ["old", "d/*"]) is None
    assert unmatched_glob(end, []) is None
    assert unmatched_glob(end, ["old", "out/*.json"]) == (
        "the output glob 'out/*.json' matches no file in the workspace at the end of the "
        "undisturbed run; it is relative to {workspace}"
    )
    assert (unmatched_glob(end, ["d/"]) or "").endswith(
        "; a folder of that name is there: for its files write 'd/**'"
    )
    assert unmatched_glob(end, ["old"], ["o*"]) == (
        "all that the output glob 'old' matches is ephemeral: take it out of one"
    )


# --- against a plain definition -----------------------------------------------------------------

NAMES = (b"a", b"b", b"c")
CHOICES = (
    *("create", "create", "mkdir", "mkdir", "write", "write", "write", "write"),
    *("rename", "rename", "link", "unlink", "exchange"),
)


class _Random:
    """A run of random calls on a few names in the workspace and one directory in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: dict[NodeId, dict[bytes, NodeId]] = {W: {b"old": OLD}, 2: {}}
        self.next = 10
        self.calls: list[Call] = []
        for _ in range(self.random.randint(5, 25)):
            self.step()

    def step(self) -> None:
        choice = self.random.choice(CHOICES)
        directory = self.random.choice([*self.names])
        name = self.random.choice(NAMES)
        entries = self.names[directory]
        files = sorted(
            {n for names in self.names.values() for n in names.values()} - self.names.keys()
        )
        if choice in {"create", "mkdir"} and name not in entries:
            is_folder = choice == "mkdir" and len(self.names) < 4
            kind = NodeKind.DIRECTORY if is_folder else NodeKind.FILE
            entries[name] = self.next
            if is_folder:
                self.names[self.next] = {}
            self.calls.append((choice, [Create(directory, name, self.next, kind, 0o600)]))
            self.next += 1
        elif choice == "write" and files:
            data = bytes(self.random.choices(b"xy", k=self.random.randint(1, 3)))
            effect: Effect = Write(self.random.choice(files), self.random.randint(0, 3), data)
            if self.random.random() < 0.2:
                effect = Truncate(self.random.choice(files), self.random.randint(0, 3))
            self.calls.append(("write", [effect]))
        elif choice in {"rename", "link", "exchange", "unlink"} and name in entries:
            self.move(choice, directory, name)

    def move(self, choice: str, directory: NodeId, name: bytes) -> None:
        entries = self.names[directory]
        node, target = entries[name], self.random.choice([*self.names])
        new = self.random.choice(NAMES)
        there = self.names[target].get(new)
        if choice == "unlink":
            if not self.names.get(node):
                del entries[name]
                self.names.pop(node, None)
                self.calls.append(("unlink", [Unlink(directory, name)]))
        elif choice == "link":
            if there is None and node not in self.names:
                self.names[target][new] = node
                self.calls.append(("link", [Link(target, new, node)]))
        elif (
            (node in self.names and (self.below(node, target) or there is not None))
            or there == node
            or (there in self.names and choice == "rename")
        ):
            return
        elif choice == "exchange":
            if there is not None and there not in self.names:
                entries[name], self.names[target][new] = there, node
                self.calls.append(("renameat2", [Rename(directory, name, target, new, True)]))
        else:
            del entries[name]
            self.names[target][new] = node
            self.calls.append(("rename", [Rename(directory, name, target, new)]))

    def below(self, node: NodeId, directory: NodeId) -> bool:
        return node == directory or any(
            self.below(inner, directory)
            for inner in self.names[node].values()
            if inner in self.names
        )


def _chain(image: Image, path: bytes) -> tuple[NodeId, ...] | None:
    """The nodes along a path that leads to a file."""
    chain = [ROOT]
    for name in path.split(b"/"):
        node = image.nodes[chain[-1]]
        if not isinstance(node, Directory) or name not in node.entries:
            return None
        chain.append(node.entries[name])
    return tuple(chain) if isinstance(image.nodes[chain[-1]], File) else None


def _content(image: Image, path: bytes) -> bytes:
    chain = _chain(image, path)
    node = image.nodes[chain[-1]] if chain else None
    assert isinstance(node, File)
    return node.content.read()


def _partial(images: list[Image], operations: list[Operation], path: bytes) -> list[bool]:
    """By definition, after each step: neither absent, nor before, nor final, nor just arrived."""
    known = {_content(images[-1], path)}
    if _chain(images[0], path):
        known.add(_content(images[0], path))
    partial = []
    arrived: tuple[tuple[NodeId, ...], bytes] | None = None
    for step, image in enumerate(images):
        chain = _chain(image, path)
        if chain is None:
            arrived = None
            partial.append(False)
            continue
        now = (chain, _content(image, path))
        renamed = step > 0 and operations[step - 1].call.startswith(("rename", "link"))
        if renamed and chain != _chain(images[step - 1], path):
            arrived = now
        if arrived != now:
            arrived = None  # not even if the same bytes come back
        partial.append(arrived is None and now[1] not in known)
    return partial


@pytest.mark.parametrize("block", range(20))
def test_kills_are_as_defined(block: int) -> None:
    seen = 0
    for seed in range(block * 50, block * 50 + 50):
        operations = run(*_Random(seed).calls)
        timeline = Timeline(START, b"", operations)
        images = [timeline.after(step).image for step in range(timeline.steps + 1)]
        outputs = found(operations, "**")
        globs = Globs(["**"])
        paths = [
            path
            for path, _, node in walk(images[-1])
            if isinstance(node, File) and globs.match(path)
        ]
        for path in paths:
            partial = _partial(images, operations, path)
            starts = {
                step for step in range(1, len(images)) if partial[step] and not partial[step - 1]
            }
            told = {
                one.point.step
                for one in outputs.partial
                if one.path == path[2:].decode() and one.point.fault is Fault.KILL
            }
            assert starts <= told, (seed, path)
            assert all(partial[step] for step in told), (seed, path)
            seen += len(told)
    assert seen > 20
