"""pytest's positional arguments under ``--checkpoint-contracts``: places to look, ids to keep."""

from __future__ import annotations

import glob
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Arguments:
    paths: tuple[str, ...]
    """Where to collect, as the user gave it; empty: where pytest would look by itself."""
    chosen: tuple[tuple[str, str], ...]
    """(subject, contract): pasted ids."""


def read_arguments(config: pytest.Config, ids: Collection[str]) -> Arguments:
    """Tell pasted ids (``etl::state-never-corrupt``) from what pytest itself can resolve."""
    paths: list[str] = []
    chosen: list[tuple[str, str]] = []
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return Arguments((), ())
    for argument in config.args:
        pasted = _pasted(argument, config.invocation_params.dir, ids)
        if pasted is None:
            paths.append(argument)
        else:
            chosen.append(pasted)
    return Arguments(tuple(paths), tuple(chosen))


def _pasted(argument: str, directory: Path, ids: Collection[str]) -> tuple[str, str] | None:
    """pytest prints ids relative to where it was started: ``../etl::CONTRACT`` in a subfolder."""
    place, separator, contract = argument.partition("::")
    if not separator or "::" in contract or place.endswith(".py"):
        return None
    if contract not in ids and (directory / place).exists():
        return None
    return place.rpartition("/")[2], contract


def places_to_look(config: pytest.Config) -> list[str]:
    """What pytest collects when no argument is given."""
    if config.invocation_params.dir == config.rootpath:
        patterns: list[str] = config.getini("testpaths")
        found = [
            path for pattern in patterns for path in sorted(glob.glob(pattern, recursive=True))
        ]
        if found:
            return found
    return [str(config.invocation_params.dir)]
