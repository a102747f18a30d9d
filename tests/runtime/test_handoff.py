"""The handoff: at every moment exactly what is committed, for programs and for people."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    CommitError,
    Context,
    Pipeline,
    PoisonedStageError,
    StageFailedError,
)
from checkpoint_runtime import handoff as handoff_module
from tests.runtime.disk import Crash, Disk, on
from tests.runtime.support import RESULT, Ran, fail, files_in, film, records_of, told_by_handoff


def head(workspace: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((workspace / "handoff.json").read_bytes())
    return found


def markdown(workspace: Path) -> str:
    return (workspace / "handoff.md").read_text()


def long(count: int, stop_at: int | None = None) -> Pipeline:
    """So many stages, of which one fails."""
    pipeline = Pipeline("film")
    for number in range(count):

        def work(context: Context, number: int = number) -> int:
            if number == stop_at:
                fail()
            return number

        pipeline.stage(name=f"s{number}")(work)
    return pipeline


def committed(workspace: Path) -> list[str]:
    """The names of what the log says is done."""
    names = []
    for record in records_of(workspace):
        if "done" in record:
            names.append(str(record["done"]))
        elif "item" in record:
            names.append(f"{record['item']}[{record['index']}]")
    return names


def test_it_says_what_was_produced_where_it_lies_and_that_nothing_is_left(tmp_path: Path) -> None:
    film().run(tmp_path)
    found = head(tmp_path)
    assert (found["pipeline"], found["next"], found["failed"]) == ("film", [], [])
    assert [entry["name"] for entry in found["done"]] == list(RESULT)
    first = found["done"][0]
    assert {key: first[key] for key in ("produced", "size_bytes", "where")} == {
        "produced": '{"frames": 42}',
        "size_bytes": 14,
        "where": ["state.log:3"],
    }
    number = int(first["where"][0].partition(":")[2])
    assert records_of(tmp_path)[number - 1]["digest"] == first["digest"]
    assert markdown(tmp_path).splitlines() == [
        "# `film`",
        "",
        "**Everything is done.**",
        "",
        "| done | produced | where |",
        "| --- | --- | --- |",
        '| `research` | `{"frames": 42}` | state.log:3 |',
        '| `render` | `["f0", "f1"]` | state.log:4 |',
        "| `assemble` | `42` | state.log:5 |",
    ]


def test_it_says_what_failed_and_why_and_what_is_next(tmp_path: Path) -> None:
    with pytest.raises(StageFailedError):
        film(render=fail).run(tmp_path)
    found = head(tmp_path)
    assert found["next"] == ["render"]
    (failed,) = found["failed"]
    assert failed.pop("at").startswith("20")
    where = failed.pop("where")
    assert re.fullmatch(r"tests/runtime/support.py:\d+ in fail", where)
    assert failed == {
        "name": "render", "state": "failed", "why": "RuntimeError: out of paint", "item": None,
        "attempts": 1, "budget": 10, "remedy": "pipeline.resume(workspace)",
    }  # fmt: skip
    assert f"attempt 1 of 10): `RuntimeError: out of paint ({where})`" in markdown(tmp_path)
    assert "**Next:** `render`" in markdown(tmp_path)
    film().resume(tmp_path)
    assert head(tmp_path)["failed"] == []


def stuck_film() -> Pipeline:
    pipeline = Pipeline("film")

    def work(context: Context, item: int) -> int:
        if item == 2:
            fail()
        return item

    pipeline.map(work, [1, 2], name="work", attempts=1)
    pipeline.stage(name="after")(lambda context: None)
    pipeline.stage(name="apart", after=[])(lambda context: None)
    return pipeline


def test_a_stage_that_is_stuck_is_told_with_its_remedy_and_is_not_next(tmp_path: Path) -> None:
    with pytest.raises(StageFailedError):
        stuck_film().run(tmp_path)
    found = head(tmp_path)
    (failed,) = found["failed"]
    assert (found["next"], found["begun"]) == (["apart"], [])
    assert {key: failed[key] for key in ("name", "state", "item", "attempts", "budget")} == {
        "name": "work", "state": "poisoned", "item": "work[1]", "attempts": 1, "budget": 1,
    }  # fmt: skip
    assert failed["remedy"] == "pipeline.rerun(workspace, 'work')"
    assert failed["where"].endswith(" in fail")
    words = markdown(tmp_path)
    assert "**`work` is stuck** (" in words
    assert "attempt 1 of 1): `work[1]: RuntimeError: out of paint (" in words
    assert "Once the cause is gone: `pipeline.rerun(workspace, 'work')`" in words
    assert "**Next:** `apart` (with --keep-going)" in words
    before = files_in(tmp_path)
    with pytest.raises(PoisonedStageError):
        stuck_film().resume(tmp_path)
    assert files_in(tmp_path) == before


def test_a_stage_that_died_is_told_with_its_attempts_and_is_stuck_once_they_are_used_up(
    tmp_path: Path,
) -> None:
    def dying(die: int, seen: list[Any]) -> Pipeline:
        pipeline = Pipeline("film")

        def work(context: Context, item: int) -> int:
            found = head(tmp_path)
            seen.append((found["begun"], found["next"], found["failed"]))
            if item == die:
                raise Crash
            return item

        pipeline.stage(name="first")(lambda context: None)
        pipeline.map(work, [1, 2], name="work", attempts=2)
        return pipeline

    def begun(attempts: int) -> Any:
        return [{"name": "work", "attempts": attempts, "budget": 2}], ["work"], []

    seen: list[Any] = []
    with pytest.raises(Crash):
        dying(2, seen).run(tmp_path)
    with pytest.raises(Crash):
        dying(2, seen).resume(tmp_path)
    # The last attempt is under way: it is not stuck yet.
    assert seen == [begun(1), begun(1), begun(2)]
    assert "**`work` was begun** (attempt 2 of 2): it is running, or its process" in markdown(
        tmp_path
    )
    with pytest.raises(PoisonedStageError):
        dying(0, seen).resume(tmp_path)
    (failed,) = head(tmp_path)["failed"]
    assert (failed["state"], failed["why"][:15]) == ("poisoned", "it never raised")
    assert (head(tmp_path)["next"], head(tmp_path)["begun"]) == ([], [])


def test_one_written_during_the_last_attempt_is_made_again_once_that_has_died(
    tmp_path: Path,
) -> None:
    """An item was committed, so the log has not grown since: but nobody is at work any more."""

    def work(context: Context, item: int) -> int:
        if item == 2:
            raise Crash
        return item

    pipeline = Pipeline("film")
    pipeline.map(work, [1, 2], name="work", attempts=1)
    with pytest.raises(Crash):
        pipeline.run(tmp_path)
    assert (head(tmp_path)["next"], head(tmp_path)["failed"]) == (["work"], [])
    with pytest.raises(PoisonedStageError, match="was begun once and never finished"):
        pipeline.resume(tmp_path)
    assert head(tmp_path)["next"] == []
    assert head(tmp_path)["failed"][0]["name"] == "work"


def test_large_values_lie_in_side_files_and_their_sizes_count(tmp_path: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.stage(name="large")(lambda context: b"x" * 300_000)
    pipeline.map(lambda context, item: item, ["ä" * 1000, "b"], name="items", after=[])
    pipeline.run(tmp_path)
    large, first, second, items = head(tmp_path)["done"]
    (path,) = large["where"]
    assert (tmp_path / path).stat().st_size == 300_000
    assert 300_000 < large["size_bytes"] < 300_200
    assert (first["size_bytes"], second["size_bytes"]) == (2002, 3)
    assert first["produced"] == '"' + "ä" * 159 + "…"
    assert (items["produced"], items["size_bytes"]) == ("2 items", 2005)


ODD = {
    "pipes": ("a|b", {"x|y": "|"}, r"| `a\|b` | `{\"x\|y\": \"\|\"}` |"),
    "backticks": ("a`b", "`` ` ``", '| ``a`b`` | ```"`` ` ``"``` |'),
    "edges": ("`", "x", '| `` ` `` | `"x"` |'),
    "newlines": ("n", "two\nlines\u2028\x85", '| `n` | `"two\\nlines'),
    "markup": ("*a* <b>", "**b**", '| `*a* <b>` | `"**b**"` |'),
    "surrogate": ("s", "\udc80", "| `s` |"),
}


@pytest.mark.parametrize(("name", "value", "row"), ODD.values(), ids=list(ODD))
def test_odd_names_and_values_stay_in_their_cells(
    tmp_path: Path, name: str, value: Any, row: str
) -> None:
    pipeline = Pipeline(name)
    pipeline.stage(name=name)(lambda context: value)
    pipeline.run(tmp_path)
    (line,) = [line for line in markdown(tmp_path).split("\n") if "state.log" in line]
    assert line.startswith(row.replace(r"\"", '"'))
    assert head(tmp_path)["done"][0]["name"] == name
    assert told_by_handoff(tmp_path) == [name]


def test_an_odd_error_stays_on_its_line(tmp_path: Path) -> None:
    def odd() -> None:
        raise RuntimeError("a\n\n# not a `heading`\n| x |")

    with pytest.raises(StageFailedError):
        film(research=odd).run(tmp_path)
    assert "``RuntimeError: a # not a `heading` | x | (" in markdown(tmp_path)
    assert [line for line in markdown(tmp_path).splitlines() if line.startswith("#")] == [
        "# `film`"
    ]


@pytest.mark.parametrize("count", [1, 16, 17, 33, 50])
def test_more_than_a_page_is_a_chain_of_pages_and_the_head_stays_short(
    tmp_path: Path, count: int
) -> None:
    long(count).run(tmp_path)
    assert told_by_handoff(tmp_path) == [f"s{number}" for number in range(count)]
    assert len(head(tmp_path)["done"]) <= 16
    pages = sorted(os.listdir(tmp_path / "handoff")) if count > 16 else []
    assert pages == [f"{number:04}.json" for number in range(1, (count - 1) // 16 + 1)]
    if pages:
        assert f"Before these: handoff/{pages[-1]}, and those it names." in markdown(tmp_path)


def test_a_run_that_goes_on_goes_on_with_the_pages_that_are_there(tmp_path: Path) -> None:
    for stop in (10, 16, 17, 40, None):
        try:
            long(50, stop).resume(tmp_path)
        except StageFailedError:
            assert stop is not None
        assert told_by_handoff(tmp_path) == [f"s{number}" for number in range(stop or 50)]


def test_resuming_a_finished_job_changes_no_file(tmp_path: Path) -> None:
    long(20).run(tmp_path)
    before = files_in(tmp_path)
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with on(Disk()) as disk:
        long(20).resume(tmp_path)
    assert files_in(tmp_path) == before
    lock = tmp_path / "lock"  # in which it says who is at work, as long as somebody is
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert {**after, lock: 0} == {**stamps, lock: 0}
    of_the_lock = Counter(open=1, pwrite=1, ftruncate=1)
    # The unlinked are spare files that are not there.
    assert (disk.calls - of_the_lock).keys() == {"open", "fsync", "unlink"}


Damage = Callable[[Path], object]
DAMAGES: dict[str, Damage] = {
    "gone": lambda workspace: (workspace / "handoff.json").unlink(),
    "empty": lambda workspace: (workspace / "handoff.json").write_bytes(b""),
    "garbage": lambda workspace: (workspace / "handoff.json").write_bytes(b"\xff{"),
    "deep": lambda workspace: (workspace / "handoff.json").write_bytes(b"[" * 100_000),
    "a list": lambda workspace: (workspace / "handoff.json").write_bytes(b"[1]"),
    "no page": lambda workspace: (workspace / "handoff.json").write_bytes(b'{"page": Infinity}'),
    "no markdown": lambda workspace: (workspace / "handoff.md").unlink(),
    "no pages": lambda workspace: (workspace / "handoff" / "0001.json").unlink(),
    "stale": lambda workspace: (workspace / "handoff.json").write_text(
        (workspace / "handoff.json").read_text().replace('"line": ', '"line": 1')
    ),
    "page": lambda workspace: (workspace / "handoff.json").write_text(
        (workspace / "handoff.json").read_text().replace('"page": 1', '"page": -1')
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_one_is_made_again_from_the_log(tmp_path: Path, damage: Damage) -> None:
    long(20).run(tmp_path)
    before = files_in(tmp_path)
    damage(tmp_path)
    assert files_in(tmp_path) != before
    assert long(20).resume(tmp_path)["s19"] == 19
    assert files_in(tmp_path) == before


def test_after_a_reboot_nothing_of_it_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long(20).run(tmp_path)
    page = tmp_path / "handoff" / "0001.json"
    whole = page.read_bytes()
    page.write_bytes(bytes(len(whole)))  # as a power loss can leave what was never synced
    monkeypatch.setattr(handoff_module, "boot_id", lambda: "another start of the system")
    long(20).resume(tmp_path)
    assert page.read_bytes() == whole


def test_a_rerun_takes_back_what_is_done_no_more(tmp_path: Path) -> None:
    long(40).run(tmp_path)
    with pytest.raises(StageFailedError):
        long(40, stop_at=10).resume(tmp_path, rerun_from="s3")
    assert told_by_handoff(tmp_path) == [f"s{number}" for number in range(10)]
    assert not os.listdir(tmp_path / "handoff")
    long(40).resume(tmp_path)
    assert told_by_handoff(tmp_path) == [f"s{number}" for number in range(40)]


@pytest.mark.usefixtures("no_syncs")
def test_at_every_kill_it_names_all_that_is_acknowledged_and_nothing_uncommitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = tmp_path / "events"
    monkeypatch.setenv("CHECKPOINT_EVENTS", str(events))

    def job() -> Pipeline:
        pipeline = long(16)
        pipeline.map(lambda context, item: item, [1, 2], name="m")
        return pipeline

    with on(Disk()) as undisturbed:
        job().run(tmp_path / "undisturbed")
    # The beginning is the same for each stage; the page is turned by the last ones.
    tried = [*range(1, 40), *range(undisturbed.count - 70, undisturbed.count + 1)]
    for call in tried:
        events.unlink(missing_ok=True)
        workspace = tmp_path / f"w{call}"
        with on(Disk(crash_before=call)):
            job().run(workspace)
        said = events.read_text().splitlines() if events.exists() else []
        acknowledged = [line[5:] for line in said if line.startswith("done ")]
        if (workspace / "handoff.json").exists():
            names = told_by_handoff(workspace)
            assert set(acknowledged) <= set(names) <= set(committed(workspace)), call
            assert len(names) == len(set(names)), call
        else:
            assert acknowledged == []
        job().resume(workspace)
        assert told_by_handoff(workspace) == committed(workspace), call


def test_one_that_cannot_be_written_ends_the_run_and_what_is_done_stays_done(
    tmp_path: Path,
) -> None:
    def block() -> None:
        (tmp_path / ".handoff.md.spare").mkdir()

    with pytest.raises(CommitError, match=r"handoff.md: cannot write: Is a directory.* stays done"):
        film(render=block).run(tmp_path)
    (tmp_path / ".handoff.md.spare").rmdir()
    ran: Ran = []
    assert dict(film(ran).run(tmp_path)) == RESULT
    assert ran == ["assemble"]
