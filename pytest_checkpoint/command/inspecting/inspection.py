"""The story of one look: copy → check the copy → resume it → check what that left → compare.

The directory itself is read, and nothing else. The copy lies in a slot of the kit's server, which
removes it however this ends; the commands run under the filter, with the kit's rules.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from checkpoint_contracts.evidence import Execution
from checkpoint_contracts.stages import acknowledged, done_again
from pytest_checkpoint.command.inspecting.copying import copy_tree, require_room
from pytest_checkpoint.command.inspecting.fates import Changed, changes, empty_folders
from pytest_checkpoint.command.inspecting.footprint import Footprint, footprint, touched
from pytest_checkpoint.command.inspecting.report import Report
from pytest_checkpoint.command.inspecting.signs import (
    leading_out,
    listed,
    names_itself,
    owned_by_another,
    signs,
)
from pytest_checkpoint.command.inspecting.sizes import duration, files, size
from pytest_checkpoint.command.inspecting.wanted import Wanted
from pytest_checkpoint.command.inspecting.writers import writers
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.phases.bench import lines_of
from pytest_checkpoint.phases.wording import Wording
from pytest_checkpoint.record import abilities
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.session.commands import WORKSPACE, require_workspace
from pytest_checkpoint.subject import Command
from pytest_checkpoint.tree.image import printable

Say = Callable[[str], None]
"""Told what is done now, for those who wait."""
_WORTH_TELLING: int = 256 << 20
"""Bytes: so often is told how far a large copy is."""


def look(wanted: Wanted, say: Say) -> Report:
    """Resume a copy, and see what that does.

    Raises :class:`~pytest_checkpoint.errors.UserError` for what cannot be done at all.
    """
    abilities.require()
    before = footprint(wanted.real)
    require_room(wanted.real, before, wanted.workdir)
    with SlotClient(_base(wanted)) as client:
        say(f"copying {files(before.files)}, {size(before.data_bytes)}")
        looking = _Looking(client, wanted, say)
        looking.copy()
        disturbed = touched(before, footprint(wanted.real))
        notes = [
            *_strange(wanted, client, looking.copied),
            *signs(client.workspace, looking.copied),
        ]
        say("checking the copy as it is")
        check_before = looking.check()
        looking.copy_if_touched()
        say(f"resuming the copy, for {duration(wanted.deadline_s)} at most")
        result, resume = looking.resume()
        after = footprint(client.workspace)
        say("comparing the copy with the directory")
        changed = _compared(wanted.real, client.workspace, looking.copied, after)
        check_after = None
        if resume.usable and resume.succeeded:
            say("checking what the resume left")
            check_after = looking.check()
        kept = _keep(client, wanted) if wanted.keep else None
        disturbed += touched(before, footprint(wanted.real))
        return Report(
            directory=str(wanted.directory),
            files=before.files,
            size_bytes=before.data_bytes,
            in_place=looking.in_place,
            check_before=check_before,
            resume=resume,
            check_after=check_after,
            changed=changed,
            folders_gone=empty_folders(looking.copied, after),
            folders_made=empty_folders(after, looking.copied),
            siblings=_siblings(before),
            acknowledged=looking.acknowledged,
            again=looking.again(),
            lines_written=looking.lines_written,
            made_outside=result.created_outside,
            signals=resume.strayed,
            disturbed=tuple(dict.fromkeys(disturbed)),
            notes=(*looking.notes, *notes),
            kept=kept,
        )


class _Looking:
    """The commands, on a copy in a slot."""

    def __init__(self, client: SlotClient, wanted: Wanted, say: Say) -> None:
        self._client = client
        self._wanted = wanted
        self._say = say
        self.in_place = wanted.mount
        self.notes: list[str] = []
        self._wording = Wording(client, environment(client, keep_tmpdir=False))
        self._events = wanted.events.read_bytes() if wanted.events is not None else b""
        client.events.write_bytes(self._events)

    def copy(self) -> None:
        copy_tree(self._wanted.real, self._client.workspace, _Told(self._say))
        self.copied = footprint(self._client.workspace)

    def copy_if_touched(self) -> None:
        """What a check leaves must not be what is resumed."""
        if footprint(self._client.workspace) != self.copied:
            self.notes.append("the check writes: the resume was given a copy of its own")
            self.copy()
        self._client.events.write_bytes(self._events)

    def check(self) -> Execution:
        result = self._run(self._wanted.check, "--check")
        return self._wording.execution(result, is_check=True)

    def resume(self) -> tuple[Result, Execution]:
        result = self._run(self._wanted.resume, "--resume")
        self._started = (
            *lines_of(self._client.events.read_bytes()[len(self._events) :]),
            *lines_of(self._written_within()),
        )
        told = self._wording.execution(result)
        return result, dataclasses.replace(
            told, error_output=self._wording.clean(result.error_output)
        )

    def _written_within(self) -> bytes:
        """What was added to the events file itself, if it lies in the directory.

        A job may know it by a path of its own, and not by the environment.
        """
        events = self._wanted.events and self._wanted.events.resolve()
        if events is None or not events.is_relative_to(self._wanted.real):
            return b""
        copy = self._client.workspace / events.relative_to(self._wanted.real)
        text = copy.read_bytes() if copy.is_file() and not copy.is_symlink() else b""
        return text[len(self._events) :] if text.startswith(self._events) else text

    @property
    def lines_written(self) -> int:
        return len(self._started)

    @property
    def acknowledged(self) -> tuple[str, ...] | None:
        """None: nobody said where the events file is."""
        if self._wanted.events is None:
            return None
        lines = lines_of(self._events)
        done = acknowledged(lines)
        names = (line.partition(" ")[2] for line in lines)
        return tuple(dict.fromkeys(name for name in names if name and name in done))

    def again(self) -> tuple[str, ...]:
        """What the resume started although it had been done."""
        return done_again(self.acknowledged or (), lines_of(self._events), self._started)

    def _run(self, command: Command, option: str) -> Result:
        result = self._client.run(self._request(command))
        if result.not_in_place is not None:
            self.in_place = False
            self.notes.append(f"{result.not_in_place}. So it was run in the copy, at another path")
        if not self.in_place:
            require_workspace(option, command)
        if result.not_in_place is not None:
            result = self._client.run(self._request(command))
        return result

    def _request(self, command: Command) -> Request:
        wanted, client = self._wanted, self._client
        workspace = str(wanted.directory if self.in_place else client.workspace)
        told = environment(client, keep_tmpdir=False) | {"CHECKPOINT_WORKSPACE": workspace}
        return Request(
            command=tuple(word.replace(WORKSPACE, workspace) for word in command),
            working_directory=str(self._working_directory()),
            environment=told,
            deadline_s=wanted.deadline_s,
            allow_network=wanted.allow_network,
            allow_outside=tuple(map(str, wanted.allow_outside)),
            copy_of=str(wanted.real),
            in_place=self.in_place,
        )

    def _working_directory(self) -> Path:
        """Where the command was given; within the directory, the same place in its copy."""
        here = Path.cwd()
        if not self.in_place and here.is_relative_to(self._wanted.real):
            return self._client.workspace / here.relative_to(self._wanted.real)
        return here


def _compared(
    original: Path, copy: Path, copied: Footprint, after: Footprint
) -> tuple[Changed, ...]:
    try:
        return changes(original, copy, copied, after)
    except OSError as error:
        place = printable(os.fsencode(error.filename)) if error.filename else str(copy)
        raise HarnessError(
            f"{place} cannot be compared: {error.strerror}; look when nothing is at work there"
        ) from error


class _Told:
    """How far a large copy is."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._next = _WORTH_TELLING

    def __call__(self, copied: int) -> None:
        if copied >= self._next:
            self._say(f"copied {size(copied)}")
            self._next = copied + _WORTH_TELLING


def _base(wanted: Wanted) -> Path:
    """The folder of the slots in which copies of this directory lie."""
    identity = hashlib.sha256(os.fsencode(wanted.real)).hexdigest()[:16]
    return wanted.workdir / f"checkpoint-contracts-{os.getuid()}" / f"inspect-{identity}"


def _keep(client: SlotClient, wanted: Wanted) -> str:
    """Move the copy to where nobody removes it."""
    above = wanted.workdir / f"checkpoint-contracts-kept-{os.getuid()}"
    try:
        above.mkdir(mode=0o700, exist_ok=True)
        kept = Path(tempfile.mkdtemp(prefix=f"{wanted.real.name}-", dir=above))
        os.rename(client.workspace, kept)
    except OSError as error:
        raise HarnessError(f"the copy cannot be kept in {above}: {error.strerror}") from error
    return str(kept)


def _strange(wanted: Wanted, client: SlotClient, copied: Footprint) -> list[str]:
    """Sentences about the directory that bear on what is seen."""
    notes = []
    alive = writers(wanted.real)
    if alive:
        notes.append(f"is the job dead? There are files open for writing by: {listed(alive)}")
    paths = {wanted.directory, wanted.real}
    holders = {one for path in paths for one in names_itself(client.workspace, copied, path)}
    if holders:
        notes.append(
            f"the path {wanted.directory} stands in {listed(sorted(holders))}: a resume elsewhere "
            "than under that path may go wrong, or write there"
        )
    stranger = owned_by_another(wanted.real)
    if stranger:
        notes.append(stranger)
    out = leading_out(client.workspace, copied, wanted.real)
    if out:
        notes.append(
            f"symbolic links lead out of the directory: {listed(out)}; of what lies there no copy "
            "is made, and a resume that changes it is refused"
        )
    return notes


def _siblings(before: Footprint) -> dict[str, int]:
    paths = (path for path, stamp in before.stamps.items() if not stamp.is_directory)
    return dict(Counter(printable(os.path.dirname(path)) for path in paths))
