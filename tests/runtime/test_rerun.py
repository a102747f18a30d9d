"""``rerun``: what is cleared, what is kept, and what is said of it before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_runtime import (
    Context,
    DefinitionError,
    Pipeline,
    PoisonedStageError,
    StageFailedError,
    StageState,
)
from checkpoint_runtime.progress import Silent
from tests.runtime.disk import Crash
from tests.runtime.support import Ran, records_of, told_by_handoff


class Notes(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def embedding(
    ran: Ran, *broken: int, items: Callable[[Context], list[int]] | None = None
) -> Pipeline:
    """words → embed (four items, two attempts) → join; and apart from them: other."""
    pipeline = Pipeline("film")
    pipeline.stage(name="words")(lambda context: 4)

    def embed(context: Context, item: int) -> int:
        ran.append(f"embed[{item}]")
        if item in broken:
            raise RuntimeError(f"no {item}")
        return item

    pipeline.map(
        embed, items or (lambda context: list(range(context["words"]))), attempts=2, backoff_s=0
    )

    @pipeline.stage
    def join(context: Context) -> int:
        ran.append("join")
        return sum(context["embed"])

    @pipeline.stage(after=["words"])
    def other(context: Context) -> None:
        ran.append("other")

    return pipeline


def test_a_stage_that_is_stuck_gets_new_attempts_and_keeps_its_items(tmp_path: Path) -> None:
    ran: Ran = []
    with pytest.raises(StageFailedError, match=r"embed\[2\]: RuntimeError: no 2"):
        embedding(ran, 2).run(tmp_path)
    with pytest.raises(PoisonedStageError, match=r"the last error: embed\[2\]: RuntimeError: no 2"):
        embedding(ran).resume(tmp_path)
    ran.clear()
    notes = Notes()
    results = embedding(ran).rerun(tmp_path, "embed", progress=notes)
    assert results["join"] == 6
    assert ran == ["embed[2]", "embed[3]", "join", "other"]
    assert notes.said == ["clears 2 used attempts of embed, and keeps 2 items of it"]
    assert {"retry": "embed"} in records_of(tmp_path)


def test_a_stage_that_dies_each_time_gets_new_attempts_too(tmp_path: Path) -> None:
    def dying(context: Context) -> list[int]:
        raise Crash

    for _ in range(2):
        with pytest.raises(Crash):
            embedding([], items=dying).resume(tmp_path)
    with pytest.raises(PoisonedStageError, match="it never raised: the process died each time"):
        embedding([]).resume(tmp_path)
    assert embedding([]).rerun(tmp_path, "embed")["join"] == 6


def test_a_stage_that_is_done_is_cleared_with_what_is_built_on_it(tmp_path: Path) -> None:
    ran: Ran = []
    embedding(ran).run(tmp_path)
    ran.clear()
    notes = Notes()
    embedding(ran).rerun(tmp_path, "embed", progress=notes)
    assert ran == ["embed[0]", "embed[1]", "embed[2]", "embed[3]", "join"]
    assert notes.said == ["clears 2 stages (embed, join) and 4 items"]


def test_one_item_of_a_stage_that_is_done(tmp_path: Path) -> None:
    ran: Ran = []
    embedding(ran).run(tmp_path)
    ran.clear()
    notes = Notes()
    assert embedding(ran).rerun(tmp_path, "embed[3]", progress=notes)["join"] == 6
    assert ran == ["embed[3]", "join"]
    assert notes.said == ["clears 1 stage (join) and 1 item"]
    assert sorted(told_by_handoff(tmp_path)) == sorted(
        ["words", "other", "join", "embed", *(f"embed[{index}]" for index in range(4))]
    )


def test_one_item_of_a_stage_that_is_stuck(tmp_path: Path) -> None:
    """A done one is cleared as well, one that is not done is tried again."""
    for number, (target, again) in enumerate({"embed[0]": 0, "embed[2]": 2}.items()):
        ran: Ran = []
        workspace = tmp_path / str(number)
        with pytest.raises(StageFailedError):
            embedding(ran, 2).run(workspace)
        ran.clear()
        assert embedding(ran).rerun(workspace, target)["join"] == 6
        assert ran == [*([] if again else ["embed[0]"]), "embed[2]", "embed[3]", "join", "other"]


def test_a_crash_while_an_item_is_cleared_leaves_a_state_that_a_resume_takes(
    tmp_path: Path,
) -> None:
    """The log as it stands after each record of the clearing."""
    embedding([]).run(tmp_path)
    before = len(records_of(tmp_path))
    embedding([]).rerun(tmp_path, "embed[3]")
    log = (tmp_path / "state.log").read_bytes().splitlines(keepends=True)
    kinds = [next(iter(record)) for record in records_of(tmp_path)[before:]]
    assert kinds[:2] == ["cleared", "dropped"]
    for count in range(before, len(log) + 1):
        (tmp_path / "state.log").write_bytes(b"".join(log[:count]))
        assert embedding([]).resume(tmp_path)["join"] == 6


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nobody", "has no stage 'nobody'"),
        ("nobody[1]", "has no stage 'nobody'"),
        ("join[0]", "stage 'join' has no items: it is no mapped stage"),
        ("embed[4]", r"there is no item 'embed\[4\]': stage 'embed' has 4 items, counted from 0"),
    ],
)
def test_what_is_not_there_cannot_be_cleared(tmp_path: Path, target: str, sentence: str) -> None:
    ran: Ran = []
    embedding(ran).run(tmp_path)
    log = (tmp_path / "state.log").read_bytes()
    ran.clear()
    with pytest.raises(DefinitionError, match=sentence):
        embedding(ran).rerun(tmp_path, target)
    assert (ran, (tmp_path / "state.log").read_bytes()) == ([], log)


def test_where_nothing_is_recorded_nothing_is_said_to_be_cleared(tmp_path: Path) -> None:
    notes = Notes()
    assert embedding([]).rerun(tmp_path, "embed", progress=notes)["join"] == 6
    assert notes.said == []


def test_a_done_stage_says_which_items_it_has_and_status_how_many_there_will_be(
    tmp_path: Path,
) -> None:
    with pytest.raises(StageFailedError):
        embedding([], 2).run(tmp_path)
    stage = embedding([]).status(tmp_path).stages[1]
    assert (stage.state, stage.items_done, stage.items_total) == (StageState.POISONED, 2, 4)
    assert (stage.item, stage.remedy) == ("embed[2]", "pipeline.rerun(workspace, 'embed')")
    assert stage.where is not None
    assert stage.where.endswith(" in embed")
    embedding([]).rerun(tmp_path, "embed")
    assert embedding([]).status(tmp_path).stages[1].items_total == 4
