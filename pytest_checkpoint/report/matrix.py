"""The matrix at the end: subject × contract, what was explored, and what is worth a note.

A row is plain data, because under xdist it is made in a worker and shown by the controller.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkpoint_contracts.evidence import Evidence
from checkpoint_contracts.verdict import Outcome, Verdict
from pytest_checkpoint.examination import Examination
from pytest_checkpoint.report.outcome import Shown

CoverageRow = tuple[str, int, int, int]
"""Fault, states derived, unique, explored; or what was tried, the same of trials."""
TRIAL = "trial: "
"""Begins the name of what is no fault of crash states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One item's part of the matrix."""

    subject: str
    contract: str
    shown: str
    """A word of :class:`Shown`."""
    reason: str
    faults_failed: tuple[str, ...]
    states_explored: int
    states_total: int
    examined: bool
    """False: the kit or the machine could not examine the subject; the rest is empty then."""
    operations: int = 0
    elapsed_s: float = 0.0
    coverage: tuple[CoverageRow, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Row:
        return cls(
            **{
                **value,
                "faults_failed": tuple(value["faults_failed"]),
                "coverage": tuple((fault, d, u, e) for fault, d, u, e in value["coverage"]),
                "notes": tuple(value["notes"]),
            }
        )


def row_of(subject: str, verdict: Verdict, shown: Shown, examination: Examination | None) -> Row:
    """``examination`` None: the subject could not be examined at all."""
    row = Row(
        subject=subject,
        contract=verdict.contract,
        shown=str(shown),
        reason=verdict.reason,
        faults_failed=verdict.faults_failed,
        states_explored=verdict.states_explored,
        states_total=verdict.states_total,
        examined=examination is not None,
    )
    if examination is None:
        return row
    # A failed contract's own notes stand in its failure text.
    own = () if verdict.outcome is Outcome.FAILED else verdict.notes
    return dataclasses.replace(
        row,
        operations=examination.operations,
        elapsed_s=examination.elapsed_s,
        coverage=tuple(
            (str(fault), seen.derived, seen.unique, seen.explored)
            for fault, seen in sorted(examination.evidence.coverage.items())
        )
        + _trials(examination.evidence),
        notes=(*examination.notes, *(f"{verdict.contract}: {note}" for note in own)),
    )


def _trials(evidence: Evidence) -> tuple[CoverageRow, ...]:
    return tuple(
        (TRIAL + kind, seen.derived, seen.unique, seen.explored)
        for kind, seen in evidence.trial_coverage.items()
    )


def render_matrix(rows: Sequence[Row], *, width: int, colour: bool) -> str:
    """The tables and notes as text, ``width`` columns wide; rows of one subject together.

    Names of contracts and faults, verdicts and figures are never broken, and lines are longer
    than that where they need it: names of subjects, if they are long, are what gives way.
    """
    from rich.console import Console
    from rich.measure import Measurement

    order = list(dict.fromkeys(row.subject for row in rows))
    rows = sorted(rows, key=lambda row: order.index(row.subject))
    text = io.StringIO()
    console = Console(
        file=text,
        width=_WIDEST,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for table in (_verdicts, _exploration):
        others = Measurement.get(console, console.options, table(rows, 1)).maximum - 1
        console.print(table(rows, max(_SUBJECT_WHOLE, width - others)))
    for line in _footnotes(rows):
        console.print(line, soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


_WIDEST = 10_000
_SUBJECT_WHOLE = 24
"""Columns: so much of a subject's name is not broken either."""
_STYLE = {
    Shown.PASSED: "green",
    Shown.FAILED: "bold red",
    Shown.EXPECTED: "yellow",
    Shown.UNEXPECTED: "bold red",
    Shown.NOT_APPLICABLE: "dim",
    Shown.INCONCLUSIVE: "bold yellow",
}


def _verdicts(rows: Sequence[Row], subject_most: int) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("subject", overflow="fold", max_width=subject_most)
    table.add_column("contract", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("states", justify="right", no_wrap=True)
    last = None
    for row in rows:
        table.add_row(
            Text(row.subject if row.subject != last else ""),
            Text(row.contract),
            Text(_verdict(row), style=_STYLE[Shown(row.shown)]),
            f"{row.states_explored}/{row.states_total}" if row.states_total else "-",
        )
        last = row.subject
    return table


def _verdict(row: Row) -> str:
    if row.shown == Shown.FAILED and row.faults_failed:
        return f"{row.shown} ({', '.join(row.faults_failed)})"
    if row.shown == Shown.PASSED and row.reason:
        return f"{row.shown}, {row.reason}"
    return row.shown


def _exploration(rows: Sequence[Row], subject_most: int) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("\nsubject", overflow="fold", max_width=subject_most)
    for heading in ("operations", "fault", "derived", "unique", "explored", "time"):
        table.add_column(
            f"\n{heading}", justify="left" if heading == "fault" else "right", no_wrap=True
        )
    for row in _one_per_subject(rows):
        name, operations, elapsed = row.subject, str(row.operations), f"{row.elapsed_s:.1f} s"
        for fault, derived, unique, explored in row.coverage or (("-", 0, 0, 0),):
            numbers = (str(derived), str(unique), str(explored))
            table.add_row(Text(name), operations, fault, *numbers, elapsed)
            name = operations = elapsed = ""
    return table


def _footnotes(rows: Sequence[Row]) -> Iterator[str]:
    yield ""
    for shown in (Shown.NOT_APPLICABLE, Shown.INCONCLUSIVE):
        for (contracts, reason), subjects in _grouped(rows, shown).items():
            yield f"{str(shown).lower()}: {contracts} ({', '.join(subjects)}): {reason}"
        if shown is Shown.NOT_APPLICABLE and any(row.shown == shown for row in rows):
            yield "what a contract needs, and how to tell it: checkpoint-contracts explain CONTRACT"
    seen: set[tuple[str, str]] = set()
    for row in rows:
        for note in row.notes:
            if (row.subject, note) not in seen:
                seen.add((row.subject, note))
                yield f"note: {row.subject}: {note}"
    examined = _one_per_subject(rows)
    entries = [entry for row in examined for entry in row.coverage]
    explored = sum(entry[3] for entry in entries if not entry[0].startswith(TRIAL))
    tried = sum(entry[3] for entry in entries if entry[0].startswith(TRIAL))
    operations = sum(row.operations for row in examined)
    yield (
        f"{_counted(len(examined), 'subject')}, {_counted(operations, 'operation')}, "
        f"{_counted(explored, 'unique crash state')} explored"
        + (f", {_counted(tried, 'trial')} made" if tried else "")
    )


def _grouped(rows: Sequence[Row], shown: Shown) -> dict[tuple[str, str], list[str]]:
    """(contracts, reason) → subjects: a reason is said once for all that share it."""
    contracts: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.shown == shown:
            contracts.setdefault((row.subject, row.reason), []).append(row.contract)
    grouped: dict[tuple[str, str], list[str]] = {}
    for (subject, reason), names in contracts.items():
        grouped.setdefault((", ".join(names), reason), []).append(subject)
    return grouped


def _one_per_subject(rows: Iterable[Row]) -> list[Row]:
    return list({row.subject: row for row in rows if row.examined}.values())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
