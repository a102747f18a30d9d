"""Side files: parts of values too large for a line of the log, named by what they hold.

A side file is durable, its name too, before the record that names it with its size and digest is
written. Until then nobody knows it: what a crash leaves of one is swept when the state is next
opened for a run. It is never written a second time while something that is done refers to it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from checkpoint_runtime.codec import Attachment
from checkpoint_runtime.errors import DamagedStateError, StateError
from checkpoint_runtime.state.durable import commit_error, make_directory, write_new_file
from checkpoint_runtime.state.facts import SideFile
from checkpoint_runtime.state.fresh import OWN_SIDE_FILE
from checkpoint_runtime.state.fresh import VALUES_NAME as FOLDER_NAME


class SideFiles:
    """The folder of side files in one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.folder = workspace / FOLDER_NAME

    def write(self, attachments: Collection[Attachment], known: Mapping[str, SideFile]) -> None:
        """Make attachments durable, those excepted that something done refers to already.

        :raises CommitError: one of them is not durable.
        """
        for attachment in attachments:
            if attachment.name in known:
                continue
            path = self.folder / attachment.name
            try:
                make_directory(self.folder)
                write_new_file(path, attachment.chunks())
            except OSError as error:
                raise commit_error("write", path, error, attachment.size_bytes) from error

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

    def sweep(self, known: Mapping[str, SideFile]) -> None:
        """Remove what crashes left: files with a name of ours that nothing done refers to."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StateError(self.folder, 0, f"cannot be read: {error.strerror}") from error
        for name in names:
            if OWN_SIDE_FILE.fullmatch(name) and name not in known:
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
