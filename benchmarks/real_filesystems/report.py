"""What was found, in tables, and whether it is as it must be."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.real_filesystems.findings import FINDINGS, Expected
from benchmarks.real_filesystems.forms import Form, forms_of
from benchmarks.real_filesystems.judge import Judge, Outside
from benchmarks.real_filesystems.planted import accepted, made_up, stale
from benchmarks.real_filesystems.sqlite_writers import SETTINGS
from benchmarks.real_filesystems.validation import Comparison
from pytest_checkpoint.states.power_loss.crashes import PowerLoss
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.tree.compare import key, walk
from pytest_checkpoint.tree.image import File, Image, printable

_SHOWN_AT_MOST: Final = 5


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def report(comparisons: Sequence[Comparison], folder: Path) -> int:
    """Print all of it; the number of things that are not as they must be."""
    say(f"\nLinux {platform.release()}, {platform.machine()}\n")
    wrong = _report_models(comparisons)
    wrong += _report_findings(comparisons, folder)
    _report_forms(comparisons)
    _report_coverage(comparisons)
    say()
    say("as it must be" if not wrong else f"{wrong} things are not as they must be: see above")
    return wrong


def _report_models(comparisons: Sequence[Comparison]) -> int:
    wrong = 0
    rows = []
    notes: list[str] = []
    for comparison in comparisons:
        judges = comparison.judges.values()
        rejected, all_planted = _planted(comparison, notes)
        wrong += all_planted - rejected + len(comparison.unmountable)
        notes += comparison.unmountable[:_SHOWN_AT_MOST]
        for model in Model:
            outside = sum(len(judge.outside[model]) for judge in judges)
            required = model in comparison.system.models
            if required:
                wrong += outside
                notes += _outside_lines(comparison, model)
            rows.append(
                (
                    comparison.system.name,
                    str(model),
                    str(comparison.runs),
                    str(comparison.states),
                    str(comparison.pairs),
                    str(sum(len(judge.images) for judge in judges)),
                    str(outside) if required else f"({outside})",
                    f"{comparison.states / max(comparison.reading_s, 0.001):.0f}",
                    f"{rejected}/{all_planted}",
                )
            )
    heads = (
        "file system", "model", "runs", "states", "pairs", "trees", "outside",
        "states/s", "planted rejected",
    )  # fmt: skip
    _table(heads, rows)
    say("states: devices mounted and read; pairs: (moment, state) compared; trees: different ones;")
    say("outside: (moment, tree) not allowed; in parentheses where that is no promise")
    for note in notes:
        say(f"  {note}")
    return wrong


def _planted(comparison: Comparison, notes: list[str]) -> tuple[int, int]:
    rejected = total = 0
    for judge in comparison.judges.values():
        for one in (*made_up(judge.writer), *stale(judge)):
            total += 1
            wrongly = accepted(judge, one)
            rejected += not wrongly
            if wrongly:
                models = ", ".join(wrongly)
                notes.append(
                    f"not rejected under {models}: {one.text} ({one.writer}, step {one.step})"
                )
    return rejected, total


def _outside_lines(comparison: Comparison, model: Model) -> Iterator[str]:
    for name, judge in comparison.judges.items():
        for one in judge.outside[model][:_SHOWN_AT_MOST]:
            yield f"OUTSIDE {comparison.system.name} {model} {name} {_moment(judge, one)}"
            yield f"    {_shown(one.image)}: {one.reason}"


def _moment(judge: Judge, one: Outside) -> str:
    done, begun = one.moment
    operations = judge.writer.operations
    last = operations[done - 1] if done else None
    text = "before the first step"
    if last is not None:
        text = f"after step {done} ({last.call} {printable(last.path)})"
    return f"{text}, the next one begun" if begun else text


def _shown(image: Image) -> str:
    parts = []
    for path, _, node in walk(image):
        if isinstance(node, File):
            parts.append(f"{printable(path)}[{_runs(node.content.read())}]")
        elif path:
            parts.append(f"{printable(path)}/")
    return " ".join(parts) or "nothing"


def _runs(data: bytes) -> str:
    """Bytes as runs: ``a*4096 0*904``."""
    found: list[tuple[int, int]] = []
    for value in data:
        if found and found[-1][0] == value:
            found[-1] = (value, found[-1][1] + 1)
        elif len(found) < _SHOWN_AT_MOST:
            found.append((value, 1))
        else:
            return _text(found) + " …"
    return _text(found)


def _text(runs: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{chr(value) if 32 < value < 127 else value}*{count}" for value, count in runs)


def _report_findings(comparisons: Sequence[Comparison], folder: Path) -> int:
    """What must be seen is required of ext4; what must not be seen, everywhere."""
    wrong = 0
    rows = []
    for finding in FINDINGS:
        cells = []
        for comparison in comparisons:
            judge = comparison.judges.get(finding.writer)
            if judge is None:
                cells.append("not tried")
                continue
            count = finding.found(judge, folder)
            missed = finding.expected is Expected.SEEN and not count
            missed = missed and comparison.system.name == "ext4"
            unwanted = finding.expected is Expected.NEVER and count > 0
            wrong += missed or unwanted
            cells.append(f"{count} of {sum(map(len, judge.moments.values()))}")
            cells[-1] += " (!)" if missed or unwanted else ""
        rows.append((finding.text, str(finding.expected), *cells))
    say()
    names = [comparison.system.name for comparison in comparisons]
    _table(("finding, in (moment, tree)", "expected", *names), rows)
    return wrong


def _report_forms(comparisons: Sequence[Comparison]) -> None:
    counts = []
    for comparison in comparisons:
        total: Counter[Form] = Counter()
        for name, judge in comparison.judges.items():
            if name not in SETTINGS:
                total.update(forms_of(judge))
        counts.append(total)
    say()
    names = [comparison.system.name for comparison in comparisons]
    rows = [(form.value, *(str(total[form]) for total in counts)) for form in Form]
    _table(("form of loss, small writers, in trees", *names), rows)


def _report_coverage(comparisons: Sequence[Comparison]) -> None:
    """How many of the trees that the kit would try were really left by the file system."""
    rows = []
    for model in Model:
        tried: dict[str, set[bytes]] = {}
        cells = []
        for comparison in comparisons:
            seen = 0
            for name, judge in comparison.judges.items():
                if name in SETTINGS:
                    continue
                if name not in tried:
                    tried[name] = _trees_of(judge.models[model])
                seen += len(tried[name] & judge.images.keys())
            cells.append(str(seen))
        rows.append((str(model), str(sum(map(len, tried.values()))), *cells))
    say()
    names = [f"seen on {comparison.system.name}" for comparison in comparisons]
    _table(("trees the kit derives, small writers", "in all", *names), rows)


def _trees_of(power_loss: PowerLoss) -> set[bytes]:
    return {
        key(power_loss.state(step, loss).image)
        for step in range(power_loss.steps + 1)
        for loss in power_loss.losses(step)
    }


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    for row in (heads, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())
