"""The module that a file is, imported by its path: as pytest does in ``importlib`` mode.

Standard library only: it runs in the process that is to call the function.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def load(name: str, file: Path) -> ModuleType:
    """The module ``name``, of ``file``.

    Where ``sys.path`` leads there by the name, it is imported as anybody would; else by its path,
    and the packages that it lies in first, so that its relative imports work.
    """
    known = sys.modules.get(name)
    if known is not None and _is_from(getattr(known, "__file__", None), file):
        return known
    if _leads_to(name, file):
        return importlib.import_module(name)
    return _by_path(name, file)


def lookup(space: Any, qualified_name: str) -> Any:
    """What stands in a module (or a namespace) under a name with dots in it. LookupError."""
    first, *rest = qualified_name.split(".")
    try:
        found = space[first] if isinstance(space, dict) else getattr(space, first)
        for part in rest:
            found = getattr(found, part)
    except (KeyError, AttributeError) as error:
        raise LookupError(qualified_name) from error
    return found


def _leads_to(name: str, file: Path) -> bool:
    """Whether ``import name`` would find this very file."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # no such package, or another one's
        return False
    return spec is not None and _is_from(spec.origin, file)


def _is_from(origin: object, file: Path) -> bool:
    return isinstance(origin, str) and Path(origin).resolve() == file.resolve()


def _by_path(name: str, file: Path) -> ModuleType:
    folder = file.parent.parent if file.name == "__init__.py" else file.parent
    above, _, own = name.rpartition(".")
    parent = _package(above, folder)
    if parent is None:
        name = own  # it lies in no package, or in one whose folder has another name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    if parent is not None:
        setattr(parent, own, module)
    return module


def _package(name: str, folder: Path) -> ModuleType | None:
    """The package that a folder is, and those above it; None if the folder has another name."""
    if not name or folder.name != name.rpartition(".")[2]:
        return None
    if name in sys.modules:
        return sys.modules[name]
    init = folder / "__init__.py"
    if init.is_file():
        return load(name, init)
    above, _, own = name.rpartition(".")
    parent = _package(above, folder.parent)
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    if parent is not None:
        setattr(parent, own, package)
    return package
