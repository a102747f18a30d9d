"""Names of classes, ``film.job:Frame``, and the classes of these names that are already imported.

A job can be started as a script, where its module is called ``__main__``, and be resumed by a
program that imports it, or the other way round. So a class of ``__main__`` is recorded under the
name its module would have when imported: that of ``python -m``, or else the stem of the script.
When it is looked up, a module of exactly this name comes first; then, between a script and a module
of a package, the last part of the name has to do, if only one class fits.
Nothing is imported and no code of a module or class is run: only their ``__dict__`` are read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import ModuleType
from typing import Any

from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.writer import Writer


def name_of(writer: Writer, kind: type) -> str:
    """The name under which :func:`find` finds this very class.

    :raises ValueProblem: there is none.
    """
    module = kind.__module__
    main = sys.modules.get("__main__")
    if module == "__main__" and main is not None:
        module = _real_name(main)
    name = f"{module}:{kind.__qualname__}"
    if "<locals>" in kind.__qualname__:
        writer.refuse(
            f"is of the class {name}, which is made within a function: move it to module level"
        )
    if _class(name) is not kind:
        writer.refuse(f"is of a class that is not to be found as {name}")
    return name


def find(name: str, accept: Callable[[Any], bool], what: str) -> Any:
    """The class of this name.

    :param accept: whether a class is of the right kind; ``what`` names this kind.
    :raises UnreadableValueError: it is not there, or not of this kind.
    """
    found = _class(name)
    if found is None:
        raise UnreadableValueError(
            f"the class {name:.200} is not there: it has been moved, renamed or removed, or its "
            "module is not imported yet"
        )
    if not accept(found):
        raise UnreadableValueError(f"the class {name:.200} is no {what} any more")
    return found


def _class(name: str) -> Any:
    module, _, qualname = name.partition(":")
    for candidate in _surely(module):
        kind = _class_in(candidate, qualname)
        if kind is not None:
            return kind
    likely = {id(kind): kind for other in _perhaps(module) if (kind := _class_in(other, qualname))}
    # Of two modules with one last name nobody could say which is meant.
    return likely.popitem()[1] if len(likely) == 1 else None


def _class_in(module: object, qualname: str) -> type | None:
    inner: object = module
    for part in qualname.split("."):
        # The dict and not getattr(): a lazy module would import something.
        inner = _dict(inner).get(part)
    return inner if isinstance(inner, type) else None


def _surely(name: str) -> Iterator[object]:
    main = sys.modules.get("__main__")
    if main is not None and _real_name(main) == name:
        yield main
    if name in sys.modules:
        yield sys.modules[name]


def _perhaps(name: str) -> Iterator[object]:
    folders, _, last = name.rpartition(".")
    if folders:
        # film.job was imported then; now it is started as a script: its stem is job.
        main = sys.modules.get("__main__")
        if _last_name(main) == last:
            yield main
        return
    # A script was started then: now it may be imported as a part of some package.
    for other in list(sys.modules.values()):
        if _last_name(other) == last:
            yield other


def _real_name(main: ModuleType) -> str:
    spec = _dict(main).get("__spec__")
    if spec is not None:
        return str(spec.name)
    file = _dict(main).get("__file__")
    return PurePath(file).stem if isinstance(file, str) else "__main__"


def _last_name(module: object) -> str | None:
    file = _dict(module).get("__file__")
    return PurePath(file).stem if isinstance(file, str) else None


def _dict(thing: object) -> Any:
    # Of a module or a class; of whatever else stands in sys.modules, nothing.
    if isinstance(thing, type):
        return type.__getattribute__(thing, "__dict__")
    if issubclass(type(thing), ModuleType):
        return object.__getattribute__(thing, "__dict__")
    return {}
