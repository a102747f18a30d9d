"""Side files: parts of values too large for a line of the log, named by that line.

``line-42-3-1.bin`` is the first file that line 42 names, with its size and digest; 3 is the token
of the run that made it: no other run makes one of that name. So it can be written under its final
name while what it holds is still being digested. It is durable, its name too, before that line is
written. Until then nobody knows it: what a crash leaves of one is swept when the state is next
opened for a run, or written anew. One that something done refers to is never written again.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from checkpoint_runtime.codec import Attachment
from checkpoint_runtime.errors import DamagedStateError, StateError
from checkpoint_runtime.state.digesting import Digesting, Made
from checkpoint_runtime.state.durable import (
    commit_error,
    make_directory,
    remove_half,
    sync_directory,
    write_new_file,
)
from checkpoint_runtime.state.facts import SideFile
from checkpoint_runtime.state.fresh import OWN_SIDE_FILE
from checkpoint_runtime.state.fresh import VALUES_NAME as FOLDER_NAME
from checkpoint_runtime.state.referred import Referred


class SideFiles:
    """The folder of side files in one workspace."""

    def __init__(self, workspace: Path, owner: int = 1) -> None:
        """
        :param owner: token of the run, if it writes some.
        """
        self.folder = workspace / FOLDER_NAME
        self._owner = owner
        self._folder_made = False

    def write(
        self,
        attachments: Sequence[Attachment],
        line: int,
        known: Referred,
        make: Callable[[dict[str, Any]], Made],
    ) -> Made:
        """Make attachments durable, and meanwhile work out their digests, and the line to be.

        One whose content stands in a file already, in one of ``known`` say, is not kept twice.

        :param line: of the log, which will name them.
        :param known: files that something done refers to.
        :param make: makes something of how that line names them: ``files``, by name; nothing if
            there are none. Called once, in another thread say: nothing else is changed meanwhile.
        :returns: what ``make`` did.
        :raises CommitError: one of them is not durable. What was written of them is removed.
        """
        if not attachments:
            return make({})
        names = list(_names(attachments, f"line-{line}-{self._owner}", known))
        kept: dict[str, SideFile] = {}

        def made() -> Made:
            kept.update(_kept(names, attachments, known))
            files = {
                name: {"bytes": file.size_bytes, "sha256": file.sha256}
                for name, file in kept.items()
            }
            return make({"files": files})

        with Digesting(attachments, made) as digesting:
            self._write(names, attachments, digesting)
        result = digesting.made
        for name in names:
            if name not in kept:
                self._remove(name)
        return result

    def _write(
        self,
        names: Sequence[str],
        attachments: Sequence[Attachment],
        digesting: Digesting[Any],
    ) -> None:
        path, written = self.folder, list[Path]()
        try:
            if not self._folder_made:
                make_directory(path)
                self._folder_made = True
            for name, attachment in zip(names, attachments, strict=True):
                path = self.folder / name
                write_new_file(path, _chunks(attachment, digesting))
                written.append(path)
            # Once for all of them: nobody is told a name before.
            sync_directory(self.folder)
        except OSError as error:
            for half in written:
                remove_half(half, error)
            needed_bytes = sum(attachment.size_bytes for attachment in attachments)
            raise commit_error("write", path, error, needed_bytes) from error

    def read(self, name: str, expected: SideFile) -> bytes:
        """The content of a side file, held against its digest.

        :raises StateError: it is missing, cannot be read, or is not what was committed.
        """
        path = self.folder / self._own(name)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise self._missing(path) from error
        except OSError as error:
            raise StateError(path, 0, f"cannot be read: {error.strerror}") from error
        if len(data) != expected.size_bytes:
            raise self._other_size(path, len(data), expected)
        if hashlib.sha256(data).hexdigest() != expected.sha256:
            raise DamagedStateError(
                path, 0, "its content is not what was committed: the digest differs"
            )
        return data

    def require(self, files: Mapping[str, SideFile]) -> None:
        """Find out, without reading them, whether all of these stand where they should.

        :raises StateError: one is missing or has another size.
        """
        for name, expected in files.items():
            path = self.folder / self._own(name)
            try:
                size_bytes = os.stat(path).st_size
            except FileNotFoundError as error:
                raise self._missing(path) from error
            except OSError as error:
                raise StateError(path, 0, f"cannot be read: {error.strerror}") from error
            if size_bytes != expected.size_bytes:
                raise self._other_size(path, size_bytes, expected)

    def sweep(self, known: Referred, own: Callable[[], None]) -> None:
        """Remove what crashes left: files of runs before this one that nothing done refers to.

        :param own: called before the first is removed: from then on no run before this one can
            commit what refers to it.
        """
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(self.folder, 0, f"cannot be read: {error.strerror}") from error
        for name in names:
            found = OWN_SIDE_FILE.fullmatch(name)
            if found and int(found[1]) < self._owner and name not in known:
                own()
                self._remove(name)

    def _remove(self, name: str) -> None:
        path = self.folder / name
        try:
            path.unlink()
        except OSError as error:
            raise commit_error("remove", path, error, 0) from error

    def _own(self, name: str) -> str:
        if not OWN_SIDE_FILE.fullmatch(name):
            raise DamagedStateError(
                self.folder, 0, f"the state log names a side file {name!r}: not a name of ours"
            )
        return name

    def _missing(self, path: Path) -> DamagedStateError:
        return DamagedStateError(path, 0, "this part of a committed value is missing")

    def _other_size(self, path: Path, size_bytes: int, expected: SideFile) -> DamagedStateError:
        return DamagedStateError(
            path,
            0,
            f"{size_bytes:,} bytes, where {expected.size_bytes:,} were committed",
        )


def _names(attachments: Sequence[Attachment], stem: str, known: Referred) -> Iterator[str]:
    numbers = itertools.count(1)
    for attachment in attachments:
        for number in numbers:
            name = f"{stem}-{number}.{attachment.suffix}"
            # Whatever a log says: a file that belongs to something is not written over.
            if name not in known:
                yield name
                break


def _kept(
    names: Sequence[str], attachments: Sequence[Attachment], known: Referred
) -> dict[str, SideFile]:
    """In which files these contents are kept: their own, or one that holds the same already."""
    kept: dict[str, SideFile] = {}
    here: dict[str, str] = {}
    for name, attachment in zip(names, attachments, strict=True):
        sha256 = attachment.sha256
        found = known.holding(sha256, attachment.suffix)
        kept[found or here.setdefault(attachment.name, name)] = SideFile(
            attachment.size_bytes, sha256
        )
    return kept


def _chunks(attachment: Attachment, digesting: Digesting[Any]) -> Iterator[bytes | memoryview]:
    # Not before the file is open: short calls, in turns with another thread, take long.
    digesting.start()
    yield from attachment.data
