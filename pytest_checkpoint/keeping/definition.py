"""What a subject's examination depends on: only where all of it is the same may it be gone on with.

Compared are the subject's fields and the options that decide what is explored and how, the kit's
own files, and the files that the commands name (``-m NAME`` too), with the Python modules beside
them. What a job imports from elsewhere, and what it reads, is not known and so not compared.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

import checkpoint_contracts
import pytest_checkpoint
from checkpoint_contracts.own import is_own
from pytest_checkpoint.callables.reference import defining_file
from pytest_checkpoint.options import Options
from pytest_checkpoint.subject import Subject

_NO_MATTER: Final = frozenset({"expected_failures", "defined_at", "time_budget_s"})
"""Fields of a subject that only decide how long, or how a verdict is shown."""
_MAY_DIFFER: Final = frozenset(
    {"rootdir", "time_budget_s", "keep_bytes", "session", "continues", "catalogue", "typed"}
)
"""Options that decide how long, not what; of the catalogue, what decides it is looked at apart."""
_IN_WORDS: Final = {"contracts": "the choice of contracts (-k, -m, SUBJECT::CONTRACT)"}
"""Of what is none of the options on the command line."""
_LARGEST: Final = 64 << 20
"""Of a larger file its size and time are compared."""


def definition_of(subject: Subject, options: Options) -> Mapping[str, str]:
    """Part, in words → a digest of what it is."""
    parts = {"the kit": _kit()}
    for field in dataclasses.fields(subject):
        if field.name not in _NO_MATTER:
            parts[f"the subject's {field.name}"] = _digest(_plain(getattr(subject, field.name)))
    for field in dataclasses.fields(options):
        if field.name not in _MAY_DIFFER:
            name = _IN_WORDS.get(field.name, f"the option {field.name}")
            parts[name] = _digest(_plain(getattr(options, field.name)))
    for contract in options.catalogue.values():
        if is_own(contract):  # the kit's are among its files; what is judged anew may differ
            kinds: object = getattr(contract, "kinds", ())
            asks = _plain(contract.faults), _plain(contract.needs), _plain(kinds)
            parts[f"the contract {contract.id}"] = _digest(repr(asks))
    for path in sorted(set(_files(subject))):
        parts[f"the file {path}"] = _of_file(path)
    return parts


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The parts that are not the same."""
    names = dict.fromkeys([*before, *now])
    return [name for name in names if before.get(name) != now.get(name)]


def _files(subject: Subject) -> Iterator[Path]:
    """Those that the commands name, and the modules beside a Python script."""
    for command in _commands(subject):
        program = shutil.which(command[0]) if os.sep not in command[0] else None
        defining = defining_file(command) or command[0]
        words = [name for word in command[1:] for name in _named(word)]
        words += _modules(command, subject)
        for word in (program or command[0], *words, defining):
            path = subject.working_directory / word
            if _is_file(path):
                yield path
                if path.suffix == ".py":
                    yield from path.parent.glob("*.py")


def _named(word: str) -> Iterator[str]:
    """``job.py``; what follows in ``--config=job.toml``; and each of ``sh -c 'python job.py'``."""
    yield word
    yield word.partition("=")[2]
    yield from word.split()


def _modules(command: tuple[str, ...], subject: Subject) -> Iterator[str]:
    """The files of ``-m NAME``, found as this interpreter finds them: nothing is imported."""
    for option, name in itertools.pairwise(command):
        if option == "-m":
            yield from _files_of(name.split("."), [str(subject.working_directory), *sys.path])


def _files_of(parts: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), folders)
        if spec is None:
            return
        if spec.origin is not None:
            yield spec.origin
        if spec.submodule_search_locations is None:
            return
        folders = spec.submodule_search_locations
    for folder in folders:
        yield os.path.join(folder, "__main__.py")


def _commands(subject: Subject) -> Iterator[tuple[str, ...]]:
    yield from (subject.run, subject.resume, subject.check, *subject.changed)
    if subject.setup is not None:
        yield subject.setup
    if isinstance(subject.handoff, tuple):
        yield subject.handoff
    if subject.heartbeat is not None and subject.heartbeat.command:
        yield subject.heartbeat.command
    if subject.s3 is not None and subject.s3.reconcile is not None:
        yield subject.s3.reconcile


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a word that is far too long for a name
        return False


def _of_file(path: Path) -> str:
    try:
        status = path.stat()
        if status.st_size > _LARGEST:
            return _digest(f"{status.st_size} {status.st_mtime_ns}")
        return _digest(path.read_bytes())
    except OSError as error:
        return f"unreadable: {error.strerror}"


@functools.cache
def _kit() -> str:
    """Of its files: what is developed has one version for long."""
    digest = hashlib.sha256()
    for package in (pytest_checkpoint, checkpoint_contracts):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _plain(value: object) -> str:
    """A text that is the same in every process: sets have no order of their own."""
    if isinstance(value, Mapping):
        return repr(sorted((str(key), _plain(item)) for key, item in value.items()))
    if isinstance(value, frozenset):
        return repr(sorted(map(_plain, value)))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return repr([_plain(item) for item in value])
    return repr(value)


def _digest(content: str | bytes) -> str:
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogateescape")
    return hashlib.sha256(content).hexdigest()[:16]
