"""A pytest session under ``--checkpoint-contracts``: the hooks that hold its parts together."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from typing import Any

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.keeping.sessions import KeptSession
from pytest_checkpoint.record import abilities
from pytest_checkpoint.report.header import header_lines
from pytest_checkpoint.report.matrix import Row, render_matrix
from pytest_checkpoint.report.outcome import Shown
from pytest_checkpoint.session.arguments import Arguments, places_to_look, read_arguments
from pytest_checkpoint.session.catalogue import capabilities_of, read_catalogue
from pytest_checkpoint.session.collection import SubjectCollection, register_markers
from pytest_checkpoint.session.items import ContractItem, SubjectNode
from pytest_checkpoint.session.judging import ROW, USAGE, Judge
from pytest_checkpoint.session.replay_line import continue_command
from pytest_checkpoint.session.settings import Settings, read_settings

_ROW_ATTRIBUTE = "checkpoint_row"
_USAGE_ATTRIBUTE = "checkpoint_usage"
_REFUSAL = "checkpoint_refusal"
_SESSION = "checkpoint_session"


def register(config: pytest.Config) -> None:
    """Validate the options and take over the session. Raises pytest.UsageError."""
    for option in ("--setup-plan", "--setup-only"):  # the first implies the second
        if config.getoption(option):
            raise pytest.UsageError(f"{option} runs no test, so no contract would be judged")
    try:
        if not config.option.collectonly:
            abilities.require()
        ids = tuple(read_catalogue(config))
        settings = read_settings(config, ids, capabilities_of(config))
        arguments = read_arguments(config, ids)
        kept = _kept_session(config, settings)
    except UserError as mistake:
        raise pytest.UsageError(str(mistake)) from None
    register_markers(config)
    config.pluginmanager.register(
        ContractSession(config, settings, arguments, kept), "checkpoint-contracts-session"
    )


def _kept_session(config: pytest.Config, settings: Settings) -> KeptSession:
    """Of an xdist worker: the controller's. Raises UserError if there is nothing to continue."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        return KeptSession(config.rootpath, worker[_SESSION])
    if settings.continues:
        return KeptSession.interrupted(config.rootpath)
    return KeptSession(config.rootpath)


class ContractSession:
    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        arguments: Arguments,
        kept: KeptSession,
    ) -> None:
        self._config = config
        self._settings = settings
        self._arguments = arguments
        self._kept = kept
        self._judge = Judge(config, settings, arguments, kept)
        self._collection = SubjectCollection(config, settings, arguments, self._judge)
        self._rows: list[Row] = []
        self._mistakes: dict[str, None] = {}
        """What is wrong with the usage, found where pytest.UsageError cannot be raised."""
        self._waiting: list[str] = []
        """Subjects of the session that is continued of which the rest was not judged now."""

    def pytest_report_header(self) -> list[str]:
        return header_lines(self._settings, self._arguments, self._kept.began)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Leave to pytest only what it can resolve. Late: xdist hands the arguments on first."""
        if self._settings.subject is not None:
            session.config.args = []
        elif self._arguments.paths:
            session.config.args = self._collection.places()
        elif self._arguments.chosen:
            session.config.args = places_to_look(session.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(
        self, collector: pytest.Collector, obj: object
    ) -> SubjectNode | list[pytest.Item]:
        """Subjects only: ordinary tests are not even collected."""
        return self._collection.node(collector, obj) or []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        try:
            kept = self._collection.items(session, items)
        except UserError as mistake:
            if not hasattr(self._config, "workerinput"):
                raise pytest.UsageError(str(mistake)) from None
            # An xdist worker cannot end the session: the controller is told, and does.
            vars(self._config)["workeroutput"][_REFUSAL] = str(mistake)
            kept = []
        left = [item for item in items if isinstance(item, ContractItem) and item not in kept]
        if left:
            self._config.hook.pytest_deselected(items=left)
        items[:] = kept

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """One subject's items go to one worker: its id is all that stands before ``::``."""
        return importlib.import_module("xdist.scheduler").LoadScopeScheduling(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """All workers of xdist are of one session, which is there for as long as the controller."""
        self._kept.begin()
        node.workerinput[_SESSION] = self._kept.id

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        refusal = getattr(node, "workeroutput", {}).get(_REFUSAL)
        if refusal is not None:
            self._mistakes[refusal] = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call" and isinstance(item, ContractItem):
            row, usage = item.stash.get(ROW, None), item.stash.get(USAGE, None)
            if row is not None:
                setattr(report, _ROW_ATTRIBUTE, row.to_json())
            if usage is not None:
                setattr(report, _USAGE_ATTRIBUTE, usage)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = getattr(report, _ROW_ATTRIBUTE, None)
        if row is not None:
            self._rows.append(Row.from_json(row))
        usage = getattr(report, _USAGE_ATTRIBUTE, None)
        if usage is not None:
            self._mistakes[usage] = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if hasattr(self._config, "workerinput"):
            return
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not self._mistakes:
            self._mistakes["no contract was selected: -k, -m or --deselect left none"] = None
        if exitstatus == pytest.ExitCode.OK and self._nothing_applied():
            self._mistakes["no contract is applicable: nothing was judged"] = None
        if self._mistakes and exitstatus != pytest.ExitCode.INTERRUPTED:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR):
            self._kept.pause()
            return
        if self._settings.continues:
            self._waiting = self._kept.unfinished({row.subject for row in self._rows})
        if self._settings.continues and (self._waiting or not self._rows):
            self._kept.leave()  # not selected now; or only collected, or a mistake in the command
        else:
            self._kept.end()

    def _nothing_applied(self) -> bool:
        return bool(self._rows) and all(row.shown == Shown.NOT_APPLICABLE for row in self._rows)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        rows = [*self._rows, *self._judge.unfinished]
        if rows:
            terminalreporter.section("checkpoint-contracts")
            width = self._config.get_terminal_writer().fullwidth
            text = render_matrix(rows, width=width, colour=terminalreporter.hasmarkup)
            terminalreporter.write(text)
        if self._kept.is_paused:
            terminalreporter.write_line(f"to judge the rest: {continue_command(self._config)}")
        if self._waiting:
            terminalreporter.write_line(
                f"of the interrupted session these are still to be continued: "
                f"{', '.join(self._waiting)}"
            )
        for mistake in self._mistakes:
            terminalreporter.write_line(f"ERROR: {mistake}", red=True)
