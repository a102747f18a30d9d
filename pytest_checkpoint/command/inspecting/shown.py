"""A look, for people and for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from checkpoint_contracts.evidence import Execution
from checkpoint_contracts.wording import ending
from pytest_checkpoint.command.inspecting.fates import LOST, Changed, Fate
from pytest_checkpoint.command.inspecting.report import Report, last_line, verdict
from pytest_checkpoint.command.inspecting.signs import listed
from pytest_checkpoint.command.inspecting.sizes import duration, files, size
from pytest_checkpoint.tree.image import printable

_SHOWN: Final = 6
"""So many names of a group are shown."""


def as_text(report: Report) -> str:
    """The verdict first."""
    _, sentence = verdict(report)
    parts = (
        ("as it lies there", _before(report)),
        ("the resume", _resume(report)),
        ("what would be lost or overwritten", _lost(report)),
        ("what else changes", _changed(report)),
        ("what had been done", _acknowledged(report)),
        ("notes", _notes(report)),
    )
    lines = [sentence, ""]
    for heading, told in parts:
        indented = [f"    {line}" for line in told]
        lines += [heading, *indented] if indented else []
    return "\n".join(lines)


def as_json(report: Report) -> str:
    """All of it, and the verdict."""
    code, sentence = verdict(report)
    fields = {"exit_code": int(code), "verdict": sentence}
    for one in dataclasses.fields(report):
        fields[one.name] = _plain(getattr(report, one.name))
    return json.dumps(fields, indent=2)


def _plain(value: Any) -> Any:
    if isinstance(value, Execution):
        return {
            "exit_code": value.exit_code,
            "signal": value.signal,
            "timed_out": value.timed_out,
            "refusal": value.refusal,
            "problem": value.problem,
            "wall_s": round(value.wall_s, 3),
            "user_cpu_s": round(value.user_cpu_s, 3),
            "bytes_written": value.bytes_written,
            "output": value.output,
            "error_output": value.error_output,
        }
    if isinstance(value, tuple) and value and isinstance(value[0], Changed):
        return [
            {
                "path": one.shown,
                "fate": one.fate.value,
                "size_before": one.size_before,
                "size_after": one.size_after,
                "now": None if one.now is None else printable(one.now),
            }
            for one in value
        ]
    return value


def _before(report: Report) -> Iterator[str]:
    yield f"{report.directory}: {files(report.files)}, {size(report.size_bytes)}"
    where = "in the place of the directory" if report.in_place else "at a path of its own"
    touched = "something touched it meanwhile" if report.disturbed else "nothing there was touched"
    yield f"a copy was looked at, {where}; {touched}"
    yield _check(report.check_before)


def _check(check: Execution) -> str:
    unseen = check.refusal or check.problem
    if unseen:
        return f"the check was not seen through: {unseen}"
    said = check.output.strip().splitlines()[:1] or [last_line(check)]
    return f"the check {ending(check)}" + (f" and says: {said[0][:300]}" if said[0] else "")


def _resume(report: Report) -> Iterator[str]:
    resume = report.resume
    how = "was not seen through" if not resume.usable else ending(resume)
    after = "" if resume.usable and resume.timed_out else f", after {duration(resume.wall_s)}"
    yield (
        f"it {how}{after}; it used {resume.user_cpu_s:.1f} s of CPU and "
        f"wrote {size(resume.bytes_written)}"
    )
    text = resume.output.strip().splitlines()[-_SHOWN:]
    if text:
        yield "it says last:"
        yield from (f"    {line}" for line in text)
    if report.check_after is not None:
        yield f"then {_check(report.check_after)}"


def _lost(report: Report) -> Iterator[str]:
    lost = [one for one in report.changed if one.fate in LOST]
    yield from _groups(lost, report)
    if report.folders_gone:
        yield f"empty directories would be deleted: {listed(report.folders_gone)}"
    if not lost:
        yield "no file: none is deleted, cut short or rewritten"


def _changed(report: Report) -> Iterator[str]:
    yield from _groups((one for one in report.changed if one.fate not in LOST), report)
    if report.folders_made:
        yield f"empty directories would be new: {listed(report.folders_made)}"
    if report.made_outside:
        yield f"made outside of it, and still there: {listed(report.made_outside)}"


def _groups(changed: Iterable[Changed], report: Report) -> Iterator[str]:
    """By directory and fate, names and sizes."""
    order = [*Fate]
    ordered = sorted(changed, key=lambda one: (one.folder, order.index(one.fate), one.path))
    for (folder, fate), group in groupby(ordered, key=lambda one: (one.folder, one.fate)):
        members = [*group]
        yield _headline(folder, fate, len(members), report)
        yield from (f"    {_line(one)}" for one in members[:_SHOWN])
        if len(members) > _SHOWN:
            rest = sum(one.size_before or one.size_after or 0 for one in members[_SHOWN:])
            yield f"    and {len(members) - _SHOWN} more, {size(rest)}"


def _headline(folder: str, fate: Fate, count: int, report: Report) -> str:
    where = f"under {folder}/" if folder else "at the top"
    if fate is Fate.NEW:
        return f"{files(count)} {where} would be new"
    return f"{count} of {files(report.siblings[folder])} {where} would be {fate}"


def _line(one: Changed) -> str:
    before, after = one.size_before, one.size_after
    if one.now is not None:
        return f"{one.shown} → {printable(one.now)}  {size(before or 0)}"
    if before is None or after is None or before == after:
        return f"{one.shown}  {size(before if before is not None else after or 0)}"
    return f"{one.shown}  {size(before)}, then {size(after)}"


def _acknowledged(report: Report) -> Iterator[str]:
    if report.acknowledged is None:
        yield "not known: --events FILE names the file with the job's start and done lines"
        return
    if not report.acknowledged:
        yield "nothing: there are no done lines"
        return
    yield f"{len(report.acknowledged)} done: {listed(report.acknowledged)}"
    if report.again:
        yield f"would run again: {listed(report.again)}"
    elif not report.lines_written:
        yield (
            "not known whether it would run again: the resume wrote no line to $CHECKPOINT_EVENTS"
        )
    elif report.resume.succeeded:
        yield "none of it would run again"


def _notes(report: Report) -> Iterator[str]:
    yield from report.notes
    if report.signals:
        yield f"it tried to signal processes that are not its own: {listed(report.signals)}"
    if report.disturbed:
        yield f"something changed the directory meanwhile: {listed(report.disturbed)}"
    if report.kept is not None:
        yield f"the copy, as the commands left it, is kept: {report.kept}"
