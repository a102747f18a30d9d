"""The plugin's entry point: hooks only. Everything else is imported when it is asked for."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint import hookspecs
from pytest_checkpoint.fixtures import plugin as fixtures
from pytest_checkpoint.marking import SUBJECT_ATTRIBUTE
from pytest_checkpoint.session import asked

if TYPE_CHECKING:
    from collections.abc import Generator


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    asked.add_options(parser, _config(pluginmanager))


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """After whoever adds words to the command line."""
    yield
    asked.add_options_late(parser, early_config, args)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(fixtures, "checkpoint-contracts-fixtures")
    if not asked.asked_for(config):
        asked.refuse_strays(config)
        return
    from pytest_checkpoint.record.abilities import not_linux

    elsewhere = not_linux()
    if elsewhere is not None:
        raise pytest.UsageError(f"{asked.MASTER}: {elsewhere}")
    from pytest_checkpoint.session.plugin import register

    register(config)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, obj: object
) -> list[pytest.Item | pytest.Collector] | None:
    """A subject is never an ordinary test, whatever its function is called."""
    if isinstance(obj, FunctionType) and SUBJECT_ATTRIBUTE in obj.__dict__:
        return [] if not asked.asked_for(collector.config) else None
    return None


def _config(pluginmanager: pytest.PytestPluginManager) -> pytest.Config:
    config = pluginmanager.getplugin("pytestconfig")
    assert isinstance(config, pytest.Config)
    return config
