"""Whether a session of pytest has anything to do with the kit.

Imported at every start of pytest, so it imports nothing but the standard library and pytest. The
sixty options, and as many keys of the configuration, are added where somebody may mean one of them:
adding them takes as long as all the rest that the plugin does in a session of others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

MASTER: Final = "--checkpoint-contracts"
_ADDED: Final = pytest.StashKey[bool]()


def add_options(parser: pytest.Parser, config: pytest.Config) -> None:
    """The main option; and all others where one of them is mentioned anywhere, or help is."""
    parser.getgroup(
        "checkpoint-contracts", "checkpoint-contracts: does the job really resume?"
    ).addoption(
        MASTER,
        action="store_true",
        help="instead of tests, judge subjects: record one run of each, crash it everywhere, "
        "resume, and say which promise broke",
    )
    words = [
        *map(str, config.invocation_params.args),
        os.environ.get("PYTEST_ADDOPTS", ""),
        *config.getini("addopts"),
        "" if config.inipath is None else config.inipath.read_text(errors="replace"),
    ]
    if _is_meant(words):  # in a worker of xdist they are those of the controller
        _add_others(parser, config)


def add_options_late(parser: pytest.Parser, config: pytest.Config, words: Iterable[str]) -> None:
    """The others, where a plugin has added some word that is one."""
    if not config.stash.get(_ADDED, False) and _is_meant(words):
        _add_others(parser, config)


def _is_meant(words: Iterable[str]) -> bool:
    """Help is asked for by ``-h`` too, also behind other letters; and a file may hold anything."""
    return any(
        "--checkpoint-" in word
        or "checkpoint_" in word
        or word == "--help"
        or word.startswith("@")
        or (word.startswith("-") and word[1:].isalpha() and "h" in word)
        for word in words
    )


def _add_others(parser: pytest.Parser, config: pytest.Config) -> None:
    from pytest_checkpoint.session.command_line import add_options

    add_options(parser)
    config.stash[_ADDED] = True


def asked_for(config: pytest.Config) -> bool:
    """Whether contracts are to be judged at all."""
    return bool(config.getoption("checkpoint_contracts"))


def refuse_strays(config: pytest.Config) -> None:
    """Raise UsageError for options that have no effect, because the main one is missing."""
    if config.stash.get(_ADDED, False):
        from pytest_checkpoint.session import command_line

        command_line.refuse_strays(config, MASTER)
