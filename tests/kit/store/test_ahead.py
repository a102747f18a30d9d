"""At which kills a marker stands before its object."""

from __future__ import annotations

from checkpoint_contracts.bucket import by_key
from pytest_checkpoint.phases.store.ahead import markers_ahead
from pytest_checkpoint.phases.store.links import Link
from pytest_checkpoint.phases.store.reading import objects_of
from tests.kit.store.uploading import Uploader, line

LINK = Link(marker="a.done", key="out/a")
IN_BUCKET = Link(marker="done/a", key="out/a", in_bucket=True)
SAYS = Link(marker="a.done", key="out/a", token="out/a")


def ahead(program: Uploader, link: Link = LINK, *, whole: bool = True) -> list[tuple[int, int]]:
    """Steps, and how much of the object is held there; -1: nothing."""
    source = program.source
    final = by_key(objects_of(source.timeline.after(source.timeline.steps).objects))
    found = markers_ahead(source, [link], final, {"out/a"} if whole else ())
    assert all((one.marker, one.key) == (link.marker, link.key) for one in found)
    return [(one.point.step, -1 if one.held_bytes is None else one.held_bytes) for one in found]


def test_the_object_first() -> None:
    program = Uploader()
    program.put("out/a", b"whole")
    program.create("a.done")
    assert ahead(program) == []


def test_the_marker_first_is_told_once() -> None:
    program = Uploader()
    program.create("a.half")
    program.rename("a.half", "a.done")
    program.create("log")
    program.put("out/a", b"whole")
    assert ahead(program) == [(2, -1)]


def test_a_marker_that_says_nothing_yet_does_not_stand() -> None:
    program = Uploader()
    program.create("a.done")
    program.put("out/a", b"whole")
    program.write("a.done", b"out/a is done")
    assert ahead(program, SAYS) == []
    assert ahead(program, LINK) == [(1, -1)]


def test_a_part_of_it() -> None:
    program = Uploader()
    program.put("out/a", b"who")
    program.create("a.done")
    program.put("out/a", b"whole")
    assert ahead(program) == [(2, 3)]
    # Where a shorter object may well be a whole one nothing is said.
    assert ahead(program, whole=False) == []


def test_markers_in_the_bucket() -> None:
    program = Uploader()
    program.create("log")
    program.put("done/a", b"")
    program.put("out/a", b"whole")
    assert ahead(program, IN_BUCKET) == [(2, -1)]


def test_an_object_that_is_replaced_by_way_of_nothing() -> None:
    program = Uploader()
    program.put("out/a", b"older")
    program.create("a.done")
    program.delete("out/a")
    program.put("out/a", b"whole")
    assert ahead(program) == [(3, -1)]


def test_each_time_that_it_stands_so_is_told() -> None:
    program = Uploader()
    program.put("out/a", b"older")
    program.create("a.done")
    for data in (b"newer", b"whole"):
        program.delete("out/a")
        program.create(data.decode())
        program.put("out/a", data)
    assert ahead(program) == [(3, -1), (6, -1)]


def test_what_setup_left_so_is_no_matter_of_the_run() -> None:
    program = Uploader(**{"a.done": b""})
    program.create("log")
    program.put("out/a", b"whole")
    assert ahead(program) == []
    kept = Uploader(objects=line("out/a", b"whole"))
    kept.create("a.done")
    assert ahead(kept) == []
