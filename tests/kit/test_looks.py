"""Outputs after a resume, held against what two undisturbed runs have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import Handoff, OtherRun
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases import looks
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.looks import Looks, other_run, outputs_stamped
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.image import Image, Node, Symlink
from tests.contracts.builders import EVENTS, killed, ran, tried, undisturbed
from tests.kit.test_changes import file, tree

AGAIN = tried(killed(7), events_before=EVENTS[:3], events_after=EVENTS[2:])
"""Killed within a stage that ran again."""
ALIKE = OtherRun(events=EVENTS)
END: dict[bytes, Node] = {b"out": file(b"eight by"), b"out2": file(b"x"), b"log": file(b"1")}


def subject(**fields: Any) -> Subject:
    command = ("true", "{workspace}")
    return Subject(
        name="etl",
        run=command,
        resume=command,
        check=command,
        working_directory=Path(),
        **{"outputs": ("out*",), **fields},
    )


@dataclass
class Slot:
    """In place of a bench: a slot that holds this now."""

    now: Image
    subject: Subject = field(default_factory=subject)
    options: Options = field(default_factory=lambda: Options(rootdir=Path()))

    def look(self) -> Image:
        return self.now


def test_a_handoff_command_has_the_time_of_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it takes undisturbed has nothing to do with the resume or the check."""
    given: list[float] = []

    def read(bench: object, stages: object, deadline_s: float) -> Handoff:
        given.append(deadline_s)
        return Handoff()

    monkeypatch.setattr(looks, "read_handoff", read)
    bench = cast("Bench", Slot(tree({}), subject(handoff=PurePosixPath("handoff.json"))))
    look = Looks(bench, undisturbed(other_run=ALIKE), State(tree(END), b""))
    look.handoff(killed(7), State(tree({}), b""), Deadlines(resume_s=1.0, check_s=20.0))
    assert given == [120.0]


def changed(
    now: Mapping[bytes, Node],
    crash: Mapping[bytes, Node] | None = None,
    other: OtherRun | None = ALIKE,
    **fields: Any,
) -> list[str] | None:
    """The outputs that differ, with how."""
    bench = cast("Bench", Slot(tree(now), **fields))
    look = Looks(bench, undisturbed(other_run=other), State(tree(END), b""))
    seen = look.output_changes(AGAIN, State(tree(crash or {}), b""))
    return None if seen is None else [f"{one.path}: {one.change}" for one in seen]


def test_all_as_it_was() -> None:
    assert changed({**END, b"log": file(b"2"), b"more": file(b"")}) == []


@pytest.mark.parametrize(
    ("now", "text"),
    [
        ({b"out": file(b"eight by eight")}, "out: 8 bytes before, 14 after, differs from byte 8"),
        ({b"out": file(b"eight bY")}, "out: 8 bytes, differs from byte 7 on"),
        ({b"out": file(b"eight by", 0o600)}, "out: mode 0644 before, 0600 after"),
        ({b"out3": file(b"")}, "out3: a file of 0 bytes that was not there before"),
        (
            {b"out": Symlink(mode=0o777, target=b"x")},
            "out: a file of 8 bytes before, a symbolic link after",
        ),
    ],
)
def test_what_differs(now: dict[bytes, Node], text: str) -> None:
    (change,) = changed({**END, **now}) or []
    assert change.startswith(text)


@pytest.mark.parametrize(
    ("now", "same_size"),
    [
        (file(b"eight bY"), True),
        (file(b"longer by far"), False),
        (Symlink(mode=0, target=b""), False),
    ],
)
def test_whether_it_is_as_long_as_it_was(now: Node, same_size: bool) -> None:
    bench = cast("Bench", Slot(tree({**END, b"out": now})))
    look = Looks(bench, undisturbed(other_run=ALIKE), State(tree(END), b""))
    changes = look.output_changes(AGAIN, State(tree({}), b"")) or ()
    assert [(change.path, change.same_size) for change in changes] == [("out", same_size)]
    assert all(change.digest for change in changes)


def test_what_is_gone() -> None:
    assert changed({b"out": END[b"out"]}) == ["out2: a file of 1 bytes before, gone after"]


def test_what_the_crash_left_under_another_name_is_litter() -> None:
    now = {**END, b"out.tmp": file(b"half")}
    assert changed(now, crash={b"out.tmp": file(b"half")}) == []
    assert changed(now) != []


def test_ephemeral_files_are_left_out() -> None:
    now = {**END, b"out": file(b"other")}
    assert changed(now, subject=subject(ephemeral=("out",))) == []


def test_what_two_undisturbed_runs_do_not_agree_in_is_left_out() -> None:
    now = {**END, b"out": file(b"other"), b"out3": file(b"")}
    varying = OtherRun(events=EVENTS, varying_outputs=("out",))
    assert changed(now, other=varying) == ["out3: a file of 0 bytes that was not there before"]
    names = OtherRun(events=EVENTS, varying_names=("out", "out9"))
    assert changed(now, other=names) == []


def test_nobody_looks_where_nothing_can_be_compared() -> None:
    now = {b"out": file(b"other")}
    assert changed(now, other=None) is None
    assert changed(now, subject=subject(outputs=())) is None
    few = Options(rootdir=Path(), contracts=frozenset({"resume-keeps-work"}))
    assert changed(now, options=few) is None


def test_a_resume_that_failed_is_not_looked_at() -> None:
    bench = cast("Bench", Slot(tree({})))
    look = Looks(bench, undisturbed(other_run=OtherRun(events=EVENTS)), State(tree(END), b""))
    failed = tried(killed(7), ran(1), events_before=EVENTS[:3], events_after=EVENTS[2:])
    assert look.output_changes(failed, State(tree({}), b"")) is None


def test_two_undisturbed_runs_are_held_against_each_other() -> None:
    first = {
        **END,
        b"out": file(b"eight by", 0o600),
        b"out2": file(b"y"),
        b"out-a": file(b""),
        b"log": file(b"2"),
    }
    second = {**END, b"out-b": file(b"")}
    bench = cast("Bench", Slot(tree({})))

    seen = other_run(bench, EVENTS, outputs_stamped(bench, tree(first)), tree(second))

    assert seen == OtherRun(
        events=EVENTS, varying_outputs=("out", "out2"), varying_names=("out-a", "out-b")
    )
