"""Which contract items a session has: subjects found, ordinary tests left out, ids chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import pyproject
from pytest_checkpoint.session.arguments import Arguments, is_file
from pytest_checkpoint.session.catalogue import catalogue_of, require_none_came_late
from pytest_checkpoint.session.foreign import subjects_of_hooks
from pytest_checkpoint.session.items import ContractItem, Findings, Settles, SubjectNode
from pytest_checkpoint.session.near import meant
from pytest_checkpoint.session.registration import Declaration
from pytest_checkpoint.session.settings import Settings
from pytest_checkpoint.session.suggestion import how_to_name_one
from pytest_checkpoint.subject import Subject


class SubjectCollection:
    def __init__(
        self, config: pytest.Config, settings: Settings, arguments: Arguments, judge: Settles
    ) -> None:
        self._directory = config.invocation_params.dir
        self._pyproject = config.rootpath / pyproject.FILE
        self._settings = settings
        self._arguments = arguments
        self._judge = judge
        self._findings = Findings()
        self._left_in_pyproject: list[str] = []

    def places(self) -> list[str]:
        """What is left to pytest to look into: pyproject.toml itself would be no place for it."""
        return [path for path in self._arguments.paths if not self._is_pyproject(path)]

    def _is_pyproject(self, path: str) -> bool:
        return is_file(path, self._pyproject, self._directory)

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
        require_none_came_late(session.config)
        found = [item for item in collected if isinstance(item, ContractItem)]
        for node in self._nodes_beside_modules(session):
            found += [item for item in session.genitems(node) if isinstance(item, ContractItem)]
        if self._findings.mistakes:
            raise UserError("\n".join(dict.fromkeys(self._findings.mistakes)))
        if not found:
            if session.testsfailed:
                return []  # pytest reports the errors of collection, which may be why
            raise UserError(
                how_to_name_one(self._pyproject.parent, self._directory, self._left_in_pyproject)
            )
        subjects = _by_subject(found)
        return self._chosen([item for items in subjects.values() for item in items])

    def _nodes_beside_modules(self, session: pytest.Session) -> Iterator[SubjectNode]:
        """The command form's subject, or those in pyproject.toml, in conftests and plugins."""
        if self._settings.subject is not None:
            yield self._named(session, self._settings.subject)
            return
        yield from self._nodes_of_pyproject(session)
        paths = self._arguments.paths
        if paths and all("::" in path or self._is_pyproject(path) for path in paths):
            return  # single functions, or the tables, were asked for
        for plugin in session.config.pluginmanager.get_plugins():
            if isinstance(plugin, ModuleType):
                for value in vars(plugin).values():
                    declaration = Declaration.of(value)
                    if declaration is not None:
                        yield self._node(session, declaration)
        for declaration in subjects_of_hooks(session.config):
            yield self._node(session, declaration)

    def _nodes_of_pyproject(self, session: pytest.Session) -> Iterator[SubjectNode]:
        for table in pyproject.read_tables(self._pyproject.parent):
            if self._is_wanted(table):
                yield self._named(session, table)
            else:
                self._left_in_pyproject.append(table.name)

    def _is_wanted(self, table: pyproject.Table) -> bool:
        """By its name, by a path, or as all are where there is no path."""
        arguments, replay = self._arguments, self._settings.replay
        named = {subject for subject, _ in arguments.chosen}
        if replay is not None:
            named.add(replay.subject)
        return (
            not arguments.paths
            or table.name in named
            or arguments.hold(self._pyproject, self._directory)
        )

    def _named(self, session: pytest.Session, source: Subject | pyproject.Table) -> SubjectNode:
        return SubjectNode.from_parent(
            session,
            name=source.name,
            nodeid=source.name,
            source=source,
            judge=self._judge,
            findings=self._findings,
        )

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
            ids = [item.nodeid for item in items]
            told = "".join(f"\n    {one}" for one in ids)
            hint = meant(missing[0], ids).removeprefix("; ")
            raise UserError(
                f"nothing matches {', '.join(missing)}; there are:{told}"
                + (f"\n{hint}" if hint else "")
            )
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
                f"{item.node.place}; give one of them another name (a function's is "
                "@checkpoint_subject(name=...))"
            )
    return subjects


def register_markers(config: pytest.Config) -> None:
    """Make ``--markers`` and ``--strict-markers`` know them."""
    contracts = catalogue_of(config).values()
    for contract in contracts:
        config.addinivalue_line("markers", f"{contract.id}: {contract.promise}")
        underscored = contract.id.replace("-", "_")
        config.addinivalue_line("markers", f"{underscored}: the same as {contract.id}")
    for fault in sorted({fault for contract in contracts for fault in contract.faults}):
        config.addinivalue_line("markers", f"{fault}: contracts that look at this fault")
