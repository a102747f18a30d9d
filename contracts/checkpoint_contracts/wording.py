"""How a failure is told: where it was, what was expected, what was seen. Text only."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import Final

from checkpoint_contracts.evidence import CrashPoint, Execution, Experiment, Fault, Reference
from checkpoint_contracts.verdict import Symptom

TEXT_LIMIT: Final = 400
"""Characters of a check's or a resume's output that are shown."""
_NAMES_SHOWN: Final = 5
_LINES_SHOWN: Final = 12


def place(point: CrashPoint) -> str:
    """``killed at step 41 (rename state.json.tmp → state.json)``."""
    if point.fault in (Fault.SECOND_CRASH, Fault.DAMAGE):
        return point.operation
    lost = point.fault is Fault.POWER_LOSS
    if point.step == 0:
        return f"{'power lost' if lost else 'killed'} before the first operation"
    operation = f" ({point.operation})" if point.operation else ""
    if lost:
        return f"power lost after step {point.step}{operation}"
    if point.fault is Fault.TORN:
        return f"write cut short at step {point.step}{operation}"
    return f"killed at step {point.step}{operation}"


def ending(execution: Execution) -> str:
    """``exits 1``, ``dies by SIGSEGV``, ``had not ended after 10.0 s``."""
    if execution.timed_out:
        return f"had not ended after {execution.wall_s:.1f} s"
    if execution.signal is not None:
        try:
            return f"dies by {signal.Signals(execution.signal).name}"
        except ValueError:
            return f"dies by signal {execution.signal}"
    if execution.exit_code is None:
        return "ends without an exit code"
    return f"exits {execution.exit_code}"


def symptom_text(experiment: Experiment, symptom: Symptom, names: tuple[str, ...]) -> str:
    """The second half of a headline: ``resume exits 1``. ``names``: the stages concerned."""
    check = experiment.check
    if symptom is Symptom.CHECK_FAILED and check is not None:
        return f"resume exits 0, but the check {ending(check)}"
    if symptom is Symptom.CHECK_HANG and check is not None:
        return f"resume exits 0, but the check {ending(check)}"
    if symptom is Symptom.DIFFERENT_RESULT:
        return "resume exits 0 with another result than the undisturbed run"
    if symptom is Symptom.DONE_AGAIN:
        return f"resume runs {listed(names)} again, which had been done"
    if symptom is Symptom.SKIPPED:
        return f"resume exits 0, but never ran {listed(names)}, and the result is wrong"
    return f"resume {ending(experiment.resume)}"


def expected_and_seen(
    experiment: Experiment, reference: Reference, symptom: Symptom, names: tuple[str, ...]
) -> tuple[str, str]:
    """The two texts that stand side by side in a report."""
    if symptom is Symptom.DONE_AGAIN:
        return (
            f"no start line for {listed(names)}: the done line stood there before the crash",
            "the resume appended " + listed(tuple(f"start {name}" for name in names)),
        )
    if symptom is Symptom.SKIPPED:
        return (
            f"a start line for {listed(names)}: it had not been started before the crash",
            f"no start line for {listed(names)}, neither before the crash nor from the resume",
        )
    check = experiment.check
    if check is None or symptom in (Symptom.RESUME_FAILED, Symptom.HANG):
        return (
            "the resume exits 0 and the check says: " + quoted(reference.check.output),
            _resume_seen(experiment),
        )
    if symptom is Symptom.DIFFERENT_RESULT:
        expected, seen = differing(reference.check.output, check.output)
        return f"the check says: {expected}", f"the check says: {seen}"
    said = check.output + check.error_output
    return (
        "the check exits 0 and says: " + quoted(reference.check.output),
        f"the check {ending(check)}" + (f" and says: {quoted(said)}" if said.strip() else ""),
    )


def _resume_seen(experiment: Experiment) -> str:
    resume, second = experiment.resume, experiment.second_resume
    text = f"the resume {ending(resume)}"
    if resume.output.strip():
        text += f" and says last: {last_line(resume.output)}"
    if second is not None and second.usable:
        text += "\na second resume " + (
            "succeeds" if second.succeeded else f"fails too: it {ending(second)}"
        )
    return text


def counted(count: int, noun: str) -> str:
    """``1 state``, ``2 states``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: tuple[str, ...]) -> str:
    """``a, b, c, d, e and 3 more``."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    rest = len(names) - _NAMES_SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown


def listed_lines(lines: tuple[str, ...]) -> str:
    """One below the other, the first twelve of them."""
    rest = len(lines) - _LINES_SHOWN
    more = (f"… and {rest} more",) if rest > 0 else ()
    return "\n".join((*lines[:_LINES_SHOWN], *more))


def quoted(text: str) -> str:
    """The beginning of a text, or ``(nothing)``."""
    text = text.strip()
    if not text:
        return "(nothing)"
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + " …"


def last_line(text: str) -> str:
    """The last line that is not blank: of a traceback, what went wrong."""
    lines = text.strip().splitlines()
    line = lines[-1].strip() if lines else ""
    return line if len(line) <= TEXT_LIMIT else line[:TEXT_LIMIT] + " …"


def differing(expected: str, seen: str) -> tuple[str, str]:
    """Two different texts, cut so that their first difference is in what is shown.

    Texts that differ only in white space at an end, or that are empty, are shown as Python would.
    """
    if expected.strip() == seen.strip() or not expected.strip() or not seen.strip():
        return _window(repr(expected), 0), _window(repr(seen), 0)
    pairs = zip(expected, seen, strict=False)
    common = min(len(expected), len(seen))
    first = next((index for index, (one, two) in enumerate(pairs) if one != two), common)
    start = max(0, first - TEXT_LIMIT // 4) if max(len(expected), len(seen)) > TEXT_LIMIT else 0
    return _window(expected.rstrip("\n"), start), _window(seen.rstrip("\n"), start)


def _window(text: str, start: int) -> str:
    shown = text[start : start + TEXT_LIMIT]
    return ("… " if start else "") + shown + (" …" if start + TEXT_LIMIT < len(text) else "")


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """In the order in which they are defined, so that nothing depends on a set's order."""
    wanted = set(faults)
    return [fault for fault in Fault if fault in wanted]


def fault_words(faults: Iterable[Fault]) -> str:
    return " or ".join(fault.value for fault in in_order(faults))


def and_more(count: int, noun: str) -> str:
    if count <= 0:
        return ""
    return f" (and {counted(count, f'more {noun}')})"
