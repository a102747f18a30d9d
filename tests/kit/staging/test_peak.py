"""How much lay in the staging at most, as a recording tells."""

from __future__ import annotations

from pytest_checkpoint.phases.staging.peak import peak_of
from pytest_checkpoint.record.journal import Recording
from tests.kit.power_loss.programs import Program

STAGING = b"w/staging"


def peak(program: Program) -> tuple[int, int]:
    """Bytes, and after which step."""
    recording = Recording("/slot", program.start, b"", tuple(program.operations))
    found = peak_of(recording, STAGING)
    return found.size_bytes, found.step


def staged(*sizes: int) -> Program:
    """Files, one after the other, each beside the ones before."""
    program = Program()
    program.mkdir("staging")
    for number, size in enumerate(sizes):
        program.create(f"staging/{number}")
        program.write(f"staging/{number}", b"x" * size)
    return program


def test_data_counts_and_not_blocks() -> None:
    assert peak(staged(100, 50)) == (150, 5)


def test_what_is_removed_counts_no_more() -> None:
    program = staged(100)
    program.unlink("staging/0")
    program.create("staging/b")
    program.write("staging/b", b"y" * 60)
    assert peak(program) == (100, 3)


def test_holes_take_nothing_and_what_is_set_aside_does() -> None:
    program = staged(10)
    program.truncate("staging/0", 5000)
    assert peak(program) == (10, 3)
    program.allocate("staging/0", 0, 5000)
    assert peak(program) == (5000, 5)


def test_what_is_moved_in_counts_and_what_lies_elsewhere_does_not() -> None:
    program = staged()
    program.create("other")
    program.write("other", b"z" * 70)
    assert peak(program) == (0, 0)
    program.rename("other", "staging/other")
    assert peak(program) == (70, 4)


def test_two_names_of_a_file_count_once() -> None:
    program = staged(100)
    program.link("staging/0", "staging/again")
    assert peak(program) == (100, 3)


def test_a_staging_that_is_made_anew_is_followed() -> None:
    program = staged()
    program.rename("staging", "old")
    program.mkdir("staging")
    program.create("staging/a")
    program.write("staging/a", b"x" * 30)
    assert peak(program) == (30, 5)


def test_without_a_staging_there_is_nothing() -> None:
    program = Program(state=b"x" * 100)
    assert peak(program) == (0, 0)
