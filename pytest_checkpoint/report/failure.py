"""A failure in the user's terms: what is lost, where, what was expected, how to mend it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from checkpoint_contracts.evidence import RESTORED, Execution, Experiment, Fault, Trial
from checkpoint_contracts.verdict import Failure, Finding, Verdict
from pytest_checkpoint.examination import Examination

WIDTH = 96
TAIL_LINES = 15
LISTING_LINES = 20
LONGEST_LINE = 200
MORE_CAUSES = 8
LEGS_SHOWN = 2


def failure_text(
    subject: str, promise: str, verdict: Verdict, examination: Examination, replay: str
) -> str:
    """The whole text of one failed contract. ``replay`` is a command line, ready to paste."""
    if not verdict.failures:
        return f"{subject}: {verdict.reason or verdict.contract + ' failed'}"
    return "\n".join(_lines(subject, promise, verdict, examination, replay))


def _lines(
    subject: str, promise: str, verdict: Verdict, examination: Examination, replay: str
) -> Iterator[str]:
    first, *others = verdict.failures
    finding = first.finding
    wreck = examination.wrecks.get((verdict.contract, finding.point.id))
    yield f"{subject}: {finding.headline}"
    yield ""
    yield from _prose("promise", f"{promise} ({verdict.contract})")
    yield from _prose("operation", _operation(finding))
    if wreck is not None:
        yield from _block("around it", wreck.operations)
        yield from _block("in the directory then", wreck.listing or ("(nothing)",))
    yield from _what_was_printed(_experiment(examination, finding), finding.seen)
    yield from _what_legs_printed(_trial(examination, finding))
    yield from _either("expected", finding.expected)
    yield from _either("seen", finding.seen)
    if first.count > 1:
        yield f"and {_counted(first.count - 1, finding, 'more ')} with the same cause"
    for note in (*first.notes, *verdict.notes):
        yield from _prose("note", note)
    yield from _further_causes(others)
    yield ""
    yield from _prose("likely cause", finding.likely_cause)
    if wreck is not None:
        yield f"wreck: {wreck.folder}"
    yield f"replay: {replay}"


def _operation(finding: Finding) -> str:
    point = finding.point
    if point.fault is Fault.NO_SPACE:
        return f"{point.operation} (of {point.total_steps} steps of the undisturbed run)"
    if point.fault not in RESTORED:
        return (
            f"{point.operation} (step {point.step} of {point.total_steps} of the undisturbed run)"
        )
    if point.fault in (Fault.SECOND_CRASH, Fault.DAMAGE):
        return f"{point.fault}: {point.operation} (of {point.total_steps} steps of the run)"
    if point.step == 0:
        return f"{point.fault} before the first of {point.total_steps}: {point.operation}"
    where = "within" if point.fault is Fault.TORN else "after"
    return f"{point.fault} {where} step {point.step} of {point.total_steps}: {point.operation}"


def _experiment(examination: Examination, finding: Finding) -> Experiment | None:
    """The replay that showed it again, if it was kept; else the first experiment there."""
    for experiment in (*reversed(examination.evidence.replays), *examination.evidence.experiments):
        if experiment.point.id == finding.point.id:
            return experiment
    return None


def _what_was_printed(experiment: Experiment | None, seen: str) -> Iterator[str]:
    """``seen`` may tell of the second resume already: it is said once."""
    if experiment is None:
        return
    yield from _block(f"resume ({_ending(experiment.resume)}) printed", _tail(experiment.resume))
    second = experiment.second_resume
    if second is not None and "second resume" not in seen:
        yield f"a second resume {'succeeds' if second.succeeded else 'fails too'}"
    check = experiment.check
    if check is not None and not check.succeeded:
        yield from _block(f"check ({_ending(check)}) printed", _tail(check))


def _trial(examination: Examination, finding: Finding) -> Trial | None:
    evidence = examination.evidence
    trials = (*reversed(evidence.trial_replays), *evidence.trials)
    return next((trial for trial in trials if trial.point == finding.point), None)


def _what_legs_printed(trial: Trial | None) -> Iterator[str]:
    """Of many legs the last ones: the others were killed like these."""
    if trial is None:
        return
    left_out = len(trial.legs) - LEGS_SHOWN
    if left_out > 0:
        yield f"… {left_out} executions before, each killed"
    for leg in trial.legs[-LEGS_SHOWN:]:
        how = "killed by the kit" if leg.killed else _ending(leg.execution)
        yield from _block(f"{leg.command} ({how}) printed", _tail(leg.execution))
    if trial.pair is not None:
        second = trial.pair.second
        yield from _block(f"second start ({_ending(second)}) printed", _tail(second))
    if trial.check is not None and not trial.check.succeeded:
        yield from _block(f"check ({_ending(trial.check)}) printed", _tail(trial.check))


def _ending(execution: Execution) -> str:
    if execution.timed_out:
        return f"ended at its deadline, after {execution.wall_s:.0f} s"
    if execution.signal is not None:
        return f"died by signal {execution.signal}"
    return f"exit {execution.exit_code}"


def _tail(execution: Execution) -> tuple[str, ...]:
    lines = (execution.output + execution.error_output).rstrip().splitlines()
    if not lines:
        return ("(nothing)",)
    kept = tuple(_shortened(line) for line in lines[-TAIL_LINES:])
    left_out = len(lines) - len(kept)
    noun = "line" if left_out == 1 else "lines"
    return (f"… {left_out} {noun} before", *kept) if left_out else kept


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def _further_causes(others: list[Failure]) -> Iterator[str]:
    if not others:
        return
    yield "also:"
    for failure in others[:MORE_CAUSES]:
        states = f" ({_counted(failure.count, failure.finding)})" if failure.count > 1 else ""
        yield f"    {_shortened(failure.finding.headline)}{states}"
    if len(others) > MORE_CAUSES:
        yield f"    and {len(others) - MORE_CAUSES} further causes"


def _counted(count: int, finding: Finding, more: str = "") -> str:
    """``3 more states``, ``1 trial``: of what it was that failed so often."""
    noun = "state" if finding.point.fault in RESTORED else "trial"
    return f"{count} {more}{noun}{'' if count == 1 else 's'}"


def _prose(label: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        f"{label}: {text}",
        WIDTH,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _either(label: str, text: str) -> Iterator[str]:
    """On one line if it is short, else a block of its own, its lines kept."""
    lines = text.rstrip().splitlines()
    if len(lines) <= 1:
        yield from _prose(label, lines[0] if lines else "(nothing)")
    else:
        yield from _block(label, tuple(lines))


def _block(label: str, lines: tuple[str, ...]) -> Iterator[str]:
    yield f"{label}:"
    for line in lines[:LISTING_LINES]:
        yield f"    {_shortened(line)}"
    if len(lines) > LISTING_LINES:
        yield f"    … {len(lines) - LISTING_LINES} more"
