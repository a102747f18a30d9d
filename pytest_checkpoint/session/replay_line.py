"""The command that crashes one state again: written under every failure, read by its option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.asked import MASTER
from pytest_checkpoint.session.given import all_given
from pytest_checkpoint.session.near import meant

_OPTION = "--checkpoint-replay"
_CONTINUE = "--checkpoint-continue"
_TARGET = re.compile(
    r"(?P<subject>.+?)::(?P<contract>[^:@\s]+)@(?P<point>\d+\.[\w-]+(?:\+\d+\.[\w-]+)*)", re.ASCII
)
_PASSED_ON = ("-c", "--config-file", "--rootdir", "-p", "-o", "--override-ini", "--import-mode")
"""pytest's own options that decide what is found and how; each takes a value."""

_JOINED = tuple(f"{option}=" for option in _PASSED_ON if option.startswith("--"))


@dataclass(frozen=True, slots=True)
class ReplayTarget:
    subject: str
    contract: str
    point: str
    """A crash point's id: ``41.kill``, ``41.kill+5.kill``."""

    def __str__(self) -> str:
        return f"{self.subject}::{self.contract}@{self.point}"

    @classmethod
    def parse(cls, text: str, ids: Collection[str]) -> ReplayTarget:
        match = _TARGET.fullmatch(text.strip())
        if match is None:
            raise UserError(
                f"{_OPTION} {text!r} is not SUBJECT::CONTRACT@OP.VARIANT, as in "
                "'etl::state-never-corrupt@41.kill': copy it from a failure's last line"
            )
        if match["contract"] not in ids:
            raise UserError(
                f"{_OPTION} {text!r}: there is no contract {match['contract']!r}; there are: "
                f"{', '.join(sorted(ids))}{meant(match['contract'], ids)}"
            )
        return cls(match["subject"], match["contract"], match["point"])


def replay_command(config: pytest.Config, paths: Sequence[str], target: ReplayTarget) -> str:
    """A line for a shell, complete: all that the user gave that decides what is replayed.

    What a configuration says is spelled out: the line is good where that has changed, too.
    """
    words = ["pytest", MASTER]
    words += _passed_on(config.invocation_params.args)
    for given in all_given(config):
        if given.flag.name in (_OPTION, _CONTINUE):
            continue
        if given.flag.kind == "bool":
            words.append(given.flag.name)
        for value in given.values:
            words += _option(given.flag.name, value)
    words += _option(_OPTION, str(target))
    return shlex.join([*words, *paths])


def continue_command(config: pytest.Config) -> str:
    """A line for a shell: what the user typed, to go on with it."""
    words = [str(argument) for argument in config.invocation_params.args]
    added = [] if _CONTINUE in words else [_CONTINUE]
    return shlex.join(["pytest", *words, *added])


def _option(name: str, value: str) -> list[str]:
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _passed_on(arguments: Sequence[object]) -> Iterator[str]:
    words = iter([str(argument) for argument in arguments])
    for word in words:
        if word in _PASSED_ON:
            value = next(words, None)
            if value is not None:
                yield from (word, value)
        elif word.startswith(_JOINED) or re.match(r"-[cpo]\S", word):
            yield word
