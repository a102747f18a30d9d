"""The nodes that stand in pytest's tree: a subject, and a promise that it is held to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from checkpoint_contracts.contract import Contract
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.catalogue import capabilities_of, catalogue_of, contract_ids
from pytest_checkpoint.session.pyproject import Table
from pytest_checkpoint.session.registration import Declaration, declared
from pytest_checkpoint.subject import Subject


class Settles(Protocol):
    """Whoever runs an item: :class:`pytest_checkpoint.session.judging.Judge`."""

    def settle(self, item: ContractItem) -> None:
        """Return if the promise holds; else raise one of pytest's outcomes."""


class Findings:
    """What collecting the subjects found, mistakes among it: raised together at the end."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []


class SubjectNode(pytest.Collector):
    """One subject; collects its contracts."""

    def __init__(
        self,
        *,
        source: Declaration | Table | Subject,
        judge: Settles,
        findings: Findings,
        **node: Any,
    ) -> None:
        super().__init__(**node)
        self.source = source
        self.judge = judge
        self.findings = findings

    @property
    def place(self) -> str:
        return "--checkpoint-run" if isinstance(self.source, Subject) else self.source.place

    def subject(self) -> Subject:
        if isinstance(self.source, Subject):
            return self.source
        working_directory = self.config.invocation_params.dir
        ids, known = contract_ids(self.config), capabilities_of(self.config)
        if isinstance(self.source, Table):
            return self.source.subject(working_directory, ids, known)
        return declared(self.source, working_directory, ids, known)

    def collect(self) -> Iterator[pytest.Item]:
        try:
            subject = self.subject()
        except UserError as mistake:
            self.findings.mistakes.append(str(mistake))
            return
        for contract in catalogue_of(self.config).values():
            yield ContractItem.from_parent(
                self,
                name=contract.id,
                nodeid=f"{subject.name}::{contract.id}",
                subject=subject,
                contract=contract,
            )


class ContractItem(pytest.Item):
    """``SUBJECT::CONTRACT``."""

    def __init__(self, *, subject: Subject, contract: Contract, **node: Any) -> None:
        super().__init__(**node)
        self.subject = subject
        self.contract = contract
        self.extra_keyword_matches.add(subject.name)
        for marker in markers_of(contract):
            self.add_marker(marker)

    @property
    def node(self) -> SubjectNode:
        assert isinstance(self.parent, SubjectNode)
        return self.parent

    def runtest(self) -> None:
        self.node.judge.settle(self)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the subject is named; the command form has no such place but its own name."""
        place = self.subject.defined_at
        if place is None:
            return self.config.rootpath / self.subject.name, 0, self.nodeid
        return place[0], place[1] - 1, self.nodeid


def markers_of(contract: Contract) -> tuple[str, ...]:
    """Names that ``-m`` takes: the id, the same with underscores, and the faults."""
    return (contract.id, contract.id.replace("-", "_"), *sorted(map(str, contract.faults)))
