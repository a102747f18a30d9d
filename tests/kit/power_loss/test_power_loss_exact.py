"""The test of membership against all states, where these are few enough to write them all down."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_checkpoint.record.operations import (
    Create,
    CreateUnnamed,
    Effect,
    Link,
    Operation,
    Rename,
    SetMode,
    Sync,
    Truncate,
    Unlink,
    Write,
)
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.tree.content import BLOCK_BYTES
from pytest_checkpoint.tree.image import NodeId
from tests.kit.power_loss.programs import WORKSPACE, Program, image, tree

_CONFIGURED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_FILES = ("a", "b", "d/a", "d/b")
_CALLS = (
    "create", "create", "rename", "rename", "unlink", "link", "unnamed", "append", "overwrite",
    "chmod", "fsync", "fdatasync", "sync d", "sync w",
)  # fmt: skip
Names = frozenset[tuple[str, NodeId]]
Slots = dict[tuple[NodeId, bytes], NodeId | None]


@st.composite
def name_programs(draw: st.DrawFn) -> Program:
    """Files of different contents that come, change, move and go in two directories."""
    program = Program(a=b"1")
    program.mkdir("d")
    program.sync()
    for number in range(draw(st.integers(0, 9))):
        there = [path for path in _FILES if path in program.nodes]
        call = draw(st.sampled_from(_CALLS))
        path = draw(st.sampled_from(there or ["d"]))
        other = draw(st.sampled_from(_FILES))
        if call == "create" and other not in program.nodes:
            program.create(other)
            program.write(other, b"new %d" % number, durable=draw(st.booleans()))
        elif call == "unnamed" and other not in program.nodes:
            program.create_unnamed("#")
            program.write("#", b"new %d" % number)
            program.link("#", other)
            del program.nodes["#"]
        elif call == "rename" and there and other != path:
            program.rename(path, other)
        elif call == "link" and there and other not in program.nodes:
            program.link(path, other)
        elif call == "chmod":
            program.chmod(path, 0o600)
        elif call == "sync w":
            program.fsync("")
        elif call == "sync d":
            program.fsync("d")
        elif there:
            _change_file(program, call, path)
    return program


def _change_file(program: Program, call: str, path: str) -> None:
    match call:
        case "unlink":
            program.unlink(path)
        case "append":
            program.write(path, b"+")
        case "overwrite":
            program.write(path, b"N", 0)
        case "fsync":
            program.fsync(path)
        case "fdatasync":
            program.fdatasync(path)
        case _:
            pass


class _Oracle:
    """Straight from the page that defines the models, by brute force."""

    def __init__(self, program: Program, model: Model) -> None:
        self.directory = program.nodes["d"]
        self.model = model
        self.base: Slots = {(WORKSPACE, b"a"): 2}
        self.now: Slots = dict(self.base)
        self.changes: list[Slots] = []
        self.durable: set[int] = set()
        self.born: dict[NodeId, int] = {}
        self.sizes: dict[NodeId, int] = {2: 1}
        self.past: list[tuple[set[NodeId], set[NodeId], int]] = []
        """Per operation: inodes that it changed, those of which the size or existence changed, and
        the number of name changes after it."""
        self.synced: dict[NodeId, int] = {}
        """How many operations there were at the last sync of an inode."""
        for operation in program.operations:
            (effect,) = operation.effects
            self.do(operation, effect)

    def do(self, operation: Operation, effect: Effect) -> None:
        altered = set[NodeId]()
        change = self.change(effect)
        changed = {directory for directory, _ in change}
        changed |= {node for slot in change for node in (self.now.get(slot), change[slot]) if node}
        match effect:
            case Create(node=node) | CreateUnnamed(node=node):
                altered = {node}
                self.sizes[node] = 0
            case Write(node=node) if effect.offset + len(effect.data) > self.sizes[node]:
                altered = {node}
                self.sizes[node] = effect.offset + len(effect.data)
            case SetMode(node=node):
                changed = {node}
            case _:
                pass
        if change:
            self.changes.append(change)
            self.now |= change
        self.past.append((changed | altered, altered, len(self.changes)))
        if isinstance(effect, Sync):
            self.sync(effect)
        elif isinstance(effect, Write) and effect.durable:
            self.sync_names_of(effect.node, data_only=True)

    def change(self, effect: Effect) -> Slots:
        match effect:
            case Create(directory, name, node) | Link(directory, name, node):
                if isinstance(effect, Create) or node not in {2, *self.born}:
                    self.born[node] = len(self.changes)
                return {(directory, name): node}
            case Unlink(directory, name):
                return {(directory, name): None}
            case Rename(one, old, two, new):
                if self.now[(one, old)] == self.now.get((two, new)):
                    return {}
                return {(one, old): None, (two, new): self.now[(one, old)]}
            case _:
                return {}

    def sync(self, effect: Sync) -> None:
        if effect.node is None:
            self.durable.update(range(len(self.changes)))
            self.synced = dict.fromkeys(self.sizes, len(self.past))
        elif effect.node in (WORKSPACE, self.directory):
            if self.model is Model.EXT4_ORDERED:
                self.durable.update(range(self.reach(effect.node, data_only=False)))
            else:
                self.durable |= {
                    index
                    for index, change in enumerate(self.changes)
                    if any(directory == effect.node for directory, _ in change)
                }
        else:
            self.sync_names_of(effect.node, data_only=effect.data_only)

    def sync_names_of(self, node: NodeId, *, data_only: bool) -> None:
        since = self.synced.get(node, 0) if data_only else 0
        if self.model is Model.EXT4_ORDERED:
            self.durable.update(range(self.reach(node, data_only=data_only)))
        elif (
            self.model is Model.LINUX
            and node in self.born
            # The link it was created under, if the inode was changed with it or after it.
            and self.reach(node, data_only=data_only, since=since) > self.born[node]
        ):
            self.durable.add(self.born[node])
        self.synced[node] = len(self.past)

    def reach(self, node: NodeId, *, data_only: bool, since: int = 0) -> int:
        """How many name changes there were when the inode last changed."""
        counts = [
            count
            for changed, altered, count in self.past[since:]
            if node in (altered if data_only else changed)
        ]
        return max(counts, default=0)

    def all_names(self) -> set[Names]:
        pending = [index for index in range(len(self.changes)) if index not in self.durable]
        found: set[Names] = set()
        for kept in _choices(pending, self.model):
            slots = dict(self.base)
            for index, change in enumerate(self.changes):
                if index in self.durable or index in kept:
                    slots |= change
            found.add(
                frozenset(
                    (("d/" if at == self.directory else "") + name.decode(), node)
                    for (at, name), node in slots.items()
                    if node is not None and node != self.directory
                )
            )
        return found


def _choices(pending: list[int], model: Model) -> Iterator[set[int]]:
    if model is Model.EXT4_ORDERED:
        yield from (set(pending[:count]) for count in range(len(pending) + 1))
        return
    for count in range(len(pending) + 1):
        yield from (set(one) for one in combinations(pending, count))


@settings(_CONFIGURED, max_examples=250)
@given(name_programs())
def test_names_are_members_if_and_only_if_some_choice_gives_them(program: Program) -> None:
    contents: dict[NodeId, bytes] = {2: b"1"}
    for operation in program.operations:
        for effect in operation.effects:
            if isinstance(effect, Write):
                before, data = contents.get(effect.node, b""), bytes(effect.data)
                end = effect.offset + len(data)
                contents[effect.node] = before[: effect.offset] + data + before[end:]
    every = {model: _Oracle(program, model).all_names() for model in Model}
    assume(len(every[Model.POSIX]) <= 300)
    posix = sorted(every[Model.POSIX], key=sorted)
    single = [names for names in posix if len({node for _, node in names}) == len(names)]
    mixed = [one ^ other for one, other in pairwise(single[:9])]
    for model in Model:
        lost = program.power_loss(model)
        for names in (*single, *mixed):
            if (
                not len({path for path, _ in names})
                == len({node for _, node in names})
                == len(names)
            ):
                continue  # two files of one name, or two names of one file: no tree here is so
            wanted = {path: contents[node] for path, node in names} | {"d/": b""}
            expected = names in every[model]
            assert (lost.allows(image(wanted), program.step) is None) is expected, model
        for found in program.trees(model):
            files = {path for path in found if path != "d/"}
            assert any(files == {path for path, _ in names} for names in every[model])


@st.composite
def data_programs(draw: st.DrawFn) -> Program:
    program = Program(f=draw(st.sampled_from((b"", b"oooo", b"o" * 4096, b"o" * 5000))))
    for number in range(draw(st.integers(1, 4))):
        offset = draw(st.sampled_from((0, 2, 4095, 4096)))
        data = bytes([ord("a") + number]) * draw(st.sampled_from((1, 3, 4097)))
        call = draw(st.sampled_from(("write", "write", "append", "truncate")))
        if call == "truncate":
            program.truncate("f", draw(st.sampled_from((0, 3, 4096, 4100))))
        else:
            program.write("f", data, offset if call == "write" else None)
    return program


def _all_contents(program: Program) -> set[bytes]:
    """Per block every version, per size every one reached or a block boundary on the way."""
    start = tree(program.start)["f"]
    effects = [
        effect
        for operation in program.operations
        for effect in operation.effects
        if isinstance(effect, Write | Truncate)
    ]
    ends = [i for i, effect in enumerate(effects) if isinstance(effect, Truncate)]
    found: set[bytes] = set()
    for end in [*ends, len(effects)]:
        writes = [i for i in range(end) if isinstance(effects[i], Write)]
        versions = []
        for count in range(len(writes) + 1):
            kept = [i for i in range(end) if i not in writes[count:]]
            versions.append(_replayed(start, [effects[i] for i in kept]))
        edge, ahead = -1, list[bytes]()
        if end < len(effects):
            edge, ahead = _ahead(start, effects, end, versions)
        for size in _sizes(versions):
            options = []
            for at in range(0, size, BLOCK_BYTES):
                length = min(BLOCK_BYTES, size - at)
                some = [*versions, *ahead] if at == edge else versions
                options.append({one[at : at + length].ljust(length, b"\0") for one in some})
            found |= {b"".join(parts) for parts in product(*options)}
    return found


def _ahead(
    start: bytes, effects: list[Write | Truncate], end: int, versions: list[bytes]
) -> tuple[int, list[bytes]]:
    """Where the last block that a lost truncate leaves begins, and what it may be already."""
    cut = effects[end]
    assert isinstance(cut, Truncate)
    edge = cut.size // BLOCK_BYTES * BLOCK_BYTES
    if cut.size == edge:
        return -1, []
    found = [
        version[: cut.size] + bytes(len(version[cut.size : edge + BLOCK_BYTES]))
        for version in versions
    ]
    for last in range(end, len(effects)):
        effect = effects[last]
        if isinstance(effect, Truncate) and effect.size <= edge:
            break
        found.append(_replayed(start, effects[: last + 1]))
    return edge, found


def _replayed(content: bytes, effects: list[Write | Truncate]) -> bytes:
    for effect in effects:
        if isinstance(effect, Truncate):
            content = content[: effect.size].ljust(effect.size, b"\0")
        else:
            end = effect.offset + len(effect.data)
            content = content.ljust(effect.offset, b"\0")
            content = content[: effect.offset] + bytes(effect.data) + content[end:]
    return content


def _sizes(versions: list[bytes]) -> set[int]:
    sizes = {len(version) for version in versions}
    for one, other in pairwise(versions):
        if len(other) > len(one):
            top = -(-len(other) // BLOCK_BYTES) * BLOCK_BYTES
            first = (len(one) // BLOCK_BYTES + 1) * BLOCK_BYTES
            sizes.update(range(first, top + 1, BLOCK_BYTES))
    return sizes


@_CONFIGURED
@given(data_programs(), data_programs())
def test_bytes_are_members_if_and_only_if_blocks_and_sizes_give_them(
    program: Program, other: Program
) -> None:
    every = _all_contents(program)
    lost = program.power_loss(Model.POSIX)
    some = sorted(every)[:: max(1, len(every) // 60)]
    for content in some:
        assert lost.allows(image({"f": content}), program.step) is None
    strange = {*sorted(_all_contents(other))[:20]}
    strange |= {one[:-1] for one in some if one} | {one + b"\0" for one in some}
    strange |= {one[: len(one) // 2] + b"!" + one[len(one) // 2 + 1 :] for one in some if one}
    for content in strange:
        allowed = lost.allows(image({"f": content}), program.step) is None
        assert allowed is (content in every)
    assert {found["f"] for found in program.trees(Model.POSIX)} <= every
