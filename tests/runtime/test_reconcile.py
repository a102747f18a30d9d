"""A pipeline that has changed since: refused with what and why, accepted, or run again in part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    ChangedPipelineError,
    Context,
    FailedBeforeError,
    Pipeline,
    StageFailedError,
)
from tests.runtime.support import Ran, fail, files_in, log_of, records_of


class Song:
    """A pipeline put together from a few words, and what of it has run."""

    def __init__(self, *stages: str | tuple[str, dict[str, Any]]) -> None:
        self.ran: Ran = []
        self.pipeline = Pipeline("song")
        for stage in stages:
            name, given = (stage, {}) if isinstance(stage, str) else stage
            self._add(name, **given)

    def _add(
        self,
        name: str,
        *,
        items: Sequence[Any] | Callable[[Context], Sequence[Any]] | None = None,
        value: Any = None,
        **given: Any,
    ) -> None:
        def work(context: Context, *item: Any) -> Any:
            self.ran.append(name if not item else f"{name}:{item[0]}")
            if item:
                return [value, *item]
            return [value or name, *context.values()]

        if items is None:
            self.pipeline.stage(name=name, **given)(work)
        else:
            self.pipeline.map(work, items, name=name, **given)

    def resume(self, workspace: Path, **options: Any) -> Ran:
        """What has run in this."""
        self.ran.clear()
        self.pipeline.resume(workspace, **options)
        return list(self.ran)


def refused(workspace: Path, song: Song, **options: Any) -> str:
    """That it is refused, twice and by run() too, and nothing runs or changes by it."""
    song.ran.clear()
    before = files_in(workspace)
    sentences = set()
    for go_on in (song.pipeline.resume, song.pipeline.run, song.pipeline.resume):
        with pytest.raises(ChangedPipelineError) as caught:
            go_on(workspace, **options)
        sentences.add(str(caught.value))
    assert song.ran == []
    assert files_in(workspace) == before
    (sentence,) = sentences
    assert sentence.startswith(f"{workspace / 'state.log'}: the pipeline has changed since: ")
    assert "(--accept-changed, accept_changed=True)." in sentence
    return sentence


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A finished song of three verses."""
    assert Song("a", "b", "c").resume(tmp_path, parameters={"key": 1}) == ["a", "b", "c"]
    return tmp_path


CHANGES = [
    (Song("a", "x", "c"), "stage 'b' is recorded, and not in the pipeline now"),
    (Song("a", "x", "c"), r"'c' was done after \['b'\], and comes after \['x'\] now"),
    (Song("b", "a", "c"), r"'b' was done after \['a'\], and comes after \[\] now"),
    (Song("a", ("b", {"version": "2"}), "c"), "'b' was done in version '1', and is version '2'"),
    (Song("a", ("b", {"after": []}), "c"), r"'b' was done after \['a'\], and comes after \[\]"),
    (Song("a", "new", "b", "c"), r"'b' was done after \['a'\], and comes after \['new'\] now"),
    (Song("a", "b"), "stage 'c' is recorded, and not in the pipeline now"),
    (Song("a", "b", ("c", {"items": [1]})), "'c' was no mapped stage and is one now"),
]


@pytest.mark.parametrize(("song", "sentence"), CHANGES)
def test_what_has_changed_is_refused_with_which_and_why(
    workspace: Path, song: Song, sentence: str
) -> None:
    assert re.search(sentence, refused(workspace, song))


@pytest.mark.parametrize("song", [song for song, _ in CHANGES])
def test_what_is_accepted_stays_accepted(workspace: Path, song: Song) -> None:
    names = [stage.name for stage in song.pipeline._stages]
    new = [name for name in names if name not in ("a", "b", "c")]
    assert song.resume(workspace, accept_changed=True) == new
    assert song.resume(workspace) == []
    assert song.pipeline.status(workspace).finished


def test_other_parameters_are_refused_the_same_ones_or_none_are_not(workspace: Path) -> None:
    song = Song("a", "b", "c")
    assert "'a' was done with other parameters" in refused(workspace, song, parameters={"key": 2})
    assert song.resume(workspace, parameters={"key": 1}) == []
    assert song.resume(workspace) == []
    assert song.resume(workspace, parameters={"key": 2}, accept_changed=True) == []
    assert song.resume(workspace) == []
    assert "other parameters" in refused(workspace, song, parameters={"key": 1})
    assert song.resume(workspace, parameters={"key": 1}, rerun_from="a") == ["a", "b", "c"]


TWO: dict[str, Any] = {"version": "2"}
ADVICE = [
    (
        Song("a", ("b", TWO), "c"),
        "b",
        "Run the changed part again (--rerun-from b, rerun_from='b')",
    ),
    (Song("a", ("b", TWO), ("c", TWO)), "b", "Run the changed part again (--rerun-from b, "),
    (
        Song("a", ("b", {"after": []}), ("c", {"after": ["a"]})),
        None,
        "No one stage has all of that",
    ),
    (
        Song("a", ("b", TWO), ("c", {"after": ["a"]})),
        "a",
        "Run the changed part again (--rerun-from",
    ),
    (Song("a", ("b", TWO)), None, "Take the change back, or keep the rest as it is done and drop "),
]


@pytest.mark.parametrize(("song", "stage", "words"), ADVICE)
def test_the_stage_to_run_again_from_is_named_where_that_works(
    workspace: Path, song: Song, stage: str | None, words: str
) -> None:
    with pytest.raises(ChangedPipelineError) as caught:
        song.resume(workspace)
    assert caught.value.rerun_from == stage
    assert f"Nothing was run. {words}" in str(caught.value)
    assert "parameter" not in str(caught.value)  # they are the same
    if stage is not None:
        song.resume(workspace, rerun_from=stage)
        assert song.pipeline.status(workspace).finished
        return
    for name in [stage.name for stage in song.pipeline._stages]:
        if name != "a" or "drop" in words:
            with pytest.raises(ChangedPipelineError):
                song.resume(workspace, rerun_from=name)


def test_other_parameters_are_told_from_what_to_what(tmp_path: Path) -> None:
    song = Song("a", "b")
    song.resume(tmp_path, parameters={"same": 1, "size": (1, 2), "gone": "x" * 99})
    told = refused(tmp_path, song, parameters={"same": 1, "size": [1, 2], "new": 3})
    assert "parameter 'size' was (1, 2), and is [1, 2] now; " in told
    assert f"parameter 'gone' was '{'x' * 59}…, and is not given now; " in told
    assert "parameter 'new' was not given, and is 3 now; stage 'a' was done with other" in told
    assert "'same'" not in told
    many = refused(tmp_path, song, parameters={"same": 1, **dict.fromkeys("abcdef", 0)})
    assert "and 1 more" in many
    assert "5 more parameters are others now" in many


def test_a_stage_added_at_the_end_just_runs(workspace: Path) -> None:
    assert Song("a", "b", "c", "d").resume(workspace) == ["d"]


def test_another_number_of_attempts_is_no_change(workspace: Path) -> None:
    assert Song("a", ("b", {"attempts": 5, "backoff_s": 9.0}), "c").resume(workspace) == []


def test_rerun_from_runs_that_stage_and_what_is_built_on_it(workspace: Path) -> None:
    song = Song("a", "b", "c", ("d", {"after": ["a"]}))
    assert song.resume(workspace) == ["d"]
    assert song.resume(workspace, rerun_from="b") == ["b", "c"]
    assert Song("a", ("b", {"version": "2"}), "c", ("d", {"after": ["a"]})).resume(
        workspace, rerun_from="b"
    ) == ["b", "c"]


def test_rerun_from_elsewhere_does_not_excuse_what_has_changed(workspace: Path) -> None:
    song = Song("a", ("b", {"version": "2"}), "c")
    assert "is version '2' now" in refused(workspace, song, rerun_from="c")


def test_an_input_that_is_another_value_now_is_noticed(workspace: Path) -> None:
    records = records_of(workspace)
    (done,) = [record for record in records if record.get("done") == "b"]
    done["digest"] = "another"
    (workspace / "state.log").write_bytes(log_of(records))
    assert "'c' was made of another value of 'b'" in refused(workspace, Song("a", "b", "c"))


def test_what_is_no_stage_now_is_cleared_once_that_is_accepted(workspace: Path) -> None:
    changed = Song("a", ("b", {"value": "other"}), ("d", {"after": []}))
    assert changed.resume(workspace, rerun_from="b", accept_changed=True) == ["b", "d"]
    finished = Song("a", ("b", {"value": "other"}), ("d", {"after": []}), ("c", {"after": ["b"]}))
    assert finished.resume(workspace) == ["c"]
    records = records_of(workspace)
    (cleared,) = [record["cleared"] for record in records if "cleared" in record]
    assert cleared == ["b", "c"]


def test_a_failed_stage_that_is_none_any_more_is_forgotten(tmp_path: Path) -> None:
    broken = Song("a")
    broken.pipeline.stage(name="broken")(lambda context: fail())
    with pytest.raises(StageFailedError):
        broken.resume(tmp_path)
    with pytest.raises(FailedBeforeError):
        broken.pipeline.run(tmp_path)
    mended = Song("a", "b")
    mended.pipeline.run(tmp_path)  # not refused for a failure that nobody can mend
    assert mended.ran == ["b"]
    assert "broken" not in (tmp_path / "handoff.md").read_text()


def test_a_renamed_stage_in_the_middle_of_a_run_is_noticed(tmp_path: Path) -> None:
    broken = Song("a", "b")
    broken.pipeline.stage(name="c")(lambda context: fail())
    with pytest.raises(StageFailedError):
        broken.resume(tmp_path)
    assert "'b' is recorded, and not" in refused(tmp_path, Song("a", "verse", "c"))


# --- mapped stages ---


def half_done(workspace: Path) -> None:
    """Two of three items are done, then it fails."""
    song = Song("a")

    def work(context: Context, item: int) -> int:
        if item == 3:
            fail()
        return item

    song.pipeline.map(work, [1, 2, 3], name="m")
    with pytest.raises(StageFailedError):
        song.resume(workspace)


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        ({"version": "2"}, {}, "was done in version '1', and is version '2' now"),
        ({}, {"parameters": {"x": 1}}, "was done with other parameters"),
        ({"after": []}, {}, "was done after ['a'], and comes after [] now"),
    ],
)
def test_items_of_a_changed_stage_are_not_mixed_with_new_ones(
    tmp_path: Path, given: dict[str, Any], options: dict[str, Any], sentence: str
) -> None:
    half_done(tmp_path)
    song = Song("a", ("m", {"items": [1, 2, 3], **given}))
    expected = f"stage 'm', of which some items are done, {sentence}"
    assert expected in refused(tmp_path, song, **options)
    assert song.resume(tmp_path, accept_changed=True, **options) == ["m:3"]
    assert song.resume(tmp_path) == []


def test_items_of_a_stage_that_is_mapped_no_more_are_not_silently_lost(tmp_path: Path) -> None:
    half_done(tmp_path)
    song = Song("a", "m")
    assert "of which some items are done, is no mapped stage now" in refused(tmp_path, song)
    assert "'m' is recorded, and not" in refused(tmp_path, Song("a", "other"))
    broken = Song("a")
    broken.pipeline.stage(name="m")(lambda context: fail())
    for options in ({"accept_changed": True}, {}):  # accepted once, it is not refused again
        with pytest.raises(StageFailedError):
            broken.resume(tmp_path, **options)
    assert song.resume(tmp_path) == ["m"]
    assert song.resume(tmp_path) == []


def test_a_mapped_stage_that_is_done_notices_other_items(tmp_path: Path) -> None:
    Song(("m", {"items": [1, 2]}), "end").resume(tmp_path)
    for items in ([1, 2, 3], [1], [2, 1], [1, 2.0]):
        song = Song(("m", {"items": items}), "end")
        assert "stage 'm' was done with other items" in refused(tmp_path, song)
    assert Song(("m", {"items": [1, 2]}), "end").resume(tmp_path) == []
    longer = Song(("m", {"items": [1, 2, 3]}), "end")
    assert longer.resume(tmp_path, accept_changed=True) == []
    assert longer.resume(tmp_path) == []
    assert longer.resume(tmp_path, rerun_from="m") == ["m:1", "m:2", "m:3", "end"]


def test_items_made_by_a_function_follow_from_its_inputs(tmp_path: Path) -> None:
    Song("a", ("m", {"items": lambda context: [1, 2]})).resume(tmp_path)
    assert Song("a", ("m", {"items": lambda context: [1, 2, 3]})).resume(tmp_path) == []
