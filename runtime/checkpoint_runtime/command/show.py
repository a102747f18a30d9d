"""How a status looks: on a terminal, as plain lines, as JSON."""

from __future__ import annotations

import dataclasses
import json
import sys

from checkpoint_runtime.liveness.last_look import WorkerState, WorkerStatus
from checkpoint_runtime.status import StageState, StageStatus, Status
from checkpoint_runtime.texts import shortened, told

_MARKS = {
    StageState.DONE: "green",
    StageState.FAILED: "red",
    StageState.POISONED: "bold red",
    StageState.BEGUN: "yellow",
    StageState.PENDING: "dim",
    StageState.CHANGED: "magenta",
    StageState.DAMAGED: "bold red",
}


def status_as_json(status: Status) -> str:
    """One JSON object; the fields of :class:`~checkpoint_runtime.status.Status`."""
    fields = dataclasses.asdict(status)
    fields["workspace"] = str(status.workspace)
    fields["finished"] = status.finished
    fields["refused"] = status.refused
    return json.dumps(fields, indent=2)


def print_status(status: Status) -> None:
    """A table, with colours where stdout is a terminal and rich is installed."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            _print_plain(status)
            return
        table = Table("stage", "state", "attempts", "what", title=Text(_title(status)))
        for stage in status.stages:
            state = Text(str(stage.state), style=_MARKS[stage.state])
            # Text: what stands in brackets in a name or an error is no style.
            table.add_row(Text(stage.name), state, *map(Text, _last_columns(stage, status)))
        console = Console()
        console.print(table)
        for line in _below(status):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        return
    _print_plain(status)


def _print_plain(status: Status) -> None:
    rows = [
        (stage.name, str(stage.state), *_last_columns(stage, status)) for stage in status.stages
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)] if rows else []
    lines = [_title(status)]
    for row in rows:
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{padded}  {row[3]}".rstrip())
    lines += _below(status)
    print("\n".join(lines))  # noqa: T201 - this is what it is for


def _title(status: Status) -> str:
    if not status.begun:
        return f"{status.pipeline}: nothing has run here"
    done = status.count(StageState.DONE)
    return f"{status.pipeline}: {done} of {len(status.stages)} stages are done"


def _below(status: Status) -> list[str]:
    """What to know besides the stages, a line each."""
    lines = [_worker(worker) for worker in status.workers]
    if status.unknown:
        lines.append(f"recorded, and not in the pipeline now: {', '.join(status.unknown)}")
    if status.next:
        asked = " (with --keep-going)" if status.count(StageState.POISONED) else ""
        lines.append(f"next: {', '.join(status.next)}{asked}")
    lines += [
        f"an effect is under way, or may or may not have happened: {settle}"
        for settle in status.unsettled
    ]
    lines += [f"then: {stage.remedy}" for stage in status.stages if stage.remedy]
    if status.refused:
        lines.append("a resume refuses to go on from this, and says what to do")
    return lines


def _last_columns(stage: StageStatus, status: Status) -> tuple[str, str]:
    attempts = f"{stage.attempts}/{stage.budget}" if stage.attempts else ""
    parts = []
    if stage.items_done:
        of = "" if stage.items_total is None else f" of {stage.items_total}"
        parts.append(f"{stage.items_done}{of} items done")
    if stage.problem is not None:
        parts.append(shortened(stage.problem))
    elif stage.error is not None:
        parts.append(told(stage.error, stage.item, stage.where))
    elif stage.state is StageState.POISONED:
        parts.append("it never raised: its process died each time")
    elif stage.state is StageState.BEGUN:
        parts.append(_begun(stage, status))
    elif stage.state is StageState.DONE and stage.took_s is not None:
        parts.append(f"{stage.at}, {stage.took_s:.1f} s")
    return attempts, "; ".join(parts)


def _begun(stage: StageStatus, status: Status) -> str:
    """Whether a stage that was begun is running: by who says that it is at that."""
    found = {worker.state for worker in status.workers if worker.stage == stage.name}
    if WorkerState.RUNNING in found:
        return "it is running"
    if WorkerState.STOPPED in found:
        return "its process is stopped"
    return (
        "its process died" if found == {WorkerState.DEAD} else "it is running, or its process died"
    )


def _worker(worker: WorkerStatus) -> str:
    text = f"worker {worker.name}: {worker.state}"
    if worker.state not in (WorkerState.FINISHED, WorkerState.FAILED, WorkerState.PREEMPTED):
        text += f": {worker.why}"
        if worker.pid is not None:
            text += f" (process {worker.pid} on {worker.host})"
    if worker.done is not None and worker.state is not WorkerState.FINISHED:
        of = "" if worker.total is None else f" of {worker.total}"
        text += f"; {worker.stage}: {worker.done}{of}"
    return text
