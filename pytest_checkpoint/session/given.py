"""The options that are in force: those of the command line, then those of pytest's configuration.

The configuration is what pytest itself reads: pytest.ini, tox.ini, setup.cfg, pyproject.toml; the
key of ``--checkpoint-time-budget`` is ``checkpoint_time_budget``. A path in it is relative to the
file that it stands in, as pytest's own are.
"""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session import command_line
from pytest_checkpoint.session.command_line import Flag

_UNSAID = object()


@dataclass(frozen=True, slots=True)
class Given:
    """One option that is in force."""

    flag: Flag
    values: list[str]
    """As the user wrote them, paths of a configuration made absolute; a switch has none."""
    said: str
    """How messages call it: ``--checkpoint-seed``, or ``checkpoint_seed (/…/pytest.ini)``."""

    @property
    def value(self) -> str:
        return self.values[0]


def all_given(config: pytest.Config) -> Iterator[Given]:
    """Raises UserError for a value in the configuration that has the wrong type."""
    typed = {flag.name: values for flag, values in command_line.given(config)}
    configurable = {flag.name for flag in command_line.EXPLORATION}
    for flag in command_line.FLAGS:
        if flag.name in typed:
            yield Given(flag, typed[flag.name], flag.name)
        elif flag.name in configurable:
            configured = _configured(config, flag)
            if configured is not None:
                yield configured


def _configured(config: pytest.Config, flag: Flag) -> Given | None:
    said = f"{flag.key} ({_source(config, flag)})"
    value = _value(config, flag, said)
    if flag.kind == "bool":
        if value is not None and not isinstance(value, bool):
            raise UserError(f"{said} must be true or false, not {value!r}")
        return Given(flag, [], said) if value else None
    values = _texts(flag, said, value)
    if flag.is_path:
        folder = config.rootpath if config.inipath is None else config.inipath.parent
        values = [text and os.path.normpath(folder / text) for text in values]
    return Given(flag, values, said) if values else None


def _source(config: pytest.Config, flag: Flag) -> str:
    overrides = config.getoption("override_ini") or []
    if config.inipath is None or any(word.startswith(f"{flag.key}=") for word in overrides):
        return "-o"
    return str(config.inipath)


def _texts(flag: Flag, said: str, value: object) -> list[str]:
    """Numbers as texts: whoever reads the option knows what it must be."""
    if value is None:
        return []
    if flag.kind == "linelist":
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise UserError(f"{said} must be a list of strings, not {value!r}")
        return list(value)
    if isinstance(value, list) and flag.metavar == "LIST":
        value = ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserError(f"{said} must be a string or a number, not {value!r}")
    return [str(value)]


def _value(config: pytest.Config, flag: Flag, said: str) -> object:
    """What pytest makes of the key; of a native value that it has no use for, the value itself."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a list where a string belongs: told by ourselves
            return config.getini(flag.key)
    except (TypeError, ValueError, pytest.UsageError) as error:
        native = _native(config.inipath, flag.key)
        if native is _UNSAID:
            raise UserError(f"{said}: {error}") from None
        return native


def _native(path: Path | None, key: str) -> object:
    """A value of ``[tool.pytest]`` or ``[pytest]`` in a TOML file, which pytest has read before."""
    if path is None or path.suffix != ".toml":
        return _UNSAID
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    for table in (document.get("pytest"), document.get("tool", {}).get("pytest")):
        if isinstance(table, Mapping) and key in table:
            return table[key]
    return _UNSAID
