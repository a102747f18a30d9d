"""pytest's positional arguments under ``--checkpoint-contracts``: places to look, ids to keep."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.pyproject import FILE


@dataclass(frozen=True, slots=True)
class Arguments:
    paths: tuple[str, ...]
    """Where to collect, as the user gave it; empty: where pytest would look by itself."""
    chosen: tuple[tuple[str, str], ...]
    """(subject, contract): pasted ids."""

    def hold(self, file: Path, directory: Path) -> bool:
        """Whether ``file`` is one of the paths, or lies in the folder that one of them is.

        ``directory``: what they are relative to.
        """
        wanted = Path(os.path.realpath(file))
        return any(wanted.is_relative_to(os.path.realpath(directory / path)) for path in self.paths)


def read_arguments(config: pytest.Config, ids: Collection[str]) -> Arguments:
    """Tell pasted ids (``etl::state-never-corrupt``) from what pytest itself can resolve.

    Raises UserError for a pyproject.toml that is not the rootdir's.
    """
    paths: list[str] = []
    chosen: list[tuple[str, str]] = []
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return Arguments((), ())
    for argument in config.args:
        pasted = _pasted(argument, config.invocation_params.dir, ids)
        if pasted is None:
            _refuse_other_pyproject(argument, config.rootpath, config.invocation_params.dir)
            paths.append(argument)
        else:
            chosen.append(pasted)
    return Arguments(tuple(paths), tuple(chosen))


def is_file(path: str, file: Path, directory: Path) -> bool:
    """Whether ``path``, as the user gave it, is ``file``."""
    return os.path.realpath(directory / path) == os.path.realpath(file)


def _refuse_other_pyproject(path: str, rootdir: Path, directory: Path) -> None:
    given = directory / path
    if given.name == FILE and given.is_file() and not is_file(path, rootdir / FILE, directory):
        raise UserError(
            f"{path}: subjects are read from the rootdir's {FILE}, which is {rootdir / FILE}; "
            f"for this one, add --rootdir {shlex.quote(str(given.parent))}"
        )


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
