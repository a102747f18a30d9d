"""Examines each subject once, when its first item runs, and settles every item from that."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from checkpoint_contracts.verdict import Outcome, Verdict
from pytest_checkpoint.errors import CheckpointError, UserError
from pytest_checkpoint.examination import Examination
from pytest_checkpoint.keeping.sessions import KeptSession
from pytest_checkpoint.report.failure import failure_text
from pytest_checkpoint.report.matrix import Row, row_of
from pytest_checkpoint.report.outcome import conclude
from pytest_checkpoint.report.progress import show_progress
from pytest_checkpoint.report.properties import properties_of
from pytest_checkpoint.session.arguments import Arguments
from pytest_checkpoint.session.catalogue import catalogue_of
from pytest_checkpoint.session.items import ContractItem
from pytest_checkpoint.session.replay_line import ReplayTarget, replay_command
from pytest_checkpoint.session.settings import Settings

ROW = pytest.StashKey[Row]()
USAGE = pytest.StashKey[str]()


class Judge:
    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        arguments: Arguments,
        session: KeptSession,
    ) -> None:
        self._config = config
        self._session = session
        self.unfinished: list[Row] = []
        """Of the subject that was interrupted: what was seen of it so far."""
        self._settings = settings
        self._arguments = arguments
        self._known: dict[str, Examination | Exception] = {}
        self._told: dict[tuple[str, str], str] = {}
        """Subject, and why something of it could not be judged → the item that has said so."""

    def settle(self, item: ContractItem) -> None:
        """Return if the promise holds; else raise one of pytest's outcomes."""
        seen = self._examined(item)
        if isinstance(seen, UserError):
            item.stash[USAGE] = str(seen)
            pytest.fail(f"usage: {self._once(item, str(seen))}", pytrace=False)
        if isinstance(seen, Exception):
            self._settle_from(item, None, _unjudged(item, seen))
            return
        verdict = seen.verdicts.get(item.contract.id)
        if verdict is None:
            verdict = _inconclusive(item, "the examination gave no verdict on this contract")
        self._settle_from(item, seen, verdict)

    def _settle_from(
        self, item: ContractItem, examination: Examination | None, verdict: Verdict
    ) -> None:
        command = self._replay_command(item, verdict)
        text = ""
        if verdict.outcome is Outcome.INCONCLUSIVE:
            text = self._once(item, verdict.reason)
        if examination is not None and verdict.outcome is Outcome.FAILED:
            text = failure_text(
                item.subject.name, item.contract.promise, verdict, examination, command
            )
        # A replay and --runxfail show what happens, expected or not.
        as_it_is = self._settings.replay is not None or self._config.getoption(
            "runxfail", default=False
        )
        conclusion = conclude(
            verdict,
            expected=None if as_it_is else item.subject.expected_failures.get(item.contract.id),
            tolerate_inconclusive=self._settings.tolerate_inconclusive,
            text=text,
        )
        item.stash[ROW] = row_of(item.subject.name, verdict, conclusion.shown, examination)
        item.user_properties.extend(properties_of(verdict, command))
        if conclusion.kind == "xfail":
            item.add_report_section("call", "checkpoint-contracts", text)
        conclusion.raise_it()

    def _once(self, item: ContractItem, reason: str) -> str:
        """The reason; of one with details only the sentence, where all of it was given before.

        A job that does not even work undisturbed makes every contract inconclusive.
        """
        first = self._told.setdefault((item.subject.name, reason), item.nodeid)
        sentence, _, details = reason.partition("\n")
        if first == item.nodeid or not details:
            return reason
        return f"{sentence} (in full: {first})"

    def _replay_command(self, item: ContractItem, verdict: Verdict) -> str:
        if not verdict.failures:
            return ""
        point = verdict.failures[0].finding.point.id
        target = ReplayTarget(item.subject.name, item.contract.id, point)
        return replay_command(self._config, self._arguments.paths, target)

    def _examined(self, item: ContractItem) -> Examination | Exception:
        name = item.subject.name
        if name not in self._known:
            try:
                self._known[name] = self._examine(item)
            except CheckpointError as error:
                self._known[name] = error
            except Exception as error:
                # A fault of the kit: pytest shows the traceback once, with the first item.
                self._known[name] = error
                raise
        return self._known[name]

    def _examine(self, item: ContractItem) -> Examination:
        from pytest_checkpoint import experiment

        items = [
            other
            for other in item.session.items
            if isinstance(other, ContractItem) and other.subject.name == item.subject.name
        ]
        options = dataclasses.replace(
            self._settings.options,
            catalogue=catalogue_of(self._config),
            contracts=frozenset(other.contract.id for other in items),
            session=self._session.id,
            continues=self._settings.continues,
        )
        with show_progress(self._config, item.subject.name, item.nodeid) as progress:
            target = self._settings.replay
            if target is not None:
                return experiment.replay(
                    item.subject, options, target.contract, target.point, progress
                )
            self._session.begin()
            examination = experiment.examine(item.subject, options, progress)
        if examination.interrupted:
            self._tell_unfinished(items, examination)
            raise KeyboardInterrupt
        return examination

    def _tell_unfinished(self, items: Iterable[ContractItem], examination: Examination) -> None:
        """Their rows; pytest makes no report of an item that is interrupted."""
        for item in items:
            verdict = examination.verdicts.get(item.contract.id)
            if verdict is not None:
                shown = conclude(verdict, expected=None, tolerate_inconclusive=False).shown
                self.unfinished.append(row_of(item.subject.name, verdict, shown, examination))


def _unjudged(item: ContractItem, error: Exception) -> Verdict:
    if isinstance(error, CheckpointError):
        return _inconclusive(item, str(error))
    return _inconclusive(
        item, f"the kit broke while it examined {item.subject.name}: see that subject's first item"
    )


def _inconclusive(item: ContractItem, reason: str) -> Verdict:
    return Verdict(contract=item.contract.id, outcome=Outcome.INCONCLUSIVE, reason=reason)
