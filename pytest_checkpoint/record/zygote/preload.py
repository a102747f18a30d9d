"""Which modules are loaded beforehand, and where a subject's own code lies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlparse

from pytest_checkpoint.record.zygote.command import Fresh
from pytest_checkpoint.record.zygote.imports import Imports, Place, Wanted

_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})


class Started(Protocol):
    """What is said of a command: see :class:`~.interpreter.Origin`."""

    @property
    def script(self) -> str | None: ...
    @property
    def module(self) -> str | None: ...
    @property
    def directory(self) -> str: ...


def first_path(origin: Started, about: Mapping[str, Any]) -> str | None:
    """What a fresh interpreter puts before ``sys.path``; None: nothing."""
    if about["safe"]:
        return None
    if origin.script is None:
        return os.path.realpath(origin.directory)
    return os.path.dirname(os.path.realpath(os.path.join(origin.directory, origin.script)))


def require_no_own_start(origin: Started, about: Mapping[str, Any]) -> None:
    """Own code runs anew in every process: also what Python itself imports when it starts."""
    own = [place.folder for place in _places(origin, about) if place.own]
    for file in about["customized"]:
        if file and Path(origin.directory, file).parent in own:
            raise Fresh(f"{file} is its own and runs when Python starts")


def wanted(origin: Started, about: Mapping[str, Any], learned: Iterable[str] = ()) -> list[Wanted]:
    """The installed modules that the command imports for certain, in order; then the learned.

    :class:`~.command.Fresh` if it may find another one first.
    """
    imports = Imports(_places(origin, about), about["builtin"], Path(origin.directory))
    if origin.module is not None:
        found = imports.of_module(origin.module)
    else:
        found = imports.of_script(Path(origin.directory, origin.script or ""))
    found = (*found, *((name, None) for name in learned if imports.is_installed(name)))
    other = imports.other(name for name, _ in found)
    if other is not None:
        raise Fresh(f"{other} has the name of an installed module, and sys.path may be changed")
    return list(found)


def _places(origin: Started, about: Mapping[str, Any]) -> list[Place]:
    """Installed is the library, what lies in site-packages, and what is there in editable mode.

    All else is the subject's own: the script's folder always, and whatever PYTHONPATH names.
    """
    library = Path(about["library"]).parent.parent
    first = first_path(origin, about)
    places = [] if first is None else [Place(Path(first), own=True)]
    folders = [Path(origin.directory, entry) for entry in about["path"]]
    named = {Path(origin.directory, entry) for entry in about["named"].split(os.pathsep) if entry}
    editable = [root for folder in folders for root in _editable(folder)]
    for folder in folders:
        installed = (
            folder.is_relative_to(library)
            or not _PACKAGES.isdisjoint(folder.parts)
            or (folder not in named and any(folder.is_relative_to(root) for root in editable))
        )
        places.append(Place(folder, own=not installed))
    return places


def _editable(packages: Path) -> Iterator[Path]:
    """The folders whose distributions are installed in ``packages`` in editable mode."""
    for told in packages.glob("*.dist-info/direct_url.json"):
        try:
            about = json.loads(told.read_bytes())
        except ValueError:
            continue  # of no use to anybody
        if about.get("dir_info", {}).get("editable"):
            yield Path(unquote(urlparse(about["url"]).path))


def require_no_shadow(first: str | None, loaded: Iterable[str]) -> None:
    """A file beside the script that has the name of a loaded module would have come first."""
    if first is None:
        return
    beside = {name.partition(".")[0]: name for name in os.listdir(first)}
    for name in loaded:
        if name in beside:
            raise Fresh(f"{os.path.join(first, beside[name])} has the name of an installed module")
