"""The plugin's entry point: hooks only. Everything else is imported when it is asked for."""

from __future__ import annotations

from types import FunctionType

import pytest

from pytest_checkpoint import hookspecs
from pytest_checkpoint.fixtures import plugin as fixtures
from pytest_checkpoint.marking import SUBJECT_ATTRIBUTE
from pytest_checkpoint.session import command_line


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    command_line.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(fixtures, "checkpoint-contracts-fixtures")
    if not command_line.asked_for(config):
        command_line.refuse_strays(config)
        return
    from pytest_checkpoint.record.abilities import not_linux

    elsewhere = not_linux()
    if elsewhere is not None:
        raise pytest.UsageError(f"{command_line.MASTER}: {elsewhere}")
    from pytest_checkpoint.session.plugin import register

    register(config)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, obj: object
) -> list[pytest.Item | pytest.Collector] | None:
    """A subject is never an ordinary test, whatever its function is called."""
    if isinstance(obj, FunctionType) and SUBJECT_ATTRIBUTE in obj.__dict__:
        return [] if not command_line.asked_for(collector.config) else None
    return None
