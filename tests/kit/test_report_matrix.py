"""The matrix at the end: narrow, without colour, and said once."""

from __future__ import annotations

import dataclasses
import json

from pytest_checkpoint.report.matrix import Row, render_matrix
from pytest_checkpoint.report.outcome import Shown


def row(
    subject: str, contract: str, shown: Shown, *, reason: str = "", notes: tuple[str, ...] = ()
) -> Row:
    return Row(
        subject=subject,
        contract=contract,
        shown=str(shown),
        reason=reason,
        faults_failed=("kill", "torn") if shown is Shown.FAILED else (),
        states_explored=30,
        states_total=120,
        examined=True,
        operations=60,
        elapsed_s=12.34,
        coverage=(("kill", 42, 30, 30), ("torn", 500, 120, 90)),
        notes=notes,
    )


ROWS = [
    row("etl", "state-never-corrupt", Shown.FAILED, notes=("workspace under /dev/shm",)),
    row("other", "state-never-corrupt", Shown.NOT_APPLICABLE, reason="no stage"),
    row("etl", "resume-keeps-work", Shown.PASSED, reason="sampled 30/120"),
    row("etl", "resume-skips-done", Shown.NOT_APPLICABLE, reason="no stage"),
]


def test_plain_at_80_columns() -> None:
    text = render_matrix(ROWS, width=80, colour=False)

    told = "what a contract needs, and how to tell it: checkpoint-contracts explain CONTRACT"
    assert [line.split() for line in text.splitlines()] == [
        ["subject", "contract", "verdict", "states"],
        ["etl", "state-never-corrupt", "FAILED", "(kill,", "torn)", "30/120"],
        ["resume-keeps-work", "passed,", "sampled", "30/120", "30/120"],
        ["resume-skips-done", "not", "applicable", "30/120"],
        ["other", "state-never-corrupt", "not", "applicable", "30/120"],
        [],
        ["subject", "operations", "fault", "derived", "unique", "explored", "time"],
        ["etl", "60", "kill", "42", "30", "30", "12.3", "s"],
        ["torn", "500", "120", "90"],
        ["other", "60", "kill", "42", "30", "30", "12.3", "s"],
        ["torn", "500", "120", "90"],
        [],
        ["not", "applicable:", "resume-skips-done", "(etl):", "no", "stage"],
        ["not", "applicable:", "state-never-corrupt", "(other):", "no", "stage"],
        told.split(),
        ["note:", "etl:", "workspace", "under", "/dev/shm"],
        ["2", "subjects,", "120", "operations,", "240", "unique", "crash", "states", "explored"],
    ]
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


def test_colour() -> None:
    assert "\x1b[" in render_matrix(ROWS, width=80, colour=True)


def test_a_long_name_of_a_subject_folds_and_stays_whole() -> None:
    name = "a-very-long-name-" * 4
    verdicts, exploration, _ = render_matrix(
        [row(name, "r" * 30, Shown.INCONCLUSIVE)], width=80, colour=False
    ).split("\n\n", 2)

    assert max(map(len, verdicts.splitlines())) <= 80
    for table in (verdicts, exploration):
        assert "".join(line.split("  ")[0].strip() for line in table.splitlines()[1:]) == name


def test_nothing_else_is_broken_where_lines_have_to_be_longer_for_it() -> None:
    subject, contract = "extractor_at_length", "backpressure-bounds-staging"
    sampled = dataclasses.replace(
        row(subject, contract, Shown.PASSED),
        reason="sampled 373/1664",
        states_explored=373,
        states_total=1664,
        coverage=(("trial: store-signal", 1827, 1650, 175),),
        elapsed_s=1788.3,
    )
    verdicts, exploration, _ = render_matrix([sampled], width=60, colour=False).split("\n\n", 2)

    words = [subject, contract, "passed,", "sampled", "373/1664", "373/1664"]
    assert [line.split() for line in verdicts.splitlines()[1:]] == [words]
    figures = ["trial:", "store-signal", "1827", "1650", "175", "1788.3", "s"]
    lines = exploration.splitlines()
    assert [lines[-1].split()[0], *lines[-1].split()[2:]] == [subject, *figures]


def test_brackets_are_no_markup() -> None:
    text = render_matrix(
        [row("etl[red]", "c", Shown.PASSED, notes=("[bold]",))], width=80, colour=False
    )

    assert "etl[red]" in text
    assert "note: etl[red]: [bold]" in text


def test_an_unexamined_subject_counts_nothing() -> None:
    unexamined = Row(
        subject="etl",
        contract="c",
        shown=str(Shown.INCONCLUSIVE),
        reason="no seccomp here",
        faults_failed=(),
        states_explored=0,
        states_total=0,
        examined=False,
    )
    text = render_matrix([unexamined], width=80, colour=False)

    assert "inconclusive: c (etl): no seccomp here" in text
    assert "explain" not in text
    assert "0 subjects, 0 operations, 0 unique crash states explored" in text


def test_rows_survive_json() -> None:
    for one in ROWS:
        assert Row.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_trials_are_counted_apart_from_crash_states() -> None:
    tried = dataclasses.replace(
        ROWS[0], coverage=(("kill", 42, 30, 30), ("trial: raises-once", 9, 9, 8))
    )

    lines = render_matrix([tried], width=100, colour=False).splitlines()

    assert [line.split() for line in lines[-5:-3]] == [
        ["etl", "60", "kill", "42", "30", "30", "12.3", "s"],
        ["trial:", "raises-once", "9", "9", "8"],
    ]
    assert lines[-1] == "1 subject, 60 operations, 30 unique crash states explored, 8 trials made"
