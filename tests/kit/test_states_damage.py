"""Which damages there are of a recording, and what they leave."""

from __future__ import annotations

import pytest

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    Event,
    Link,
    NodeKind,
    Operation,
    Rename,
    Unlink,
    Write,
)
from pytest_checkpoint.states.damage import Damages
from pytest_checkpoint.states.kill import CrashState, parse
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import ROOT, Directory, File, Image

START = Image(
    {
        ROOT: Directory(mode=0o700, entries={b"w": 1, b"t": 2}),
        1: Directory(mode=0o700, entries={b"input": 3}),
        2: Directory(mode=0o700, entries={}),
        3: File(mode=0o600, content=Content.of(b"given")),
    }
)


def saved(node: int, name: bytes, data: bytes) -> list[Effect]:
    """Written aside and renamed."""
    return [
        Create(1, b"tmp", node, NodeKind.FILE, 0o600),
        Write(node, 0, data),
        Rename(1, b"tmp", 1, name),
    ]


RUN: list[Effect] = [
    Create(2, b"scratch", 4, NodeKind.FILE, 0o600),
    Create(1, b"log", 5, NodeKind.FILE, 0o600),
    Write(5, 0, b"first\n"),
    *saved(6, b"state", b'{"a":1}'),
    Event(b"start a\ndone a\n"),
    Write(5, 6, b"second\n"),
    *saved(7, b"state", b'{"a":1,"b":2}'),
    *saved(8, b"out", b"result"),
    Event(b"done b\n"),
]
AFTER_A, AFTER_B = 7, 15


def source_of(effects: list[Effect]) -> StateSource:
    operations = tuple(
        Operation(step=step, call="call", path=b"w/x", effects=(effect,))
        for step, effect in enumerate(effects, start=1)
    )
    return StateSource(Recording("slot", START, b"", operations), Model.LINUX)


def damages(
    effects: list[Effect] = RUN, *, outputs: tuple[str, ...] = ("out",), flips: bool = False
) -> Damages:
    source = source_of(effects)
    made = Damages(source, outputs=outputs, ephemeral=(), checksummed=flips, seed=0)
    source.further[Fault.DAMAGE] = made
    return made


def contents(state: State) -> dict[bytes, bytes | None]:
    """Path → bytes; None: a directory. Without what was there before."""
    return {
        path: node.content.read() if isinstance(node, File) else None
        for path, _, node in walk(state.image)
        if path not in (b"", b"w", b"t", b"w/input", b"t/scratch")
    }


def of(made: Damages, text: str) -> dict[bytes, bytes | None]:
    return contents(made.state(parse(text)))


def test_moments_are_done_lines_and_the_end() -> None:
    assert damages().moments == (AFTER_A, AFTER_B)
    assert damages(RUN[:6]).moments == (6,), "without done lines: what was renamed, and the end"


def test_state_is_what_the_run_has_written_and_no_output() -> None:
    made = damages()
    assert made.files(AFTER_A) == (b"w/log", b"w/state")
    assert made.files(AFTER_B) == (b"w/log", b"w/state")
    assert damages(outputs=()).files(AFTER_B) == (b"w/log", b"w/out", b"w/state")


def test_an_input_that_was_moved_is_none_and_one_that_was_changed_is() -> None:
    moved = [*RUN, Rename(1, b"input", 1, b"taken")]
    assert damages(moved).files(len(moved)) == (b"w/log", b"w/state")
    changed = [*RUN, Write(3, 0, b"G")]
    assert damages(changed).files(len(changed)) == (b"w/input", b"w/log", b"w/state")


def test_another_name_of_an_output_is_no_state() -> None:
    linked = [*RUN, Link(1, b"latest", 8)]
    assert damages(linked).files(len(linked)) == (b"w/log", b"w/state")
    assert damages(linked, outputs=()).files(len(linked)) == (b"w/latest", b"w/log", b"w/state")


def test_what_can_be_done_to_a_file() -> None:
    made = damages(flips=True)
    ids = [f"{one.step}.{one.variant}" for one in made.of_file(AFTER_B, b"w/state")]
    kinds = ("empty", "garbage", "half", "short", "older", "directory", "flipped")
    assert ids == [f"{AFTER_B}.{kind}-2" for kind in kinds]
    assert [parse(text) for text in ids] == list(made.of_file(AFTER_B, b"w/state"))

    whole = b'{"a":1,"b":2}'
    left = {kind: of(made, f"{AFTER_B}.{kind}-2")[b"w/state"] for kind in kinds}
    assert left["empty"] == b""
    assert left["half"] == whole[:6]
    assert left["short"] == whole[:-1]
    assert left["older"] == b'{"a":1}'
    assert left["directory"] is None
    garbage, flipped = left["garbage"], left["flipped"]
    assert garbage is not None
    assert flipped is not None
    assert len(garbage) == len(whole)
    assert min(garbage) >= 0x80
    differing = [index for index, byte in enumerate(flipped) if byte != whole[index]]
    assert differing == [6]
    assert flipped[6] ^ whole[6] == 1
    assert all(of(made, text)[b"w/log"] == b"first\nsecond\n" for text in ids)


def test_there_is_no_version_before_the_first() -> None:
    kinds = {one.variant for one in damages().of_file(AFTER_A, b"w/state")}
    assert "older-2" not in kinds
    assert "half-2" in kinds


def test_a_bit_is_not_flipped_in_the_last_line() -> None:
    """Which a crash may leave unfinished."""
    flipped = of(damages(flips=True), f"{AFTER_B}.flipped-1")[b"w/log"]
    assert flipped is not None
    assert flipped[6:] == b"second\n"
    assert flipped != b"first\nsecond\n"


def test_two_files_are_swapped() -> None:
    made = damages()
    crash = made.swapped(AFTER_A, b"w/state", b"w/log")
    assert crash == parse(f"{AFTER_A}.swapped-1-2")
    assert of(made, f"{AFTER_A}.swapped-1-2") == {b"w/log": b'{"a":1}', b"w/state": b"first\n"}


def test_what_a_crash_could_have_left_by_itself() -> None:
    made = damages(outputs=())

    def could_be(text: str) -> bool:
        return made.told(parse(text)).could_be

    log, out, state = 1, 2, 3
    assert could_be(f"{AFTER_B}.half-{log}"), "cut within its first line"
    assert could_be(f"{AFTER_B}.short-{log}")
    assert could_be(f"{AFTER_B}.empty-{log}"), "it was created so"
    assert could_be(f"{AFTER_B}.older-{state}")
    assert not could_be(f"{AFTER_B}.garbage-{log}")
    assert not could_be(f"{AFTER_B}.directory-{log}")
    assert not could_be(f"{AFTER_B}.half-{state}"), "it came by a rename, whole"
    assert not could_be(f"{AFTER_B}.empty-{state}")
    assert not could_be(f"{AFTER_B}.short-{out}")
    assert not could_be(f"{AFTER_B}.swapped-{log}-{state}")


def test_what_was_damaged_may_be_kept_under_any_name() -> None:
    crash = parse(f"{AFTER_B}.half-2")
    made = damages()
    left = made.state(crash)
    assert made.is_kept(crash, left.image)
    renamed = source_of([*RUN, Link(1, b"state.damaged", 7), Unlink(1, b"state")])
    whole = Damages(renamed, outputs=("out",), ephemeral=(), checksummed=False, seed=0)
    assert not made.is_kept(crash, renamed.timeline.after(AFTER_B).image), "written anew"
    aside = Image({**whole.state(parse(f"{AFTER_B + 2}.half-2")).image.nodes})
    assert made.is_kept(crash, aside)
    assert made.is_kept(parse(f"{AFTER_B}.empty-2"), renamed.timeline.after(0).image)


def test_a_damage_in_words() -> None:
    made = damages()
    where = made.point(parse(f"{AFTER_A}.half-2"))
    assert where.operation == (
        'state cut in half (to 3 of 7 bytes) after step 7 (event "start a" "done a")'
    )
    assert (where.id, where.signature) == ("7.half-2", "damaged: state")
    assert made.told(parse(f"{AFTER_A}.swapped-1-2")).paths == ("log", "state")


@pytest.mark.parametrize("text", ["7.half-3", "99.half-1", "7.older-2", "7.swapped-1-1"])
def test_a_damage_that_is_none_is_a_sentence(text: str) -> None:
    with pytest.raises(UserError, match=r"there is no (damage 7|step 99)"):
        damages().state(parse(text))


def test_only_known_damages_are_read() -> None:
    assert parse("7.half-3") == CrashState(Fault.DAMAGE, 7, "half-3")
    for text in ("7.half", "7.half-0", "7.swapped-1", "7.molten-1"):
        with pytest.raises(UserError, match="is no crash point"):
            parse(text)
