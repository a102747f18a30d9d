"""Which program of a repository is likely to be the job: a guess for examples, made cheaply.

It looks at the console scripts in pyproject.toml, and at files ``*.py`` not far below the rootdir
that can be started (``if __name__ == "__main__"``). Nothing is imported or run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tomllib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

_DEPTH: Final = 2
"""Folders below the rootdir."""
_MOST_ENTRIES: Final = 2000
_MOST_READ: Final = 100
_MOST_BYTES: Final = 256 << 10
_STARTED: Final = re.compile(rb"^if __name__ == ['\"]__main__['\"]\s*:", re.MULTILINE)
_WORDS: Final = frozenset(
    ("train", "job", "pipeline", "etl", "extract", "ingest", "process", "run", "main", "worker")
)
_OF_OTHERS: Final = frozenset(
    ("tests", "test", "docs", "build", "dist", "node_modules", "site-packages", "__pycache__")
)
_NO_JOBS: Final = re.compile(r"setup|conftest|noxfile|manage|__\w+__|test_.*|.*_test")


@dataclass(frozen=True, slots=True)
class LikelyJob:
    name: str
    """A name for the subject."""
    command: str
    """Quoted for a shell, without the workspace: ``python train.py``."""


def likely_job(rootdir: Path, directory: Path) -> LikelyJob:
    """``directory``: where pytest, and so the command, is started. ``job.py`` if there is none."""
    found = [*_console_scripts(rootdir), *_scripts(rootdir, directory)]
    for candidate in found:
        if _WORDS & set(re.split(r"\W|_", candidate.name)):
            return candidate
    return found[0] if found else LikelyJob("job", _python("job.py"))


def _python(script: str) -> str:
    return shlex.join(["python" if shutil.which("python") else "python3", script])


def _console_scripts(rootdir: Path) -> Iterator[LikelyJob]:
    try:
        document: object = tomllib.loads((rootdir / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # whoever reads it for subjects has told
    for keys in (("project", "scripts"), ("tool", "poetry", "scripts")):
        table = document
        for key in keys:
            table = table.get(key) if isinstance(table, Mapping) else None
        for name in table if isinstance(table, Mapping) else ():
            yield LikelyJob(name, shlex.quote(name))


def _scripts(rootdir: Path, directory: Path) -> Iterator[LikelyJob]:
    read = 0
    for path in _python_files(rootdir):
        if _NO_JOBS.fullmatch(path.stem):
            continue
        read += 1
        if read > _MOST_READ:
            return
        if _can_be_started(path):
            yield LikelyJob(path.stem, _python(os.path.relpath(path, directory)))


def _can_be_started(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _STARTED.search(file.read(_MOST_BYTES)) is not None
    except OSError:
        return False


def _python_files(rootdir: Path) -> Iterator[Path]:
    """The nearest first, by name in each folder."""
    folders = deque([(rootdir, 0)])
    entries = 0
    while folders and entries < _MOST_ENTRIES:
        folder, depth = folders.popleft()
        try:
            with os.scandir(folder) as listing:
                inside = list(islice(listing, _MOST_ENTRIES - entries))
        except OSError:
            continue
        entries += len(inside)
        for entry in sorted(inside, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEPTH and _is_own(Path(entry.path)):
                    folders.append((Path(entry.path), depth + 1))
            elif entry.name.endswith(".py"):
                yield Path(entry.path)


def _is_own(folder: Path) -> bool:
    """No tests, nothing hidden or made, no virtual environment."""
    hidden = folder.name.startswith(".") or folder.name in _OF_OTHERS
    return not hidden and not (folder / "pyvenv.cfg").exists()
