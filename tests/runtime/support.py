"""What several tests of the runtime need: a pipeline, the names of what is done, a log by hand."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from checkpoint_runtime import Context, Pipeline
from checkpoint_runtime.progress import Silent
from checkpoint_runtime.state.lines import framed

Ran = list[str]
DEADLINE_S = 30
RESULT = {"research": {"frames": 42}, "render": ["f0", "f1"], "assemble": 42}


def film(ran: Ran | None = None, **failing: Callable[[], object]) -> Pipeline:
    """Three stages in a row, the last of which is given what the first one returned.

    :param failing: called in the stage of that name.
    """
    pipeline = Pipeline("film")

    def enter(stage: str) -> None:
        if ran is not None:
            ran.append(stage)
        if stage in failing:
            failing[stage]()

    @pipeline.stage
    def research(context: Context) -> dict[str, int]:
        enter("research")
        return {"frames": 42}

    @pipeline.stage
    def render(context: Context) -> list[str]:
        enter("render")
        assert context["research"] == {"frames": 42}
        return [f"f{number}" for number in range(2)]

    @pipeline.stage(after=["research", "render"])
    def assemble(context: Context) -> int:
        enter("assemble")
        assert context["render"] == ["f0", "f1"]
        return int(context["research"]["frames"])

    return pipeline


class Notes(Silent):
    """Keeps what is noted of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@contextmanager
def in_time(*processes: subprocess.Popen[str]) -> Iterator[None]:
    """What they have not said by the deadline they never say; in the end they are gone."""

    def end() -> None:
        for process in processes:
            process.kill()

    late = threading.Timer(DEADLINE_S, end)
    late.start()
    try:
        yield
    finally:
        late.cancel()
        end()


def fail() -> None:
    raise RuntimeError("out of paint")


def log_of(records: Iterable[Mapping[str, Any]]) -> bytes:
    """The log that these records make."""
    data, checksum = b"", 0
    for record in records:
        line, checksum = framed(json.dumps(record), checksum)
        data += line
    return data


def records_of(workspace: Path) -> list[dict[str, Any]]:
    """What the log says, but which run says it."""
    lines = (workspace / "state.log").read_text().splitlines()
    records: list[dict[str, Any]] = [json.loads(line[9:]) for line in lines]
    for record in records:
        record.pop("owner", None)
    return records


def told_by_handoff(workspace: Path) -> list[str]:
    """What ``handoff.json`` and its pages say is done, oldest first."""
    head: dict[str, Any] = json.loads((workspace / "handoff.json").read_bytes())
    names = [entry["name"] for entry in head["done"]]
    folder, page = workspace, head
    while page["pages"]:
        (name,) = page["pages"]
        folder = (folder / name).parent
        page = json.loads((folder / Path(name).name).read_bytes())
        names = [entry["name"] for entry in page["done"]] + names
    return names


def files_in(folder: Path) -> dict[str, bytes]:
    """Content by name, of everything that stands there."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"(folder)"
        for path in folder.rglob("*")
    }


def one(work: Callable[[Context], Any], **given: Any) -> Pipeline:
    """A pipeline of one stage of interest, and one after it."""
    pipeline = Pipeline("film")
    pipeline.stage(name="work", **given)(work)
    pipeline.stage(name="after")(lambda context: "ran")
    return pipeline


def failing_times(times: int, tried: list[int]) -> Callable[[Context], str]:
    def work(context: Context) -> str:
        tried.append(context.attempt)
        if len(tried) <= times:
            raise RuntimeError(f"attempt {context.attempt}")
        return "done"

    return work
