"""Files beside the workspace and in TMPDIR that look like the job's own."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.record.describe import normalized, shown_path
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import TEMPORARY, Create, NodeKind, Operation

OTHER: Final = "-other"
"""The bystander's workspace is the job's with this behind it."""
_MOST: Final = 8
"""Forms of names in TMPDIR."""
_RANDOM: Final = "k2w9x4q7"
_NUMBER: Final = "4711"
_TEMPFILE: Final = "tmp*"
"""As Python's tempfile names what it makes."""
_IN_TMPDIR: Final = "$TMPDIR/"
_TEXT: Final = b"not the job's\n"
_WITHIN: Final = "kept"
"""The file in a folder that is put there."""
_AGE_S: Final = 2 * 24 * 3600


@dataclass(frozen=True, slots=True)
class _Planted:
    path: Path
    shown: str
    is_directory: bool


class BystanderFiles:
    """Of one subject: which names, put there and looked after."""

    def __init__(self, bench: Bench, recording: Recording) -> None:
        workspace = bench.client.workspace
        beside = workspace.with_name(workspace.name + OTHER)
        found = [
            _Planted(beside, "{workspace}" + OTHER, is_directory=True),
            _Planted(workspace.with_name(f"{workspace.name}.bak"), "{workspace}.bak", False),
        ]
        if not bench.options.keep_tmpdir:
            for name, is_directory in _names(recording):
                path = bench.client.temporary / name
                found.append(_Planted(path, _IN_TMPDIR + name, is_directory))
        self._wanted: Final = found
        self._there: Final[dict[Path, tuple[str, os.stat_result]]] = {}

    def plant(self) -> None:
        """Into a slot in which a state has just been restored; that takes the last ones away."""
        self._there.clear()
        # As old as what a sweep by age would take. Nothing is compared with it but itself.
        then_ns = time.time_ns() - _AGE_S * 10**9
        for one in self._wanted:
            if os.path.lexists(one.path):
                continue  # the job's own
            file, shown = one.path, one.shown
            if one.is_directory:
                one.path.mkdir(mode=0o700)
                file, shown = one.path / _WITHIN, f"{one.shown}/{_WITHIN}"
            file.write_bytes(_TEXT)
            os.utime(file, ns=(then_ns, then_ns))
            self._there[file] = (shown, file.lstat())
            if one.is_directory:
                os.utime(one.path, ns=(then_ns, then_ns))
                self._there[one.path] = (one.shown, one.path.lstat())

    def harmed(self) -> Iterator[str]:
        """What has become of them since, in words."""
        for path, (shown, before) in self._there.items():
            try:
                now = path.lstat()
            except OSError:
                yield f"{shown}, which is not its own, is gone"
                continue
            if stat.S_IFMT(now.st_mode) != stat.S_IFMT(before.st_mode) or (
                stat.S_ISREG(now.st_mode) and path.read_bytes() != _TEXT
            ):
                yield f"{shown}, which is not its own, is another one now"
            elif (now.st_mtime_ns, now.st_mode) != (before.st_mtime_ns, before.st_mode):
                yield f"{shown}, which is not its own, has another time or mode now"


def _names(recording: Recording) -> list[tuple[str, bool]]:
    """Like those that the job makes in TMPDIR, but other ones; whether each is a directory."""
    taken = {_in_tmpdir(one) for one in recording.operations}
    forms = {(_TEMPFILE, False): None}
    for operation in recording.operations:
        name = _in_tmpdir(operation)
        made = next((one for one in operation.effects if isinstance(one, Create)), None)
        if not name or made is None:
            continue
        form = normalized(_IN_TMPDIR + name).removeprefix(_IN_TMPDIR)
        if form.strip("*"):  # else it was tried out whether anything can be written there
            forms[form, made.kind is NodeKind.DIRECTORY] = None
    found = ((_another(form, is_directory), is_directory) for form, is_directory in forms)
    return [(name, is_directory) for name, is_directory in found if name not in taken][:_MOST]


def _in_tmpdir(operation: Operation) -> str:
    """The name right in TMPDIR that an operation is about; empty: none, or one that is odd."""
    folder, _, name = operation.path.partition(b"/")
    if folder != TEMPORARY or not name or b"/" in name:
        return ""
    shown = shown_path(operation.path).removeprefix(_IN_TMPDIR)
    return shown if os.fsencode(shown) == name else ""


def _another(form: str, is_directory: bool) -> str:
    """A name of this form, with other random parts and numbers; without any, with an end."""
    if "*" in form or "#" in form:
        # A file and a folder of one form are two names.
        random = _RANDOM[::-1] if is_directory else _RANDOM
        return form.replace("*", random).replace("#", _NUMBER)
    return form + OTHER
