"""How a report looks: on a terminal, as plain lines, as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from checkpoint_runtime.extract.reconcile.findings import Finding, Kind, Report
from checkpoint_runtime.texts import counted, printable

_SHOWN = 20
_COLUMNS = ("what", "number", "meaning", "then")


def report_as_json(report: Report, *, applied: bool) -> str:
    """One JSON object. Sizes in bytes."""
    fields = {
        "destination": report.destination,
        "markers": report.markers,
        "deep": report.deep,
        "applied": applied,
        "counts": {kind.value: report.counts[kind] for kind in Kind},
        "to_do": [_fields(finding, report) for finding in report.to_do],
        "foreign": [_fields(finding, report) for finding in report.foreign],
    }
    return json.dumps(fields, indent=2)


def print_report(report: Report, *, applied: bool) -> None:
    """A table, with colours where stdout is a terminal and rich is installed."""
    rows = [
        (kind.value, str(report.counts[kind]), kind.meaning, kind.action)
        for kind in Kind
        if report.counts[kind] or kind is Kind.CONFIRMED
    ]
    title = f"{report.destination} against the markers in {report.markers}"
    if not (sys.stdout.isatty() and _printed_rich(title, rows)):
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        print(printable(title))  # noqa: T201 - this is what it is for
        for row in rows:
            padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
            print(f"{padded}  {row[3]}".rstrip())  # noqa: T201 - as above
    for line in _below(report, applied=applied):
        print(printable(line))  # noqa: T201 - as above


def _printed_rich(title: str, rows: list[tuple[str, str, str, str]]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*_COLUMNS, title=Text(printable(title)))
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
    return True


def _below(report: Report, *, applied: bool) -> list[str]:
    lines = [_line(finding, report) for finding in report.to_do[:_SHOWN]]
    if len(report.to_do) > _SHOWN:
        lines.append(f"and {len(report.to_do) - _SHOWN} more: --json tells all")
    if not report.to_do:
        lines.append("there is nothing to do")
    elif not applied:
        lines.append("nothing was changed: --apply does it")
    elif report.left:
        lines.append(f"{counted(len(report.left), 'thing')} had changed meanwhile: run it again")
    else:
        lines.append("all of that was done")
    return lines


def _line(finding: Finding, report: Report) -> str:
    text = f"{finding.kind.value} {finding.key}"
    if finding.marked_size is not None:
        text += f", marked with {finding.marked_size:,} bytes"
    if finding.size is not None:
        text += f", held with {finding.size:,}"
    if finding.problem is not None:
        text += f": {finding.problem}"
    left = report.left.get(finding.key)
    return text if left is None else f"{text}; left alone: {left}"


def _fields(finding: Finding, report: Report) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "key": finding.key,
        "size": finding.size,
        "marked_size": finding.marked_size,
        "problem": finding.problem,
        "ids": None if finding.marker is None else list(finding.marker.ids),
        "left": report.left.get(finding.key),
    }
