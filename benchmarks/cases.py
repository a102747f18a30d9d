"""Judge real packages, with known faults and without, and compare with what is expected of each.

    python benchmarks/cases.py --cases DIR [--environments DIR] [--jobs N] [CASE …] [-- OPTION …]

``DIR`` holds ``bugs/`` and ``good/``; each case is a folder with a ``subject.py``, its
``requirements.txt`` and an ``expect.json``. Every case is run by the command form, in a copy of its
folder, with a virtual environment of its own that is made when it is missing. What stands behind
``--`` goes to pytest as it is.

* A case with a bug is judged rightly if one of the contracts that it names has failed.
* A good case is judged wrongly if a contract has failed under a fault that the case survives. A
  failure under another fault is shown, and to be explained.
* An inconclusive verdict, or none, is never right.
* A case whose fault the kit cannot inject yet is listed, and neither right nor wrong.

Exit code: 0 if every case that was judged is right, else 1; 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from checkpoint_contracts.evidence import Fault

NEEDED = {"two-instances": "exclusive"}
"""A fault by the cases' own word → the capability without which the kit does not try it."""
INJECTED = frozenset(fault.value for fault in Fault) | NEEDED.keys()
"""Faults that this version of the kit can inject."""
CASE_DEADLINE_S = 1800.0
ENVIRONMENTS = Path.home() / ".cache" / "checkpoint-contracts" / "cases"
WIDTH_IN_A_FILE = 160
HEADINGS = ("case", "expected", "seen", "right?", "seconds")
LISTED_WORDS = re.compile(r"[,\s]+")


class CaseError(Exception):
    """A case that cannot be run: a sentence."""


@dataclass(frozen=True, slots=True)
class Case:
    """One folder and what is expected of it."""

    folder: Path
    fault: str | None
    """What provokes the bug; None: the case is good."""
    contracts_any_of: tuple[str, ...]
    survives: frozenset[str]
    needs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def expected(self) -> str:
        if self.fault is None:
            return f"no failure under {', '.join(sorted(self.survives & INJECTED))}"
        return f"{' or '.join(self.contracts_any_of)} ({self.fault})"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One contract's verdict on a case, as the junit report has it."""

    contract: str
    verdict: str
    faults_failed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Case
    seen: str
    right: bool | None
    """None: not judged."""
    seconds: float

    @property
    def row(self) -> tuple[str, ...]:
        right = {True: "yes", False: "NO", None: "–"}[self.right]
        seconds = "–" if self.right is None else f"{self.seconds:.0f}"
        return (self.case.name, self.case.expected, self.seen, right, seconds)


# ---------------------------------------------------------------- what is there


def load_case(folder: Path) -> Case:
    expect: dict[str, Any] = json.loads((folder / "expect.json").read_text())
    needs, fault = expect.get("needs", []), expect.get("fault")
    needs = [needs] if isinstance(needs, str) else [*needs]
    if fault in NEEDED and NEEDED[fault] not in needs:
        needs.append(NEEDED[fault])
    return Case(
        folder=folder,
        fault=fault,
        contracts_any_of=tuple(expect.get("contracts_any_of", ())),
        survives=frozenset(expect.get("survives", ())),
        needs=tuple(needs),
    )


def find_cases(root: Path, names: Sequence[str]) -> list[Case]:
    """The named cases, or all, bugs first."""
    folders = [
        folder.parent
        for kind in ("bugs", "good")
        for folder in sorted((root / kind).glob("*/expect.json"))
    ]
    known = {folder.name for folder in folders}
    if not known:
        raise CaseError(f"{root} holds no case: expected bugs/*/expect.json or good/*/expect.json")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CaseError(
            f"no such case: {', '.join(unknown)}. There are: {', '.join(sorted(known))}"
        )
    return [load_case(folder) for folder in folders if not names or folder.name in names]


# ---------------------------------------------------------------- one case


def environment_python(case: Case, environments: Path) -> Path:
    """The interpreter of the case's own environment, made or completed where it is not ready."""
    folder = environments.resolve() / case.name
    python = folder / "bin" / "python"
    requirements = (case.folder / "requirements.txt").read_text()
    installed = folder / "installed-requirements.txt"
    if python.exists() and installed.exists() and installed.read_text() == requirements:
        return python
    if not python.exists():
        venv.create(folder, with_pip=True)
    if requirements.strip():
        pip = [str(python), "-m", "pip", "install", "-q"]
        pip += ["-r", str(case.folder / "requirements.txt")]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CaseError(f"pip failed for {case.name}: {done.stderr.strip()[-500:]}")
    installed.write_text(requirements)
    return python


def pytest_command(case: Case, python: Path, copy: Path, options: Sequence[str]) -> list[str]:
    def subject(verb: str) -> str:
        return f"{shlex.join([str(python), 'subject.py', verb])} {{workspace}}"

    command = [sys.executable, "-m", "pytest", f"--rootdir={copy}", "-p", "no:cacheprovider"]
    command += ["--checkpoint-contracts", "--checkpoint-run", subject("run")]
    command += ["--checkpoint-check", subject("check"), "--checkpoint-name", case.name]
    for need in case.needs:
        command += ["--checkpoint-capability", need]
    return [*command, f"--junitxml={copy / 'junit.xml'}", *options]


def run_pytest(command: Sequence[str], copy: Path, deadline_s: float) -> int:
    """Exit code of pytest; its output goes to ``output.txt`` beside the subject."""
    with (
        (copy / "output.txt").open("wb") as output,
        subprocess.Popen(
            command,
            cwd=copy,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            raise CaseError(f"not finished after {deadline_s:.0f} s") from None


def last_words(copy: Path) -> str:
    """The last error that pytest reported, or the last thing that it said."""
    lines = (copy / "output.txt").read_text(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()] or ["no output"]
    errors = [line for line in said if "error" in line.lower()]
    return (errors or said)[-1]


def read_judgements(report: Path) -> list[Judgement]:
    found = []
    for item in ElementTree.parse(report).iter("testcase"):
        properties = {
            entry.get("name", ""): entry.get("value", "") for entry in item.iter("property")
        }
        if "verdict" in properties:
            faults = frozenset(LISTED_WORDS.split(properties.get("faults_failed", ""))) - {""}
            contract = properties.get("contract", item.get("name", ""))
            found.append(Judgement(contract, properties["verdict"], faults))
    return found


def failing(judgements: Iterable[Judgement]) -> dict[str, frozenset[str]]:
    """Failed contracts, and the faults under which they failed."""
    return {
        judgement.contract: judgement.faults_failed
        for judgement in judgements
        if judgement.verdict == "failed"
    }


def describe(judgements: Sequence[Judgement]) -> str:
    parts = [
        f"{contract} ({', '.join(sorted(faults)) or 'fault not said'})"
        for contract, faults in failing(judgements).items()
    ]
    parts += [
        f"{judgement.contract} inconclusive"
        for judgement in judgements
        if judgement.verdict == "inconclusive"
    ]
    passed = sum(judgement.verdict == "passed" for judgement in judgements)
    return "; ".join(parts) or f"no failure, {passed} passed"


def is_right(case: Case, judgements: Sequence[Judgement]) -> bool:
    failed = failing(judgements)
    if case.fault is not None:
        return any(contract in failed for contract in case.contracts_any_of)
    false_alarm = any(not faults or faults & case.survives for faults in failed.values())
    verdicts = {judgement.verdict for judgement in judgements}
    return (
        not false_alarm and "inconclusive" not in verdicts and bool(verdicts & {"passed", "failed"})
    )


def judge(case: Case, arguments: argparse.Namespace, results: Path) -> Outcome:
    """Run one case and compare; a case that cannot be run is not right."""
    if case.fault is not None and case.fault not in INJECTED:
        return Outcome(case, f"not yet (fault {case.fault})", None, 0.0)
    started = time.monotonic()
    copy = results / case.name
    try:
        python = environment_python(case, arguments.environments)
        shutil.copytree(case.folder, copy, copy_function=shutil.copyfile)
        copy.chmod(0o755)
        started = time.monotonic()
        command = pytest_command(case, python, copy, arguments.options)
        code = run_pytest(command, copy, arguments.deadline)
        report = copy / "junit.xml"
        judgements = read_judgements(report) if report.exists() else []
        if judgements:
            seen, right = describe(judgements), is_right(case, judgements)
        else:
            seen, right = f"no verdict: pytest exited {code}: {last_words(copy)}", False
    except (CaseError, ElementTree.ParseError, FileExistsError) as error:
        seen, right = str(error), False
    return Outcome(case, seen, right, time.monotonic() - started)


# ---------------------------------------------------------------- all of them


def print_table(outcomes: Sequence[Outcome]) -> None:
    rows = [outcome.row for outcome in outcomes]
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
        for row in (HEADINGS, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
        return
    table = Table()
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row), style="red" if row[3] == "NO" else None)
    Console(width=None if sys.stdout.isatty() else WIDTH_IN_A_FILE).print(table)


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    own, options = list(argv), []
    if "--" in own:
        split = own.index("--")
        own, options = own[:split], own[split + 1 :]
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        usage="%(prog)s --cases DIR [options] [CASE ...] [-- PYTEST-OPTION ...]",
    )
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these cases")
    parser.add_argument("--cases", type=Path, required=True, help="folder with bugs/ and good/")
    parser.add_argument(
        "--environments",
        type=Path,
        default=ENVIRONMENTS,
        help="where a virtual environment per case stands, or is made (default: %(default)s)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time (default: 1)")
    parser.add_argument(
        "--deadline", type=float, default=CASE_DEADLINE_S, help="of one case, in seconds"
    )
    parser.add_argument(
        "--results",
        type=Path,
        help="keep every case's copy, output, report and wrecks here (default: only of those that "
        "are judged wrongly, in a new temporary folder)",
    )
    arguments = parser.parse_args(own)
    if arguments.jobs < 1:
        parser.error("--jobs must be 1 or more")
    arguments.options = options
    return arguments


def results_folder(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="checkpoint-cases-"))
    wanted.mkdir(parents=True, exist_ok=True)
    return wanted.resolve()


def main(argv: Sequence[str]) -> int:
    arguments = parse_arguments(argv)
    try:
        cases = find_cases(arguments.cases.resolve(), arguments.names)
    except CaseError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    results = results_folder(arguments.results)
    outcomes = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(lambda case: judge(case, arguments, results), cases):
            sys.stderr.write(f"{outcome.case.name}: {outcome.seen}\n")
            outcomes.append(outcome)
            if outcome.right and arguments.results is None:
                shutil.rmtree(results / outcome.case.name)
    print_table(outcomes)
    wrong = [outcome.case.name for outcome in outcomes if outcome.right is False]
    judged = sum(outcome.right is not None for outcome in outcomes)
    sys.stdout.write(f"{judged - len(wrong)} of {judged} right, {len(outcomes) - judged} not yet\n")
    if any(results.iterdir()):
        sys.stdout.write(f"kept in {results}\n")
    else:
        results.rmdir()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
