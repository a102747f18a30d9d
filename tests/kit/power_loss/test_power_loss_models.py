"""Each sentence of the persistence models, by hand."""

from __future__ import annotations

import pytest

from pytest_checkpoint.errors import HarnessError, UserError
from pytest_checkpoint.record.operations import Origin
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.tree.compare import walk
from tests.kit.power_loss.programs import Program, Tree, image, tree

ALL = list(Model)
LINUX, POSIX, EXT4 = Model.LINUX, Model.POSIX, Model.EXT4_ORDERED
UNORDERED = [LINUX, POSIX]


def contents(program: Program, model: Model, path: str = "f") -> set[bytes | None]:
    """All that a file is tried as after the last step; None: absent."""
    return {found.get(path) for found in program.trees(model)}


def allowed(program: Program, model: Model, wanted: Tree) -> bool:
    return program.power_loss(model).allows(image(wanted), program.step) is None


# --- data ---


@pytest.mark.parametrize("model", ALL)
def test_what_was_there_at_the_start_is_durable(model: Model) -> None:
    program = Program(f=b"old")
    program.event("done")
    assert program.trees(model) == [{"f": b"old"}]
    assert not program.unsynced(model)


@pytest.mark.parametrize("model", ALL)
def test_unsynced_data_is_missing_or_a_prefix_or_zeros_or_padded(model: Model) -> None:
    program = Program(f=b"old")
    program.write("f", b"ab")
    program.write("f", b"cd")
    padding = bytes(4096 - 7)
    assert contents(program, model) == {
        b"oldabcd",
        b"old",
        b"oldab",
        b"old\0\0\0\0",
        b"oldab\0\0",
        b"oldabcd" + padding,
        b"old\0\0\0\0" + padding,
    }
    assert not allowed(program, model, {"f": b"old\0\0cd"})  # no mixture within a block
    assert not allowed(program, model, {"f": b"olda"})
    assert not allowed(program, model, {"f": b"\0\0\0abcd"})  # durable bytes stay
    assert not allowed(program, model, {"f": b"oldabcd" + bytes(8192 - 7)})


@pytest.mark.parametrize("model", ALL)
def test_what_is_only_made_longer_has_no_other_size_on_the_way(model: Model) -> None:
    program = Program(f=b"old")
    program.truncate("f", 100)
    assert contents(program, model) == {b"old", b"old" + bytes(97)}
    program.write("f", b"x", 50)
    assert contents(program, model) == {
        b"old",
        b"old" + bytes(97),
        b"old" + bytes(47) + b"x" + bytes(49),
    }
    assert not allowed(program, model, {"f": b"old" + bytes(4093)})
    program.truncate("f", 5000)
    assert not allowed(program, model, {"f": b"old" + bytes(4093)})
    assert not allowed(program, model, {"f": b"old" + bytes(8189)})
    program.write("f", b"y")  # this one may be followed by zeros
    assert allowed(program, model, {"f": b"old" + bytes(8189)})


@pytest.mark.parametrize("model", ALL)
def test_a_write_over_durable_bytes_is_never_zeros(model: Model) -> None:
    program = Program(f=b"old")
    program.write("f", b"new", 0)
    assert contents(program, model) == {b"old", b"new"}
    assert not allowed(program, model, {"f": bytes(3)})
    assert not allowed(program, model, {"f": b"old" + bytes(4093)})  # it did not grow


@pytest.mark.parametrize("model", ALL)
def test_a_write_is_torn_at_blocks(model: Model) -> None:
    old, new = b"o" * 8192, b"n" * 8192
    program = Program(f=old)
    program.write("f", new, 0)
    torn = {new[:4096] + old[4096:], old[:4096] + new[4096:]}
    assert contents(program, model) == {old, new, *torn}
    assert not allowed(program, model, {"f": new[:4095] + old[4095:]})


@pytest.mark.parametrize("model", ALL)
def test_an_earlier_write_may_be_lost_and_a_later_one_kept(model: Model) -> None:
    program = Program(f=b"h" * 4096)
    program.write("f", b"d" * 100)
    program.write("f", b"H" * 4096, 0)
    assert b"H" * 4096 + bytes(100) in contents(program, model)
    assert b"H" * 4096 + b"d" * 100 in contents(program, model)
    assert b"h" * 4096 + b"d" * 100 in contents(program, model)


@pytest.mark.parametrize("model", ALL)
def test_a_large_new_file_may_end_at_any_block(model: Model) -> None:
    program = Program(f=b"")
    program.write("f", b"n" * 10000)
    for size in (0, 4096, 8192, 10000, 12288):
        kept = (b"n" * min(size, 10000)).ljust(size, b"\0")
        assert allowed(program, model, {"f": kept})
        assert allowed(program, model, {"f": bytes(size)})
    assert not allowed(program, model, {"f": b"n" * 9999})
    assert not allowed(program, model, {"f": bytes(16384)})
    assert allowed(program, model, {"f": bytes(4096) + b"n" * 5904})


@pytest.mark.parametrize("model", ALL)
def test_an_unsynced_truncate_may_have_zeroed_the_tail_of_its_last_block(model: Model) -> None:
    program = Program(f=b"o" * 10000)
    program.truncate("f", 100)
    tail = b"o" * 100 + bytes(3996) + b"o" * 5904
    assert contents(program, model) == {b"o" * 10000, b"o" * 100, tail}
    assert not allowed(program, model, {"f": b"o" * 4096 + bytes(5904)})
    program.write("f", b"new")  # goes into that block, where it is
    assert allowed(program, model, {"f": b"o" * 100 + b"new" + bytes(3993) + b"o" * 5904})
    assert not allowed(program, model, {"f": b"o" * 100 + b"new" + b"o" * 9897})


@pytest.mark.parametrize("model", ALL)
def test_what_was_written_after_a_truncate_is_there_only_with_the_truncate(model: Model) -> None:
    program = Program(f=b"o" * 6000)
    program.truncate("f", 0)
    program.write("f", b"new")
    assert {b"o" * 6000, b"", b"new", bytes(3)} <= contents(program, model)
    assert not allowed(program, model, {"f": b"new" + b"o" * 5997})
    assert not allowed(program, model, {"f": b"new" + bytes(5997)})


@pytest.mark.parametrize("model", ALL)
def test_an_unsynced_allocation_may_be_lost(model: Model) -> None:
    program = Program(f=b"old")
    program.allocate("f", 0, 6000)
    assert {b"old", b"old" + bytes(5997)} <= contents(program, model)


@pytest.mark.parametrize("origin", [Origin.MAPPED, Origin.ARRIVED])
@pytest.mark.parametrize("model", ALL)
def test_stores_through_a_mapping_and_what_arrived_are_unsynced(
    origin: Origin, model: Model
) -> None:
    program = Program(f=b"old")
    program.write("f", b"new", 0, origin=origin)
    assert contents(program, model) == {b"old", b"new"}
    program.fdatasync("f")
    assert contents(program, model) == {b"new"}


@pytest.mark.parametrize("model", ALL)
def test_inodes_lose_their_data_each_on_its_own(model: Model) -> None:
    program = Program(f=b"f", g=b"g")
    program.write("f", b"F", 0)
    program.write("g", b"G", 0)
    assert {(one["f"], one["g"]) for one in program.trees(model)} == {
        (f, g) for f in (b"f", b"F") for g in (b"g", b"G")
    }


# --- syncs and data ---


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
@pytest.mark.parametrize("model", ALL)
def test_a_sync_persists_all_data_of_the_inode_whatever_its_name(call: str, model: Model) -> None:
    program = Program(f=b"old")
    program.write("f", b"new", 0)
    program.link("f", "g")
    program.write("g", b"!")
    getattr(program, call)("g")
    assert contents(program, model) == {b"new!"}
    assert not allowed(program, model, {"f": b"old"})


@pytest.mark.parametrize("model", ALL)
def test_a_write_after_the_sync_is_not_synced(model: Model) -> None:
    program = Program(f=b"old")
    program.fsync("f")
    program.write("f", b"new", 0)
    assert contents(program, model) == {b"old", b"new"}


@pytest.mark.parametrize("model", ALL)
def test_a_synchronous_write_persists_at_once_but_only_itself(model: Model) -> None:
    program = Program(f=b"o" * 4096)
    program.write("f", b"x" * 10, 0)
    program.write("f", b"new", durable=True)
    assert contents(program, model) == {
        b"o" * 4096 + b"new",
        b"x" * 10 + b"o" * 4086 + b"new",
    }


@pytest.mark.parametrize("model", ALL)
def test_a_synchronous_write_persists_the_truncate_before_it(model: Model) -> None:
    program = Program(f=b"o" * 100)
    program.truncate("f", 0)
    program.write("f", b"new", durable=True)
    assert contents(program, model) == {b"new"}


@pytest.mark.parametrize("model", ALL)
def test_a_failed_sync_persists_nothing_and_a_later_one_does_not_help(model: Model) -> None:
    program = Program(f=b"old")
    program.write("f", b"new", 0)
    program.failed_fsync("f")
    assert contents(program, model) == {b"old", b"new"}
    program.fsync("f")
    assert contents(program, model) == {b"old", b"new"}
    program.sync()
    assert contents(program, model) == {b"old", b"new"}
    program.write("f", b"new", 0)
    program.fsync("f")
    assert contents(program, model) == {b"new"}


@pytest.mark.parametrize("model", ALL)
def test_a_failed_sync_leaves_names_as_they_were(model: Model) -> None:
    program = Program(f=b"old")
    program.create("new")
    program.fsync("new")
    program.fsync("")
    program.create("g")
    program.write("g", b"data")
    program.failed_fsync("g")
    trees = program.trees(model)
    assert {"f": b"old", "new": b""} in trees
    assert {"f": b"old", "new": b"", "g": b""} in trees
    assert {"f": b"old", "new": b"", "g": b"data"} in trees


@pytest.mark.parametrize("model", ALL)
def test_a_failed_sync_is_of_its_file_and_not_of_its_path(model: Model) -> None:
    """Of a file that has lost its name to another one meanwhile."""
    program = Program(f=b"old", g=b"new")
    held = program.nodes["f"]
    program.write("g", b"NEW", 0)
    program.rename("g", "f")
    program.fsync("")
    program.failed_fsync("f", node=held)
    program.fsync("f")
    assert program.trees(model) == [{"f": b"NEW"}]
    program.write("f", b"x", 0)
    program.failed_fsync("f")
    program.fsync("f")
    assert sorted(found["f"] for found in program.trees(model)) == [b"NEW", b"xEW"]


@pytest.mark.parametrize("model", ALL)
def test_what_is_written_after_a_failed_sync_is_synced_by_the_next(model: Model) -> None:
    """And what was written before is not, in whatever order."""
    program = Program(f=b"o" * 8192)
    program.write("f", b"a" * 4096, 0)
    program.failed_fsync("f")
    program.write("f", b"b" * 4096, 4096)
    program.fdatasync("f")
    found = {(one[:1], one[-1:]) for one in contents(program, model) if one}
    assert found >= {(b"o", b"b"), (b"a", b"b")}
    assert {end for _, end in found} == {b"b"}


@pytest.mark.parametrize("model", ALL)
def test_sync_persists_everything(model: Model) -> None:
    program = Program(f=b"old")
    program.mkdir("d")
    program.create("d/a")
    program.write("d/a", b"a")
    program.rename("f", "g")
    program.sync()
    assert program.trees(model) == [{"d/": b"", "d/a": b"a", "g": b"old"}]


# --- names ---


@pytest.mark.parametrize("model", ALL)
def test_a_new_name_may_be_absent(model: Model) -> None:
    program = Program()
    program.create("f")
    assert program.trees(model) == [{"f": b""}, {}]


@pytest.mark.parametrize("model", ALL)
def test_a_removed_name_may_be_back(model: Model) -> None:
    program = Program(f=b"old")
    program.unlink("f")
    assert program.trees(model) == [{}, {"f": b"old"}]


@pytest.mark.parametrize("model", ALL)
def test_a_rename_is_one_step(model: Model) -> None:
    program = Program(f=b"new", g=b"old")
    program.rename("f", "g")
    assert program.trees(model) == [{"g": b"new"}, {"f": b"new", "g": b"old"}]
    assert not allowed(program, model, {"g": b"old"})
    assert not allowed(program, model, {"f": b"new", "g": b"new"})
    assert not allowed(program, model, {"f": b"new"})


@pytest.mark.parametrize("model", ALL)
def test_an_exchange_is_one_step(model: Model) -> None:
    program = Program(f=b"1", g=b"2")
    program.rename("f", "g", exchange=True)
    assert program.trees(model) == [{"f": b"2", "g": b"1"}, {"f": b"1", "g": b"2"}]
    assert not allowed(program, model, {"f": b"1", "g": b"1"})


def test_any_subset_of_names_or_only_a_prefix_of_them() -> None:
    program = Program()
    for path in ("a", "b", "c"):
        program.create(path)
    every = [dict.fromkeys(names, b"") for names in ("", "a", "b", "c", "ab", "ac", "bc", "abc")]
    for model in UNORDERED:
        assert all(allowed(program, model, one) for one in every)
        assert all(one in program.trees(model) for one in every)
    prefixes = [{}, {"a": b""}, {"a": b"", "b": b""}, {"a": b"", "b": b"", "c": b""}]
    assert [one for one in every if allowed(program, EXT4, one)] == sorted(prefixes, key=len)
    assert sorted(program.trees(EXT4), key=len) == prefixes


def test_the_last_kept_change_says_what_a_name_leads_to() -> None:
    program = Program(s=b"0")
    for number in (b"1", b"2"):
        program.create("t")
        program.write("t", number)
        program.fsync("t")
        program.rename("t", "s")
    for model in UNORDERED:
        assert contents(program, model, "s") == {b"0", b"1", b"2"}
    # Under linux the fsync persists the name that a file was created under: it is there for good
    # unless the rename took it away, or a later file of that name did.
    assert not allowed(program, LINUX, {"s": b"0"})
    assert allowed(program, LINUX, {"s": b"0", "t": b"2"})
    assert allowed(program, POSIX, {"s": b"0"})


@pytest.mark.parametrize("model", ALL)
def test_an_unsynced_directory_may_be_absent_with_all_below(model: Model) -> None:
    program = Program()
    program.mkdir("d")
    program.mkdir("d/e")
    program.create("d/e/f")
    found = program.trees(model)
    assert {} in found
    assert {"d/": b""} in found
    assert {"d/": b"", "d/e/": b""} in found
    assert {"d/": b"", "d/e/": b"", "d/e/f": b""} in found
    assert len(found) == 4


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
@pytest.mark.parametrize("model", ALL)
def test_a_directory_sync_persists_its_names_and_not_its_own(call: str, model: Model) -> None:
    program = Program()
    program.create("f")
    program.mkdir("d")
    program.create("d/a")
    getattr(program, call)("d")
    found = program.trees(model)
    assert {"f": b"", "d/": b"", "d/a": b""} in found
    assert {"f": b"", "d/": b""} not in found
    if model is EXT4:  # in order: what came before is there as well
        assert len(found) == 1
    else:
        assert {} in found


@pytest.mark.parametrize("synced", ["d", ""])
@pytest.mark.parametrize("model", ALL)
def test_a_rename_across_directories_is_persisted_whole_by_either(
    synced: str, model: Model
) -> None:
    program = Program(f=b"f")
    program.mkdir("d")
    program.sync()
    program.rename("f", "d/f")
    program.fsync(synced)
    assert program.trees(model) == [{"d/": b"", "d/f": b"f"}]


@pytest.mark.parametrize("model", UNORDERED)
def test_a_directory_has_one_name(model: Model) -> None:
    program = Program()
    program.mkdir("a")
    program.create("a/f")
    program.sync()
    program.rename("a", "b")
    program.rename("b", "c")
    inside = {"/": b"", "/f": b""}
    expected = [{name + path: data for path, data in inside.items()} for name in "abc"]
    found = program.trees(model)
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert not allowed(program, model, expected[0] | expected[2])
    assert not allowed(program, model, {})


@pytest.mark.parametrize("model", UNORDERED)
def test_names_that_lead_in_circles_are_gone(model: Model) -> None:
    program = Program()
    program.mkdir("a")
    program.mkdir("b")
    program.sync()
    program.rename("b", "a/b")
    program.rename("a/b", "b")
    program.rename("a", "b/a")
    found = program.trees(model)  # each of them can be put together
    assert {"b/": b"", "b/a/": b""} in found
    assert {"a/": b"", "b/": b""} in found


@pytest.mark.parametrize("model", ALL)
def test_two_names_of_one_inode_stay_one(model: Model) -> None:
    program = Program(f=b"old")
    program.link("f", "g")
    program.fsync("")
    program.write("g", b"new", 0)
    for _, state in program.states(model):
        numbers = {path: number for path, number, _ in walk(state.image)}
        assert numbers[b"w/f"] == numbers[b"w/g"]
    assert not allowed(program, model, {"f": b"new", "g": b"new"})  # as two inodes


def test_mode_is_kept_as_it_was_last_but_an_earlier_one_is_a_member() -> None:
    program = Program(f=b"old")
    program.chmod("f", 0o644)
    (tried,) = program.states(LINUX)
    assert [node.mode for path, _, node in walk(tried[1].image) if path == b"w/f"] == [0o644]
    assert allowed(program, LINUX, {"f": b"old"})
    program.chmod("f", 0o640)
    other = Program(f=b"old")
    other.chmod("f", 0o604)
    strange = next(state for _, state in other.states(LINUX)).image
    refusal = program.power_loss(LINUX).allows(strange, program.step)
    assert refusal == "f: it never had the mode 0604"


# --- order, names and words ---


@pytest.mark.parametrize("model", ALL)
def test_the_most_telling_come_first(model: Model) -> None:
    program = Program(s=b"old")
    program.create("t")
    program.write("t", b"new")
    program.rename("t", "s")
    found = program.trees(model)
    assert found[:5] == [
        {"s": b"new"},
        {"s": b"old"},
        {"s": b""},
        {"s": bytes(3)},
        {"s": b"old", "t": b"new"},
    ]
    some = [tree(state.image) for _, state in program.states(model)][:3]
    lost = program.power_loss(model)
    capped = [tree(lost.state(3, loss).image) for loss in lost.losses(3, 3)]
    assert capped == some


def test_variants_are_names() -> None:
    program = Program(s=b"old")
    program.create("t")
    program.write("t", b"new")
    program.rename("t", "s")
    lost = program.power_loss(LINUX)
    variants = [loss.variant for loss in lost.losses(3)]
    assert variants[:4] == [
        "power-loss-names-kept-data-kept",
        "power-loss-names-lost-data-lost",
        "power-loss-names-kept-data-lost",
        "power-loss-names-kept-data-zeros",
    ]
    assert len(set(variants)) == len(variants)
    with pytest.raises(UserError, match="step 3 has no power loss 'power-loss-9' under the model"):
        lost.loss(3, "power-loss-9")
    with pytest.raises(HarnessError, match="there is no step 4"):
        list(lost.losses(4))


def test_a_refused_tree_is_refused_in_words() -> None:
    program = Program(f=b"old")
    program.write("f", b"new", 0)
    lost = program.power_loss(LINUX)
    assert lost.allows(image({"f": b"odd"}), 1) == (
        "f: no combination of its unsynced writes leaves these 3 bytes"
    )
    assert lost.allows(image({"f": b"new"}), 0) == (
        "f: its data was synced, but it differs (3 bytes)"
    )
    assert lost.allows(image({"f": b"old", "g": b""}), 1) == ("w: nothing in it was ever called g")
    assert lost.allows(image({}), 1) == "f: it is missing"
