"""What is done to a finished job's bucket and markers before it is reconciled."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint_contracts.bucket import MarkerLink
from pytest_checkpoint.phases.store.reading import objects_of
from pytest_checkpoint.phases.store.tampering import (
    ALL,
    FOREIGN,
    LOST,
    NOTHING,
    ORPHAN,
    TRUNCATED,
    Tampering,
    without,
)
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import StoredObject, fold, object_line
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.compare import walk
from tests.kit.store.uploading import Uploader

NAMES = ("a", "b", "c")
LINKS = tuple(MarkerLink(marker=f"{name}.done", key=f"out/{name}") for name in NAMES)


@pytest.fixture
def bodies(tmp_path: Path) -> Bodies:
    return Bodies(tmp_path / "bodies")


def finished(bodies: Bodies) -> State:
    program = Uploader(**{f"{name}.done": b"" for name in NAMES})
    lines = b""
    for name in NAMES:
        data = name.encode() * 4
        headers = {"x-amz-checksum-crc32": "of the whole", "x-amz-meta-kind": "letters"}
        lines += object_line(
            StoredObject(key=f"out/{name}", size=4, sha256=bodies.put(data), headers=headers)
        )
    return State(program.start, b"", b"", lines)


def tampering(bodies: Bodies, names: tuple[str, ...] = NAMES) -> Tampering:
    return Tampering(
        finished(bodies),
        bodies,
        keys=[f"out/{name}" for name in names],
        links=[link for link in LINKS if link.key[-1] in names],
        prefix="out/",
    )


def held(state: State, bodies: Bodies) -> dict[str, bytes]:
    return {one.key: bodies.read(one.digest) for one in objects_of(state.objects)}


def files(state: State) -> set[str]:
    return {path.decode()[2:] for path, _, _ in walk(state.image) if path.startswith(b"w/")}


def test_each_by_itself(bodies: Bodies) -> None:
    whole = {"out/a": b"aaaa", "out/b": b"bbbb", "out/c": b"cccc"}
    expected = {
        NOTHING: whole,
        LOST: {"out/b": b"bbbb", "out/c": b"cccc"},
        TRUNCATED: {**whole, "out/c": b"cc"},
        ORPHAN: whole,
        FOREIGN: {**whole, "out/an-object-of-somebody-else": b"left by another program\n"},
    }
    for variant, objects in expected.items():
        made = tampering(bodies).done(variant)
        assert made is not None
        state, done = made
        assert held(state, bodies) == objects
        markers = {"a.done", "b.done", "c.done"} - {link.marker for link in done.orphaned}
        assert files(state) == markers
        assert (variant == ORPHAN) == bool(done.orphaned)
        assert (variant == FOREIGN) == any(one.size_bytes == 24 for one in done.foreign)


def test_all_at_once_is_an_object_each(bodies: Bodies) -> None:
    made = tampering(bodies).done(ALL)
    assert made is not None
    state, done = made
    assert (done.lost, done.truncated, done.orphaned) == (("out/a",), ("out/c",), (LINKS[1],))
    assert held(state, bodies)["out/c"] == b"cc"
    assert files(state) == {"a.done", "c.done"}


def test_of_two_one_is_lost_and_one_is_an_orphan(bodies: Bodies) -> None:
    made = tampering(bodies, ("a", "b")).done(ALL)
    assert made is not None
    _, done = made
    assert (done.lost, done.truncated, done.orphaned) == (("out/a",), (), (LINKS[1],))


def test_with_less_there_is_less_to_do(bodies: Bodies) -> None:
    one = tampering(bodies, ("a",))
    assert one.done(ALL) is None
    assert one.done(LOST) is not None
    none = tampering(bodies, ())
    assert [none.done(variant) for variant in (LOST, TRUNCATED, ORPHAN, ALL)] == [None] * 4
    assert none.done(FOREIGN) is not None


def test_a_cut_object_has_no_checksum_of_the_whole(bodies: Bodies) -> None:
    made = tampering(bodies).done(TRUNCATED)
    assert made is not None
    assert fold(made[0].objects).objects["out/c"].headers == {"x-amz-meta-kind": "letters"}


def test_a_marker_in_the_bucket(bodies: Bodies) -> None:
    state = finished(bodies)
    link = MarkerLink(marker="out/b", key="out/a", in_bucket=True)
    made = Tampering(state, bodies, keys=["out/a"], links=[link], prefix="").done(ORPHAN)
    assert made is not None
    assert set(held(made[0], bodies)) == {"out/a", "out/c"}
    assert made[0].image is state.image


def test_one_name_less() -> None:
    program = Uploader()
    program.mkdir("markers")
    program.create("markers/a")
    program.create("markers/b")
    source = program.source
    image = source.timeline.after(3).image
    left = {path for path, _, _ in walk(without(image, b"markers/a"))}
    assert left == {b"", b"w", b"w/markers", b"w/markers/b"}
