"""What a script imports, by reading it: the modules that can be loaded before anything runs.

Only installed modules are loaded beforehand, the standard library's and those of distributions. The
subject's own code (beside the script, in PYTHONPATH) is read for what *it* imports, and runs anew
in every process, as it may look at its environment or make files. Only what a module imports at its
top level counts, in order: not what is imported within functions or under a condition.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeGuard

Wanted = tuple[str, tuple[str, ...] | None]
"""A module, and the names taken ``from`` it (which may be modules themselves).

None: it was seen to be imported, perhaps without success.
"""

_MOST_BYTES: Final = 1 << 20
_MOST_FILES: Final = 1000
_PATH: Final = {("sys", "path"), ("site", "addsitedir")}
"""By what folders are added to look for modules in."""
_MOST_WORDS: Final = 200
_LONGEST_WORD: Final = 200
_ABOVE: Final = 3
"""Folders above a file, its own among them, from which another may be named."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of ``sys.path``."""

    folder: Path
    own: bool
    """The subject's own code lies here."""


@dataclass(frozen=True, slots=True)
class _Found:
    own: bool
    files: tuple[Path, ...]
    """Source of the package and of what was asked for in it, as far as there is some."""


class Imports:
    """The modules reached from one file. ``builtin``: names that need no file."""

    def __init__(
        self, places: Sequence[Place], builtin: Sequence[str], directory: Path | None = None
    ) -> None:
        self._places = places
        self._directory = directory
        self._added: dict[Path, None] = {}
        self._builtin = frozenset(builtin)
        self._read: set[Path] = set()
        self._wanted: dict[Wanted, None] = {}

    def of_script(self, script: Path) -> tuple[Wanted, ...]:
        self._visit(script, "", is_main=True)
        return tuple(self._wanted)

    def of_module(self, name: str) -> tuple[Wanted, ...]:
        """For ``-m name``; a package is run by its ``__main__``."""
        found = self._find(name)
        if found is not None:
            package = bool(found.files) and found.files[-1].name == "__init__.py"
            self._import(f"{name}.__main__" if package else name, (), is_main=True)
        return tuple(self._wanted)

    def is_installed(self, name: str) -> bool:
        """Whether it is found, and is none of the subject's own."""
        top = name.partition(".")[0]
        if top in self._builtin:
            return False
        found = self._find(top)
        return found is not None and not found.own

    def other(self, names: Iterable[str]) -> Path | None:
        """A module of one of these names that a file which was read may put before the installed.

        It mentions ``sys.path``. Which folders it adds there only running it would tell: all that
        it can name are looked into.
        """
        known = {place.folder.resolve() for place in self._places}
        tops = dict.fromkeys(name.partition(".")[0] for name in names)
        for folder in self._added:
            if folder in known:
                continue
            for top in tops:
                file = _source(folder, top)
                if file is not None:
                    return file
        return None

    # --- reading ---

    def _visit(self, file: Path, package: str, *, is_main: bool = False) -> None:
        if file in self._read or len(self._read) >= _MOST_FILES:
            return
        self._read.add(file)
        try:
            if file.stat().st_size > _MOST_BYTES:
                return
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return  # whoever runs it will be told
        if _mentions_path(tree):
            self._added |= dict.fromkeys(_folders_named(file, self._directory, tree))
        for statement in _executed(tree.body, is_main=is_main):
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    self._import(alias.name, ())
            else:
                module = _absolute(statement, package)
                if module is not None:
                    self._import(module, tuple(alias.name for alias in statement.names))

    def _import(self, name: str, names: tuple[str, ...], *, is_main: bool = False) -> None:
        top = name.partition(".")[0]
        if top in self._builtin or top == "__future__":
            return
        found = self._find(name)
        if found is None:
            return
        if not found.own:
            self._wanted[(name, () if is_main else names)] = None
            return
        package = found.files and found.files[-1].name == "__init__.py"
        for file, owner in zip(found.files, _packages(name, len(found.files)), strict=True):
            last = file == found.files[-1]
            within = owner if file.name == "__init__.py" else owner.rpartition(".")[0]
            self._visit(file, within, is_main=is_main and last)
        if package:
            for one in names:
                self._import_if_module(f"{name}.{one}")

    def _import_if_module(self, name: str) -> None:
        found = self._find(name)
        if found is not None and found.files:
            self._import(name, ())

    # --- finding ---

    def _find(self, name: str) -> _Found | None:
        top, *rest = name.split(".")
        for place in self._places:
            if not place.folder.is_dir():
                continue
            file = _source(place.folder, top)
            if file is not None:
                if not place.own:
                    return _Found(own=False, files=())
                files = [file]
                for part in rest:
                    if file.name != "__init__.py":
                        return None
                    below = _source(file.parent, part)
                    if below is None:
                        return None
                    file = below
                    files.append(file)
                return _Found(own=True, files=tuple(files))
            if _is_extension(place.folder, top) or (place.folder / top).is_dir():
                return _Found(own=place.own, files=())
        return None


def _source(folder: Path, name: str) -> Path | None:
    for candidate in (folder / name / "__init__.py", folder / f"{name}.py"):
        if candidate.is_file():
            return candidate
    return None


def _is_extension(folder: Path, name: str) -> bool:
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(one.startswith(f"{name}.") and one.endswith(".so") for one in names)


def _packages(name: str, count: int) -> list[str]:
    """``a``, ``a.b``, ``a.b.c``."""
    parts = name.split(".")
    return [".".join(parts[: length + 1]) for length in range(count)]


def _executed(body: Sequence[ast.stmt], *, is_main: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that are made for certain when a module with this body is run."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.Try):
            for part in (statement.body, statement.orelse, statement.finalbody):
                yield from _executed(part, is_main=is_main)
        elif isinstance(statement, ast.With) or (is_main and _asks_for_main(statement)):
            yield from _executed(statement.body, is_main=is_main)


def _asks_for_main(statement: ast.stmt) -> TypeGuard[ast.If]:
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Compare):
        return False
    test = statement.test
    return (
        isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
    )


def _mentions_path(tree: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and (_name(node.value), node.attr) in _PATH)
        or (
            isinstance(node, ast.ImportFrom)
            and any((node.module, alias.name) in _PATH for alias in node.names)
        )
        for node in ast.walk(tree)
    )


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _folders_named(file: Path, directory: Path | None, tree: ast.Module) -> Iterator[Path]:
    """Those above the file, and all that its texts name below them: alone, and as one path."""
    words = {"": None}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.For):
            texts = _texts(statement)
            parts = [text.strip(os.sep) for text in texts]
            words |= dict.fromkeys([*texts, *parts, os.path.join("", *parts)])
    own = file.resolve().parent
    bases = [*(own, *own.parents)[:_ABOVE], *([] if directory is None else [directory])]
    for word in list(words)[:_MOST_WORDS]:
        for base in bases:
            if os.path.isdir(base / word):
                yield (base / word).resolve()


def _texts(statement: ast.stmt) -> list[str]:
    """What may name folders, in the order in which it is written."""
    found = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    texts = [str(node.value) for node in found]
    return [text for text in texts if len(text) <= _LONGEST_WORD and text.isprintable()]


def _absolute(statement: ast.ImportFrom, package: str) -> str | None:
    """The full name of what is imported from; None if it cannot be known."""
    if not statement.level:
        return statement.module
    parts = package.split(".") if package else []
    if statement.level > len(parts):
        return None
    base = parts[: len(parts) - statement.level + 1]
    return ".".join([*base, statement.module] if statement.module else base)
