"""Right and wrong ways to save, and what is said of the wrong ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_checkpoint.states.power_loss.data import Kind
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.tree.image import printable
from tests.kit.power_loss.programs import Program, tree

ALL = list(Model)
LINUX, POSIX, EXT4 = Model.LINUX, Model.POSIX, Model.EXT4_ORDERED
ROUNDS = 3
Writer = Callable[[Program, int], None]


def _saved(number: int) -> bytes:
    return b"state %d" % number


def _atomic(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.fsync("s.tmp")
    program.rename("s.tmp", "s")
    program.fsync("")


def _atomic_by_fdatasync(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.fdatasync("s.tmp")
    program.rename("s.tmp", "s")
    program.fdatasync("")


def _atomic_synchronous(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number)[:3], durable=True)
    program.write("s.tmp", _saved(number)[3:], durable=True)
    program.rename("s.tmp", "s")
    program.fsync("")


def _from_unnamed(program: Program, number: int) -> None:
    program.create_unnamed("#")
    program.write("#", _saved(number))
    program.fsync("#")
    program.link("#", "s.tmp")
    program.rename("s.tmp", "s")
    del program.nodes["#"]
    program.fsync("")


def _with_sync(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.sync()
    program.rename("s.tmp", "s")
    program.sync()


def _no_directory_sync(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.fsync("s.tmp")
    program.rename("s.tmp", "s")


def _no_fsync(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.rename("s.tmp", "s")


def _directory_synced_but_never_the_file(program: Program, number: int) -> None:
    _no_fsync(program, number)
    program.fsync("")


def _fsync_before_flush(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.fsync("s.tmp")
    program.write("s.tmp", _saved(number))
    program.rename("s.tmp", "s")
    program.fsync("")


def _directory_synced_before_the_rename(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.fsync("s.tmp")
    program.fsync("")
    program.rename("s.tmp", "s")


def _failed_fsync_tried_again(program: Program, number: int) -> None:
    program.create("s.tmp")
    program.write("s.tmp", _saved(number))
    program.failed_fsync("s.tmp")
    program.fsync("s.tmp")
    program.rename("s.tmp", "s")
    program.fsync("")


RIGHT = [_atomic, _atomic_by_fdatasync, _atomic_synchronous, _from_unnamed, _with_sync]
WRONG = [
    _no_directory_sync,
    _no_fsync,
    _directory_synced_but_never_the_file,
    _fsync_before_flush,
    _directory_synced_before_the_rename,
    _failed_fsync_tried_again,
]


def _run(writer: Writer) -> Program:
    program = Program(s=_saved(0))
    for number in range(1, ROUNDS + 1):
        writer(program, number)
        program.event(f"done {number}")
    return program


def _losing(program: Program, model: Model) -> list[tuple[int, bytes | None, bytes]]:
    """Where the state is not one that was acknowledged last, or the one after it."""
    lost = program.power_loss(model)
    found = []
    for step in range(program.step + 1):
        for loss in lost.losses(step):
            state = lost.state(step, loss)
            done = state.events.count(b"done")
            seen = tree(state.image).get("s")
            if seen not in (_saved(done), _saved(done + 1)):
                found.append((step, seen, state.events))
    return found


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("writer", RIGHT, ids=lambda writer: writer.__name__)
def test_a_right_writer_loses_nothing(writer: Writer, model: Model) -> None:
    assert _losing(_run(writer), model) == []


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("writer", WRONG, ids=lambda writer: writer.__name__)
def test_a_wrong_writer_loses_what_it_acknowledged(writer: Writer, model: Model) -> None:
    assert _losing(_run(writer), model)


@pytest.mark.parametrize("model", ALL)
def test_a_rename_without_fsync_leaves_nothing_or_zeros_under_the_final_name(model: Model) -> None:
    program = _run(_no_fsync)
    seen = {seen for _, seen, _ in _losing(program, model)}
    assert {b"", bytes(len(_saved(1)))} <= seen
    synced = {seen for _, seen, _ in _losing(_run(_no_directory_sync), model)}
    assert synced <= {_saved(0), _saved(1), _saved(2)}  # older, but whole


@pytest.mark.parametrize("model", ALL)
def test_without_an_acknowledgement_nothing_is_lost_that_was_promised(model: Model) -> None:
    program = Program(s=_saved(0))
    for number in range(1, ROUNDS + 1):
        _no_directory_sync(program, number)
    lost = program.power_loss(model)
    for step in range(program.step + 1):
        for loss in lost.losses(step):
            seen = tree(lost.state(step, loss).image).get("s")
            assert seen in [_saved(number) for number in range(ROUNDS + 1)]


def _log(*, sync: bool, durable: bool, create: bool, directory: bool) -> Program:
    program = Program() if create else Program(log=b"")
    if create:
        program.create("log")
    if directory:
        program.fsync("")
    for number in range(1, ROUNDS + 1):
        program.write("log", b"line %d\n" % number, durable=durable)
        if sync:
            program.fdatasync("log")
        program.event(f"done {number}")
    return program


def _log_loses(program: Program, model: Model) -> bool:
    lost = program.power_loss(model)
    for step in range(program.step + 1):
        for loss in lost.losses(step):
            state = lost.state(step, loss)
            log = tree(state.image).get("log", b"")
            if any(b"line %s\n" % line[5:] not in log for line in state.events.splitlines()):
                return True
    return False


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("durable", [True, False])
def test_a_synced_append_log_loses_nothing(durable: bool, model: Model) -> None:
    for create in (True, False):
        program = _log(sync=not durable, durable=durable, create=create, directory=True)
        assert not _log_loses(program, model)


@pytest.mark.parametrize(("model", "loses"), [(LINUX, False), (EXT4, False), (POSIX, True)])
@pytest.mark.parametrize("durable", [True, False])
def test_a_log_in_an_unsynced_directory_is_lost_under_posix_only(
    durable: bool, model: Model, loses: bool
) -> None:
    program = _log(sync=not durable, durable=durable, create=True, directory=False)
    assert _log_loses(program, model) is loses


@pytest.mark.parametrize("model", ALL)
def test_an_unsynced_log_loses(model: Model) -> None:
    assert _log_loses(_log(sync=False, durable=False, create=True, directory=True), model)


# --- in words ---


def _said(program: Program, model: Model, variant: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lost = program.power_loss(model)
    loss = lost.loss(program.step, f"power-loss-{variant}")
    return lost.describe(program.step, loss), lost.missing_syncs(program.step, loss)


def test_words_for_a_rename_without_fsync() -> None:
    program = Program(s=b"old")
    program.create("s.tmp")
    program.write("s.tmp", b"ab")
    program.write("s.tmp", b"cd")
    program.rename("s.tmp", "s")
    program.fsync("")
    program.event("done")
    assert _said(program, LINUX, "names-kept-data-lost") == (
        ("data of s.tmp (written at steps 2–3) lost",),
        (
            (
                "rename s.tmp → s at step 4: data of s.tmp written at step 2–3 was never synced; "
                "an fsync of it would have been needed before step 4"
            ),
        ),
    )
    described, _ = _said(program, LINUX, "names-kept-data-zeros")
    assert described == ("data of s.tmp (written at steps 2–3) lost, zeros in its place",)
    described, _ = _said(program, LINUX, "names-kept-data-1-first-1")
    assert described == (
        "data of s.tmp (written at step 3) lost, what was written to it before kept",
    )


def test_words_for_an_fsync_before_the_flush() -> None:
    program = Program(s=b"old")
    _fsync_before_flush(program, 1)
    program.event("done")
    _, said = _said(program, LINUX, "names-kept-data-lost")
    assert said == (
        (
            "rename s.tmp → s at step 4: data of s.tmp written at step 3 "
            "was never synced (the fsync "
            "at step 2 came before the write at step 3); "
            "an fsync of it would have been needed before step 4"
        ),
    )


def test_words_for_a_sync_that_came_too_late() -> None:
    program = Program(s=b"old")
    program.create("s.tmp")
    program.write("s.tmp", b"new")
    program.rename("s.tmp", "s")
    program.event("done 1")
    program.fsync("s")
    program.fsync("")
    lost = program.power_loss(LINUX)
    loss = lost.loss(4, "power-loss-names-lost-data-lost")
    assert lost.describe(4, loss) == (
        "create s.tmp (step 1) lost",
        "rename s.tmp → s (step 3) lost",
    )
    assert lost.missing_syncs(4, loss) == (
        (
            "create s.tmp at step 1: the name was made durable only at "
            "step 5; an fsync of it or of "
            'its directory (.) would have been needed before step 4 (event "done 1")'
        ),
        (
            "rename s.tmp → s at step 3: the name was made durable only at step 6; an fsync of its "
            'directory (.) would have been needed before step 4 (event "done 1")'
        ),
    )
    loss = lost.loss(4, "power-loss-names-kept-data-lost")
    assert lost.missing_syncs(4, loss) == (
        (
            "rename s.tmp → s at step 3: data of s.tmp written at step 2 "
            "was synced only at step 5; "
            "an fsync of it would have been needed before step 3"
        ),
    )


def test_words_for_a_directory_synced_before_the_rename() -> None:
    program = Program(s=b"old")
    _directory_synced_before_the_rename(program, 1)
    program.event("done")
    _, said = _said(program, POSIX, "names-lost-data-kept")
    assert said == (
        (
            "rename s.tmp → s at step 5: the name was never made durable "
            "(the fsync of the directory "
            "at step 4 came before it); an fsync of its directory (.) "
            "would have been needed before "
            'step 6 (event "done")'
        ),
    )


def test_words_for_a_failed_fsync() -> None:
    program = Program(s=b"old")
    program.write("s", b"new", 0)
    program.failed_fsync("s")
    program.fsync("s")
    program.event("done")
    _, said = _said(program, LINUX, "names-kept-data-lost")
    assert said == (
        (
            "write s (3 bytes at 0) at step 1: data of s written at step "
            "1 was not synced (the fsync "
            "at step 2 failed: what it should have persisted must be "
            "written again); an fsync of it "
            'would have been needed before step 4 (event "done")'
        ),
    )


def test_words_for_a_lost_directory_do_not_go_on_about_what_was_in_it() -> None:
    program = Program()
    program.mkdir("d")
    program.create("d/f")
    described, said = _said(program, POSIX, "names-lost-data-kept")
    assert described == ("mkdir d (step 1) lost",)
    assert said == (
        (
            "mkdir d at step 1: the name was never made durable; an "
            "fsync of its directory (.) would "
            "have been needed after step 1"
        ),
    )


def test_names_of_any_bytes() -> None:
    name = "odd \n\t name"
    program = Program()
    program.create(name)
    program.write(name, b"x")
    described, _ = _said(program, POSIX, "names-kept-data-lost")
    assert described == (f"data of {printable(name.encode())} (written at step 2) lost",)


def test_every_kind_of_loss_has_words() -> None:
    program = Program(f=b"o" * 9000)
    program.write("f", b"n" * 9000, 0)
    program.truncate("f", 5000)
    program.write("f", b"a" * 9000)
    lost = program.power_loss(LINUX)
    losses = list(lost.losses(program.step))
    assert {loss.data.shape.kind for loss in losses if loss.data.node is not None} | {
        loss.data.others.kind for loss in losses
    } == set(Kind)
    said = {lost.describe(program.step, loss) for loss in losses}
    steps = "data of f (written at steps 2–3)"
    assert (f"{steps} lost, but zeros from the new end to the end of its block",) in said
    assert ("data of f (written at step 3) cut short at a block boundary",) in said
    assert ("data of f (written at step 3) kept only in its last blocks",) in said
    assert len(said) > 10


def test_inodes_that_no_name_leads_to_are_not_gone_on_about() -> None:
    program = Program()
    program.create("t")
    program.write("t", b"x")
    program.unlink("t")
    assert program.unsynced(LINUX).data  # the unlink may be lost
    program.fsync("")
    assert not program.unsynced(LINUX)
    assert program.trees(LINUX) == [{}]


def test_one_flaw_in_every_round_is_of_one_kind() -> None:
    program = Program(s=b"old")
    kinds = set()
    for number in range(1, 3):
        program.create(f"s-{number}.tmp")
        program.write(f"s-{number}.tmp", b"x" * number)
        program.rename(f"s-{number}.tmp", "s")
        program.fsync("")
        lost = program.power_loss(LINUX)
        loss = lost.loss(program.step, "power-loss-names-kept-data-lost")
        kinds.add(lost.missing_kinds(program.step, loss))
    assert kinds == {("rename s-#.tmp → s: data of s-#.tmp not durable",)}
