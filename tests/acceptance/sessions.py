"""Whole sessions of ``pytest --checkpoint-contracts`` with the real engine, and what they said.

A job here is as small as its point allows: three to six operations of a shell script. A session
runs in this process, since starting Python again would take longer than the experiments.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rich.console
import rich.table  # noqa: F401 - as below

# In-process sessions forget what they import; without these each would import it all again.
import pytest_checkpoint
import pytest_checkpoint.session.plugin

ENGINE = importlib.import_module("pytest_checkpoint.experiment")
"""The real one: other tests put one of their own in its place, and it may stay there."""

PYTHON = shlex.join([sys.executable, "-I", "-S", "-B"])
"""A Python that starts in hundredths of a second: no site-packages, no environment."""

FAULTS = "kill,torn"
"""What these jobs are made for: hardly one of them syncs anything."""
SELF_CHECK = "1"
"""Runs really killed, where a test does not say how many: one shows that the session does it."""

RESUME_EQUALS = "resume-equals-uninterrupted"
NEVER_CORRUPT = "state-never-corrupt"
SKIPS_DONE = "resume-skips-done"
KEEPS_WORK = "resume-keeps-work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One contract item, as junit tells it."""

    subject: str
    contract: str
    verdict: str
    """The property: passed, failed, not applicable, inconclusive."""
    properties: Mapping[str, str]
    text: str
    """What pytest shows of a failed or skipped item; empty: it passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session that ended."""

    ret: int
    output: str
    """Standard output and error output, one after the other."""
    items: Mapping[str, Item]
    """``SUBJECT::CONTRACT`` → item."""
    kept: Path
    """``.checkpoint-contracts``."""

    def item(self, contract: str, subject: str = "job") -> Item:
        return self.items[f"{subject}::{contract}"]

    def verdicts(self, subject: str = "job") -> dict[str, str]:
        """Contract → verdict."""
        return {
            item.contract: item.verdict for item in self.items.values() if item.subject == subject
        }

    def failed(self, subject: str = "job") -> set[str]:
        return {name for name, word in self.verdicts(subject).items() if word == "failed"}

    def inconclusive(self, subject: str = "job") -> str:
        """The one reason for which every item of a subject is inconclusive.

        All give the sentence, the first one its details as well.
        """
        assert set(self.verdicts(subject).values()) == {"inconclusive"}, self.output
        first, *others = (item for item in self.items.values() if item.subject == subject)
        sentence, *details = first.text.splitlines()
        again = f"{sentence} (in full: {subject}::{first.contract})" if details else sentence
        assert {item.text for item in others} <= {again}, self.output
        return first.text.removeprefix("inconclusive: ")

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()

    @property
    def notes(self) -> list[str]:
        """The matrix' notes, without the word that begins each."""
        return [line.removeprefix("note: ") for line in self.lines if line.startswith("note: ")]


class Workplace:
    """A directory with jobs in it, and pytest to judge them."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    @property
    def path(self) -> Path:
        return self.pytester.path

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text)
        return path

    def shell(self, text: str, name: str = "job.sh") -> str:
        """A shell script that works in ``$1``; returns the command that runs it."""
        path = self.write(name, f'cd "$1" || exit 9\n{text}\n')
        return f"sh {shlex.quote(str(path))} {{workspace}}"

    def judge(self, *arguments: str) -> Session:
        """``pytest --checkpoint-contracts`` in this process; kills and torn writes if unsaid."""
        self.junit.unlink(missing_ok=True)
        unsaid = [
            word
            for option, value in (
                ("--checkpoint-faults", FAULTS),
                ("--checkpoint-self-check", SELF_CHECK),
            )
            if not any(word.startswith(option) for word in arguments)
            for word in (option, value)
        ]
        with _as_a_user():
            result = self.pytester.runpytest_inprocess(*self.always(), *unsaid, *arguments)
        return self.session(int(result.ret), result.stdout.str() + "\n" + result.stderr.str())

    def judge_job(self, run: str, check: str, *arguments: str) -> Session:
        """The command form; the subject is called ``job`` if it is not named otherwise."""
        return self.judge(*job(run, check), *arguments)

    def always(self) -> list[str]:
        """Arguments of every session."""
        installed = any(
            point.value == "pytest_checkpoint.hooks" for point in entry_points(group="pytest11")
        )
        # Hypothesis would be imported anew, its asserts rewritten, at the end of each session.
        return [
            *([] if installed else ["-p", "pytest_checkpoint.hooks"]),
            *("-p", "no:hypothesispytest", "-p", "no:cacheprovider", "-Werror"),
            *("--checkpoint-contracts", f"--junitxml={self.junit}"),
        ]

    @property
    def junit(self) -> Path:
        return self.path / "junit.xml"

    def session(self, ret: int, output: str) -> Session:
        items = {item.subject + "::" + item.contract: item for item in _items(self.junit)}
        assert "INTERNALERROR" not in output
        return Session(
            ret=ret, output=output, items=items, kept=self.path / ".checkpoint-contracts"
        )


def job(run: str, check: str) -> list[str]:
    """The options of the command form."""
    return ["--checkpoint-run", run, "--checkpoint-check", check]


def _items(junit: Path) -> Iterator[Item]:
    if not junit.exists():
        return
    for case in ElementTree.parse(junit).iter("testcase"):
        properties = {
            one.attrib["name"]: one.attrib["value"] for one in case.iterfind("properties/property")
        }
        outcome = next((one for one in case if one.tag in {"failure", "skipped", "error"}), None)
        text = ""
        if outcome is not None:
            text = outcome.text or ""
            if outcome.tag == "skipped":
                text = outcome.attrib.get("message", "")
        yield Item(
            subject=case.attrib["classname"],
            contract=case.attrib["name"],
            verdict=properties.get("verdict", ""),
            properties=properties,
            text=text,
        )


@contextmanager
def _as_a_user() -> Iterator[None]:
    """These tests may run under xdist, and beside a false engine; their sessions do not."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
            patch.delenv(name, raising=False)
        patch.setattr(pytest_checkpoint, "experiment", ENGINE)
        yield
