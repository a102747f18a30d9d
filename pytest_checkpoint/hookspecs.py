"""Hooks that other repositories implement, in a ``conftest.py`` or a plugin of their own.

Both are asked only under ``--checkpoint-contracts``. A ``conftest.py`` that is also to load where
this plugin is not installed marks them with ``@pytest.hookimpl(optionalhook=True)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checkpoint_contracts import Contract
    from pytest_checkpoint.api import CallableSubject, CommandSubject

    Subject = CommandSubject | CallableSubject


@pytest.hookspec
def pytest_checkpoint_subjects(
    config: pytest.Config,
) -> Mapping[str, Subject] | Iterable[tuple[str, Subject]]:
    """Return the jobs to judge, by name, besides those that ``@checkpoint_subject`` stands on."""
    raise NotImplementedError


@pytest.hookspec
def pytest_checkpoint_contracts(config: pytest.Config) -> Iterable[Contract]:
    """Return contracts of your own, by which every subject is judged besides the kit's.

    Asked when pytest is configured: the ``conftest.py`` has to be one that pytest loads at its
    start, in the rootdir, in a folder of ``testpaths`` or in one that is named on the command line.
    """
    raise NotImplementedError
