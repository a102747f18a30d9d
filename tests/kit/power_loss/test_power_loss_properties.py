"""The models against random programs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import File, Image
from tests.kit.power_loss.programs import Program, tree

_NAMES = ("a", "b", "d", "d/a", "d/b", "e", "e/d")
_CALLS = (
    "create", "mkdir", "append", "overwrite", "durable", "truncate", "allocate", "rename",
    "exchange", "link", "unlink", "fsync", "fdatasync", "failed", "sync", "unnamed",
)  # fmt: skip
_WEIGHTS = (4, 2, 4, 3, 1, 2, 1, 4, 1, 2, 2, 2, 1, 1, 1, 1)


@st.composite
def programs(draw: st.DrawFn, most: int = 14) -> Program:
    """Only calls that the kernel would carry out."""
    program = Program(a=b"A" * 5000, b=b"B" * 10)
    calls = [call for call, weight in zip(_CALLS, _WEIGHTS, strict=True) for _ in range(weight)]
    for _ in range(draw(st.integers(0, most))):
        _draw_call(draw, program, draw(st.sampled_from(calls)))
    return program


def _draw_call(draw: st.DrawFn, program: Program, call: str) -> None:
    there = [path for path in _NAMES if path in program.nodes]
    files = [path for path in there if program.nodes[path] not in program.directories]
    free = [
        path
        for path in _NAMES
        if path not in program.nodes
        and program.nodes.get(path.rpartition("/")[0]) in program.directories
    ]
    path = draw(st.sampled_from([*(files or there), *there]) if there else st.just(""))
    is_file = path in files
    byte = bytes([ord("a") + len(program.operations) % 26])
    if call in ("create", "mkdir") and free:
        getattr(program, call)(draw(st.sampled_from(free)))
    elif call == "unnamed" and free:
        program.create_unnamed("#")
        program.write("#", byte * 3)
        program.link("#", draw(st.sampled_from(free)))
        del program.nodes["#"]
    elif call in ("append", "overwrite", "durable") and is_file:
        size = draw(st.sampled_from((1, 7, 4096, 9000)))
        offset = draw(st.sampled_from((0, 3, 4096))) if call == "overwrite" else None
        program.write(path, byte * size, offset, durable=call == "durable")
    elif call == "truncate" and is_file:
        program.truncate(path, draw(st.sampled_from((0, 2, 5, 4096, 6000))))
    elif call == "allocate" and is_file:
        program.allocate(path, draw(st.sampled_from((0, 5000))), 4097, zero=draw(st.booleans()))
    elif call == "link" and is_file and free:
        program.link(path, draw(st.sampled_from(free)))
    elif call == "unlink" and path and _is_empty(program, path):
        program.unlink(path)
    elif call in ("rename", "exchange") and path:
        _draw_rename(draw, program, path, exchange=call == "exchange")
    elif call in ("fsync", "fdatasync"):
        getattr(program, call)(draw(st.sampled_from([*there, ""])))
    elif call == "failed" and is_file:
        program.failed_fsync(path)
    elif call == "sync":
        program.sync()


def _is_empty(program: Program, path: str) -> bool:
    return not any(other.startswith(path + "/") for other in program.nodes)


def _draw_rename(draw: st.DrawFn, program: Program, path: str, *, exchange: bool) -> None:
    is_directory = program.nodes[path] in program.directories
    targets = []
    for other in _NAMES:
        above = other.rpartition("/")[0]
        if program.nodes.get(above) not in program.directories or f"{above}/".startswith(
            path + "/"
        ):
            continue
        node = program.nodes.get(other)
        if exchange:
            if node is not None and not f"{path}/".startswith(other + "/"):
                targets.append(other)
        elif node is None or (
            (node in program.directories) == is_directory
            and _is_empty(program, other)
            and other != path
        ):
            targets.append(other)
    if targets:
        program.rename(path, draw(st.sampled_from(targets)), exchange=exchange)


_CONFIGURED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_CAP = 40


@_CONFIGURED
@given(programs(), st.sampled_from(Model))
def test_every_state_tried_is_allowed_and_has_the_key_it_was_given(
    program: Program, model: Model
) -> None:
    found = program.power_loss(model)
    for step in range(program.step + 1):
        for loss in found.losses(step, _CAP):
            state = found.state(step, loss)
            assert state.key == loss.key
            assert found.allows(state.image, step) is None, loss


@_CONFIGURED
@given(programs(), st.sampled_from(Model))
def test_the_first_is_what_a_kill_leaves(program: Program, model: Model) -> None:
    found = program.power_loss(model)
    timeline = Timeline(program.start, b"", program.operations)
    for step in range(program.step + 1):
        assert next(found.losses(step)).key == timeline.key(step)
        assert found.allows(timeline.after(step).image, step) is None


@_CONFIGURED
@given(programs())
def test_ext4_ordered_allows_less_than_linux_and_linux_less_than_posix(program: Program) -> None:
    ext4, linux, posix = (
        program.power_loss(model) for model in (Model.EXT4_ORDERED, Model.LINUX, Model.POSIX)
    )
    for step in range(program.step + 1):
        for loss in ext4.losses(step, _CAP):
            assert linux.allows(ext4.state(step, loss).image, step) is None
        for loss in linux.losses(step, _CAP):
            assert posix.allows(linux.state(step, loss).image, step) is None


@_CONFIGURED
@given(programs(), st.sampled_from(Model))
def test_after_a_sync_of_everything_one_state_is_left(program: Program, model: Model) -> None:
    for operation in program.operations:
        if operation.error:  # what a failed sync left behind, no later one brings back
            return
    program.sync()
    found = program.power_loss(model)
    assert len(list(found.losses(program.step))) == 1
    assert not found.unsynced(program.step)
    lost = Program(a=b"A" * 5000, b=b"B" * 10)
    if tree(Timeline(program.start, b"", program.operations).after(program.step).image) != tree(
        lost.start
    ):
        assert found.allows(lost.start, program.step) is not None


@_CONFIGURED
@given(programs(), st.sampled_from(Model), st.data())
def test_what_lost_something_durable_is_refused(
    program: Program, model: Model, data: st.DataObject
) -> None:
    # By all names that there are: renaming a directory above it gives it one of its own (d/d).
    for path in [path for path, node in program.nodes.items() if node in program.directories]:
        program.fsync(path)
    program.fsync("")
    found = program.power_loss(model)
    step = program.step
    assert not found.unsynced(step).names  # else another file may stand there
    image = Timeline(program.start, b"", program.operations).after(step).image
    synced = [
        number
        for number, node in image.nodes.items()
        if isinstance(node, File) and number not in found.unsynced(step).data and node.content.size
    ]
    if synced:
        number = data.draw(st.sampled_from(sorted(synced)))
        node = image.nodes[number]
        assert isinstance(node, File)
        size = node.content.size
        first = bytes([node.content.read(0, 1)[0] ^ 0xFF])
        for damaged in (
            node.content.truncate(size - 1),
            node.content.truncate(size + 1),
            node.content.write(0, first),
            Content.empty(),
        ):
            wrong = Image({**image.nodes, number: replace(node, content=damaged)})
            assert found.allows(wrong, step) is not None


@_CONFIGURED
@given(programs(), st.sampled_from(Model))
def test_steps_may_be_asked_for_in_any_order(program: Program, model: Model) -> None:
    found = program.power_loss(model)
    forward = [list(found.losses(step, _CAP)) for step in range(program.step + 1)]
    backward = [list(found.losses(step, _CAP)) for step in range(program.step, -1, -1)]
    assert backward[::-1] == forward
    fresh = program.power_loss(model)
    assert list(fresh.losses(program.step, _CAP)) == forward[-1]


@_CONFIGURED
@given(programs(), st.sampled_from(Model))
def test_a_loss_is_found_again_by_its_name_and_can_be_put_in_words(
    program: Program, model: Model
) -> None:
    found = program.power_loss(model)
    step = program.step
    for loss in found.losses(step, 12):
        assert found.loss(step, loss.variant) == loss
        words = found.describe(step, loss)
        assert len(words) == len(found.missing_syncs(step, loss))
        if loss.key == next(found.losses(step)).key:
            assert words == ()
        else:
            assert words
