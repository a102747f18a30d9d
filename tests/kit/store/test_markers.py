"""What a finished job shows of its markers and objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint_contracts.bucket import MarkerLink
from pytest_checkpoint.errors import SubjectError
from pytest_checkpoint.phases.changes import object_changes
from pytest_checkpoint.phases.store.markers import bucket_of, names_of_markers
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import StoredObject, object_line
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import BucketPlace, Subject
from tests.kit.store.uploading import Uploader


def subject(markers: str | None, ephemeral: tuple[str, ...] = ()) -> Subject:
    return Subject(
        name="etl",
        run=("run",),
        resume=("run",),
        check=("check",),
        ephemeral=ephemeral,
        s3=BucketPlace(bucket="b", prefix="run/", markers=markers),
        working_directory=Path("/"),
    )


@pytest.fixture
def bodies(tmp_path: Path) -> Bodies:
    return Bodies(tmp_path / "bodies")


def state(bodies: Bodies, **objects: bytes) -> State:
    """``objects``: by their key, ``_`` for ``/``; and two markers in the workspace."""
    lines = b"".join(
        object_line(StoredObject(key=key.replace("_", "/"), size=1, sha256=bodies.put(data)))
        for key, data in objects.items()
    )
    start = Uploader(**{"a.ok": b"", "all.ok": b"run/a run/b"}).start
    return State(start, b"", b"", lines)


def test_files_and_the_objects_they_stand_for(bodies: Bodies) -> None:
    seen = bucket_of(subject("*.ok"), state(bodies, run_a=b"x", run_b=b"y"), (), bodies)
    assert seen is not None
    assert seen.links == (MarkerLink(marker="a.ok", key="run/a"),)
    assert seen.unlinked == ("all.ok",)
    assert (seen.declares_markers, seen.reconciles) == (True, False)
    assert seen.markers_in_bucket == frozenset()


def test_objects_by_their_key_or_what_follows_the_prefix(bodies: Bodies) -> None:
    finished = state(bodies, run_a=b"x", run_b=b"y", run_done_a=b"run/a")
    for glob in ("done/*", "run/done/*"):
        seen = bucket_of(subject(glob), finished, (), bodies)
        assert seen is not None
        assert seen.links == (MarkerLink(marker="run/done/a", key="run/a", in_bucket=True),)
        assert seen.markers_in_bucket == {"run/done/a"}
        assert names_of_markers(subject(glob), finished) == ("run/done/a",)


def test_what_is_left_out_of_comparisons(bodies: Bodies) -> None:
    finished = state(bodies, run_a=b"x", run_probe=b"y")
    seen = bucket_of(subject(None, ("probe",)), finished, (), bodies)
    assert seen is not None
    assert seen.ephemeral == {"run/probe"}
    assert not seen.declares_markers


def test_what_is_left_out_although_it_was_refused(bodies: Bodies) -> None:
    asked = ["run/a", "run/probe/wrong", "probe/of-another"]
    seen = bucket_of(subject(None, ("probe/*",)), state(bodies, run_a=b"x"), (), bodies, asked)
    assert seen is not None
    assert seen.ephemeral == {"run/probe/wrong", "probe/of-another"}


def test_objects_that_grow(bodies: Bodies) -> None:
    program = Uploader()
    for data in (b"a", b"ab"):
        program.put("log", data)
        program.put("same", b"x")
    seen = bucket_of(subject(None), state(bodies), program.operations, bodies)
    assert seen is not None
    assert seen.rewritten == {"log"}


def test_a_glob_that_means_nothing(bodies: Bodies) -> None:
    with pytest.raises(SubjectError, match="matches no file in the workspace and no object"):
        bucket_of(subject("*.done"), state(bodies, run_a=b"x"), (), bodies)


def test_objects_that_a_resume_changed_but_for_the_ephemeral_ones(bodies: Bodies) -> None:
    before = state(bodies, run_a=b"x", run_b=b"y", run_tmp_1=b"z").objects
    after = state(bodies, run_a=b"X", run_c=b"y", run_tmp_2=b"z").objects
    assert object_changes(before, after, subject(None, ("tmp/*",))) == (
        "s3://b/run/a: other 1 bytes",
        "s3://b/run/b: gone after",
        "s3://b/run/c: an object that was not there before",
    )
    assert object_changes(before, before, subject(None)) == ()
