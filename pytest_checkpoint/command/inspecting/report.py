"""What was seen when the copy was resumed, and what follows from it.

Rules, in order:

1.  the resume was refused something, or could not be watched to its end → nothing can be said
2.  the resume had not ended at the deadline → nothing can be said
3.  the resume ended badly → it does not resume
4.  the check of what it left was refused something, or had not ended → nothing can be said
5.  that check failed → it does not resume
6.  what had been acknowledged was started again → it does not resume
7.  something else changed the directory meanwhile → nothing can be said
8.  it resumes
"""

from __future__ import annotations

from dataclasses import dataclass

from checkpoint_contracts.evidence import Execution
from checkpoint_contracts.wording import ending
from pytest_checkpoint.command.exit_codes import ExitCode
from pytest_checkpoint.command.inspecting.fates import LOST, Changed
from pytest_checkpoint.command.inspecting.signs import listed
from pytest_checkpoint.command.inspecting.sizes import duration, files


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    directory: str
    files: int
    """Names that lie there, directories not counted."""
    size_bytes: int
    in_place: bool
    """The copy stood in the place of the directory, under its path."""
    check_before: Execution
    """Of a copy that nothing was run on."""
    resume: Execution
    check_after: Execution | None
    """Of what the resume left; None: the resume did not end well."""
    changed: tuple[Changed, ...]
    folders_gone: tuple[str, ...]
    """Directories without files that the resume deleted."""
    folders_made: tuple[str, ...]
    """Directories that it made, and in which there are no files."""
    siblings: dict[str, int]
    """Directory in it → how many files lie directly in that."""
    acknowledged: tuple[str, ...] | None
    """Names with a done line before; None: no events file is known."""
    again: tuple[str, ...]
    """Those that the resume started all the same."""
    lines_written: int
    """How many lines the resume wrote to the events file."""
    made_outside: tuple[str, ...]
    signals: tuple[str, ...]
    """Which it tried to send to processes that are not its own."""
    disturbed: tuple[str, ...]
    """Paths in the directory itself that something changed meanwhile."""
    notes: tuple[str, ...]
    kept: str | None
    """Where the copy is, if it is kept."""


def verdict(report: Report) -> tuple[ExitCode, str]:
    """What the command exits with, and why, in a sentence."""
    resume, check = report.resume, report.check_after
    unknown = _unknown(resume, "resume")
    if unknown is not None:
        return ExitCode.INCONCLUSIVE, unknown
    if not resume.succeeded:
        return ExitCode.BAD, f"It does not resume: the resume {ending(resume)}{_last(resume)}."
    assert check is not None
    unknown = _unknown(check, "check of what the resume left")
    if unknown is not None:
        return ExitCode.INCONCLUSIVE, unknown
    if not check.succeeded:
        failed = "It does not resume: the resume exits 0, but the check of what it leaves"
        return ExitCode.BAD, f"{failed} {ending(check)}{_last(check)}."
    if report.again:
        lost = f"It loses work: {listed(report.again)} had been done, and would run again"
        return ExitCode.BAD, f"{lost}; then the check passes."
    if report.disturbed:
        what = f"something changed {report.directory} meanwhile ({listed(report.disturbed)})"
        return ExitCode.INCONCLUSIVE, f"Nothing can be said: {what}. Look when the job is dead."
    good = f"It resumes: the resume exits 0 after {duration(resume.wall_s)}, and the check passes."
    return ExitCode.GOOD, good + _overwritten(report)


def _overwritten(report: Report) -> str:
    """Where nothing says what was done, this may be all that tells a new start from a resume."""
    lost = sum(one.fate in LOST for one in report.changed)
    if not lost:
        return ""
    return f" It deletes, cuts short or rewrites {lost} of {files(report.files)}."


def _unknown(execution: Execution, what: str) -> str | None:
    """Why nothing is known of how something ends."""
    sentence = execution.refusal or execution.problem
    if sentence is not None:
        return f"Nothing can be said, since the {what} was not seen through: {sentence}."
    if execution.timed_out:
        return (
            f"Nothing can be said: the {what} had not ended after "
            f"{duration(execution.wall_s)}, and was ended; give it longer by --deadline."
        )
    return None


def _last(execution: Execution) -> str:
    said = last_line(execution)
    return f" and says last: {said}" if said else ""


def last_line(execution: Execution) -> str:
    """Of errors, else of all that it printed; empty: it said nothing."""
    text = execution.error_output.strip() or execution.output.strip()
    return text.splitlines()[-1].strip().rstrip(".")[:300] if text else ""
