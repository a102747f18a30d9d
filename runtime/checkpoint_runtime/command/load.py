"""Find a pipeline by ``MODULE:PIPELINE``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from checkpoint_runtime.errors import DefinitionError
from checkpoint_runtime.pipeline import Pipeline
from checkpoint_runtime.texts import ended, words_of


def load_pipeline(named: str) -> Pipeline:
    """Import the module and take the pipeline out of it.

    :param named: ``package.module:name`` or ``path/to/file.py:name``; without ``:name`` the only
        pipeline of the module. The current directory is looked in first.
    :raises DefinitionError: no such module, no such name, or it is no pipeline. What the
        module itself raises is shown on stderr before that.
    """
    module_name, _, attribute = named.partition(":")
    if not module_name:
        raise DefinitionError(f"{named!r} names no module: write MODULE:PIPELINE.")
    module = _imported(module_name)
    if attribute:
        found: object = module
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise DefinitionError(
                    f"{module_name} has no {attribute!r}; {_pipelines_in(module)}."
                )
            found = getattr(found, part)
        if not isinstance(found, Pipeline):
            raise DefinitionError(
                f"{named} is of type {type(found).__name__}, not a Pipeline; "
                f"{_pipelines_in(module)}."
            )
        return found
    pipelines = [value for value in vars(module).values() if isinstance(value, Pipeline)]
    if len(pipelines) != 1:
        raise DefinitionError(f"say which pipeline: {module_name}:NAME; {_pipelines_in(module)}.")
    return pipelines[0]


def _imported(name: str) -> ModuleType:
    if name.endswith(".py"):
        return _imported_file(Path(name))
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    if not all(part.isidentifier() for part in name.split(".")):
        raise DefinitionError(
            f"{name!r} names no module: write MODULE:PIPELINE or FILE.py:PIPELINE."
        )
    with _own_errors(name):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            # One that the module itself imports is its own fault.
            if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
                raise
    raise DefinitionError(
        f"there is no module {name!r} in {here} or among what is installed: "
        "write MODULE:PIPELINE or FILE.py:PIPELINE."
    )


@contextmanager
def _own_errors(name: str) -> Iterator[None]:
    """What a module raises while it is imported is the user's to see, and no stage's failure."""
    try:
        yield
    except (Exception, SystemExit) as error:
        traceback.print_exception(error)
        raise DefinitionError(ended(f"{name} cannot be imported: {words_of(error)}")) from error


def _imported_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise DefinitionError(f"there is no file {path}.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise DefinitionError(f"{path} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    other = sys.modules.get(path.stem)
    if other is not None and not _is_of(other, path):
        raise DefinitionError(
            f"{path} has the name of a module that is in use, {path.stem!r}: rename the file."
        )
    # Before it runs, as an import does: its dataclasses are found by the name of their module.
    sys.modules[path.stem] = module
    with _own_errors(str(path)):
        spec.loader.exec_module(module)
    return module


def _is_of(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and os.path.exists(file) and path.samefile(file)


def _pipelines_in(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Pipeline)]
    return f"it has {', '.join(names)}" if names else "there is no pipeline in it"
