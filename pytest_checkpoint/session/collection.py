"""Which contract items a session has: subjects found, ordinary tests left out, ids chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

import pytest

from checkpoint_contracts import CATALOGUE
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.arguments import Arguments
from pytest_checkpoint.session.items import ContractItem, Findings, Settles, SubjectNode
from pytest_checkpoint.session.registration import Declaration
from pytest_checkpoint.session.settings import Settings

NO_SUBJECT = """\
no subject found: nothing names a job to judge. Name one by its commands:

    pytest --checkpoint-contracts \\
        --checkpoint-run 'python job.py {workspace}' \\
        --checkpoint-check 'cat {workspace}/result.json'

or in a test module or a conftest.py:

    from pytest_checkpoint.api import CommandSubject, checkpoint_subject

    @checkpoint_subject
    def job():
        return CommandSubject(
            run="python job.py {workspace}",
            check="cat {workspace}/result.json",
        )
"""


class SubjectCollection:
    def __init__(self, settings: Settings, arguments: Arguments, judge: Settles) -> None:
        self._settings = settings
        self._arguments = arguments
        self._judge = judge
        self._findings = Findings()

    def node(self, parent: pytest.Collector, obj: object) -> SubjectNode | None:
        """The node of a marked function; None for anything else in a module."""
        if isinstance(obj, type):
            self._refuse_methods(obj)
        declaration = Declaration.of(obj)
        return None if declaration is None else self._node(parent, declaration)

    def _refuse_methods(self, owner: type) -> None:
        for value in vars(owner).values():
            declaration = Declaration.of(value)
            if declaration is not None:
                self._findings.mistakes.append(
                    f"subject {declaration.name!r} ({declaration.place}): it must be a function "
                    f"of its module, not a method of {owner.__name__}"
                )

    def items(
        self, session: pytest.Session, collected: Sequence[pytest.Item]
    ) -> list[ContractItem]:
        """The contract items to run, those of one subject together. Raises UserError."""
        found = [item for item in collected if isinstance(item, ContractItem)]
        for node in self._nodes_beside_modules(session):
            found += [item for item in session.genitems(node) if isinstance(item, ContractItem)]
        if self._findings.mistakes:
            raise UserError("\n".join(dict.fromkeys(self._findings.mistakes)))
        if not found:
            if session.testsfailed:
                return []  # pytest reports the errors of collection, which may be why
            raise UserError(NO_SUBJECT)
        subjects = _by_subject(found)
        return self._chosen([item for items in subjects.values() for item in items])

    def _nodes_beside_modules(self, session: pytest.Session) -> Iterator[SubjectNode]:
        """The command form's subject, or those in conftests and plugins."""
        if self._settings.subject is not None:
            yield SubjectNode.from_parent(
                session,
                name=self._settings.subject.name,
                nodeid=self._settings.subject.name,
                source=self._settings.subject,
                judge=self._judge,
                findings=self._findings,
            )
            return
        paths = self._arguments.paths
        if paths and all("::" in path for path in paths):
            return  # single functions were asked for
        for plugin in session.config.pluginmanager.get_plugins():
            if isinstance(plugin, ModuleType):
                for value in vars(plugin).values():
                    declaration = Declaration.of(value)
                    if declaration is not None:
                        yield self._node(session, declaration)

    def _node(self, parent: pytest.Collector, declaration: Declaration) -> SubjectNode:
        return SubjectNode.from_parent(
            parent,
            name=declaration.function.__name__,
            nodeid=declaration.name,
            source=declaration,
            judge=self._judge,
            findings=self._findings,
        )

    def _chosen(self, items: list[ContractItem]) -> list[ContractItem]:
        wanted = list(self._arguments.chosen)
        replay = self._settings.replay
        if replay is not None:
            wanted = [(replay.subject, replay.contract)]
        if not wanted:
            return items
        existing = {(item.subject.name, item.contract.id) for item in items}
        missing = [
            f"{subject}::{contract}"
            for subject, contract in wanted
            if (subject, contract) not in existing
        ]
        if missing:
            ids = "\n".join(f"    {item.nodeid}" for item in items)
            raise UserError(f"nothing matches {', '.join(missing)}; there are:\n{ids}")
        return [item for item in items if (item.subject.name, item.contract.id) in wanted]


def _by_subject(items: Sequence[ContractItem]) -> dict[str, list[ContractItem]]:
    """Each subject's items once, however often its function was imported. Raises UserError."""
    nodes: dict[str, SubjectNode] = {}
    subjects: dict[str, list[ContractItem]] = {}
    for item in items:
        name = item.subject.name
        first = nodes.setdefault(name, item.node)
        if first is item.node:
            subjects.setdefault(name, []).append(item)
        elif item.subject != subjects[name][0].subject:
            raise UserError(
                f"two different subjects are called {name!r}: {first.place} and "
                f"{item.node.place}; give one of them another name: "
                "@checkpoint_subject(name=...)"
            )
    return subjects


def register_markers(config: pytest.Config) -> None:
    """Make ``--markers`` and ``--strict-markers`` know them."""
    for contract in CATALOGUE.values():
        config.addinivalue_line("markers", f"{contract.id}: {contract.promise}")
        underscored = contract.id.replace("-", "_")
        config.addinivalue_line("markers", f"{underscored}: the same as {contract.id}")
    for fault in sorted({fault for contract in CATALOGUE.values() for fault in contract.faults}):
        config.addinivalue_line("markers", f"{fault}: contracts that look at this fault")
