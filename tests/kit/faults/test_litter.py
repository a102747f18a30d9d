"""Names that lie in the workspace and that a finished job does not have; where to kill it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pytest_checkpoint.phases.faults.litter import Litter
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.subject import Subject
from tests.kit.power_loss.programs import Program, image


def litter(program: Program, *, ephemeral: tuple[str, ...] = ()) -> Litter:
    command = ("job", "{workspace}")
    subject = Subject(
        name="job",
        run=command,
        resume=command,
        check=command,
        ephemeral=ephemeral,
        working_directory=Path(),
    )
    source = StateSource(
        Recording("/slot", program.start, b"", tuple(program.operations)), Model.LINUX
    )
    bench: Any = SimpleNamespace(subject=subject)
    return Litter(bench, cast("Any", None), source)


def saved(count: int = 1) -> Program:
    program = Program()
    for number in range(1, count + 1):
        program.create("state.json.tmp")
        program.write("state.json.tmp", b"%d" % number)
        program.rename("state.json.tmp", "state.json")
        program.create(f"part-{number}")
    return program


def test_what_a_finished_job_has_is_no_litter() -> None:
    names = litter(saved(2)).leftovers
    assert names(image({"state.json": b"", "part-1": b"", "part-2": b""})) == ()
    assert names(image({"state.json": b"", "state.json.tmp": b""})) == ("state.json.tmp",)


def test_names_that_differ_in_a_number_are_alike_as_many_as_there_are_in_the_end() -> None:
    names = litter(saved(2)).leftovers
    assert names(image({"part-7": b"", "part-8": b""})) == ()
    assert names(image({"part-7": b"", "part-8": b"", "part-9": b""})) == ("part-9",)


def test_each_random_name_counts() -> None:
    names = litter(saved()).leftovers
    left = {".state.json.x8k2l1qz": b"", ".state.json.a1b2c3d4": b"", "state.json": b""}
    assert len(names(image(left))) == 2


def test_what_lies_in_a_folder_counts_and_so_does_the_folder() -> None:
    assert len(litter(saved()).leftovers(image({"tmp/": b"", "tmp/a": b"", "tmp/b": b""}))) == 3


def test_what_is_ephemeral_does_not_count() -> None:
    names = litter(saved(), ephemeral=("*.tmp", "logs/**")).leftovers
    assert names(image({"a.tmp": b"", "logs/": b"", "logs/1": b"", "other": b""}))[-1:] == (
        "other",
    )
    assert "a.tmp" not in names(image({"a.tmp": b""}))


def test_it_is_killed_first_where_most_lies_one_place_of_a_kind() -> None:
    found = litter(saved(3))
    assert found.leaves_something()
    planned, total = found.planned(exhaustive=False)
    assert total == 12
    first = [one.point.id for one in planned]
    assert first[:2] == ["1.crash-loop", "2.crash-loop"]
    assert len(first) == 3  # and one more place, in case a resume leaves what the run does not
    assert planned[0].point.operation == (
        "killed 5 times in a row after step 1 (create state.json.tmp)"
    )
    every, _ = found.planned(exhaustive=True)
    assert sorted(one.point.step for one in every) == list(range(1, 13))
    assert found.find(2, "crash-loop") == planned[1]
    assert found.find(13, "crash-loop") is None
    assert found.find(2, "kill") is None


def test_a_run_that_leaves_nothing_on_its_way_is_killed_all_the_same() -> None:
    program = Program()
    program.create("state")
    program.write("state", b"x")
    found = litter(program)
    assert not found.leaves_something()
    planned, _ = found.planned(exhaustive=False)
    assert sorted(one.point.step for one in planned) == [1, 2]
