"""Where things are: workspaces on a fast file system, what is kept in the rootdir."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import UserError
from pytest_checkpoint.options import Options
from pytest_checkpoint.record.slot import SLOTS
from pytest_checkpoint.subject import Subject

KEPT: Final = ".checkpoint-contracts"
_SHARED_MEMORY: Final = Path("/dev/shm")
_ROOM_FACTOR: Final = 4


def first_root(options: Options) -> Path:
    """Where the first control run goes: its size is not known yet."""
    return _root(options.workdir or Path(tempfile.gettempdir()))


def chosen_root(options: Options, peak_bytes: int) -> Path:
    """Where the recording and all experiments go."""
    if options.workdir is not None:
        return _root(options.workdir)
    if _has_room(_SHARED_MEMORY, _ROOM_FACTOR * peak_bytes):
        return _root(_SHARED_MEMORY)
    return _root(Path(tempfile.gettempdir()))


def _has_room(folder: Path, size_bytes: int) -> bool:
    usable = os.access(folder, os.W_OK | os.X_OK)
    return usable and shutil.disk_usage(folder).free >= size_bytes


def _root(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"the work directory {folder} does not exist; make it, or name another")
    return folder.resolve() / f"checkpoint-contracts-{os.getuid()}"


def slots_of(root: Path, options: Options, subject: Subject) -> Path:
    """The folder of a subject's slots: the same in every session."""
    identity = f"{options.rootdir}\0{subject.name}".encode(errors="surrogateescape")
    return root / hashlib.sha256(identity).hexdigest()[:16]


def kept_folder(options: Options, subject: Subject, slot: int = 0) -> Path:
    """``.checkpoint-contracts/SUBJECT`` in the rootdir; made, with a .gitignore of its own."""
    folder = make_top(options.rootdir) / _name(subject, slot)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_be_kept(folder, error) from error
    return folder


def kept_folders(options: Options, subject: Subject) -> Iterator[Path]:
    """Those that there are, of every slot."""
    top = options.rootdir / KEPT
    for slot in range(SLOTS):
        folder = top / _name(subject, slot)
        if folder.is_dir():
            yield folder


def make_top(rootdir: Path) -> Path:
    """``.checkpoint-contracts`` in the rootdir."""
    top = rootdir / KEPT
    try:
        top.mkdir(parents=True, exist_ok=True)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise cannot_be_kept(top, error) from error
    return top


def cannot_be_kept(folder: Path, error: OSError) -> UserError:
    return UserError(
        f"recordings and wrecks cannot be kept in {folder}: {error.strerror}; make it "
        "writable, or give --rootdir a directory that is"
    )


def _name(subject: Subject, slot: int) -> str:
    return file_name(subject.name) + (f".{slot}" if slot else "")


def file_name(text: str) -> str:
    """A name that any file system takes."""
    return re.sub(r"[^\w.@-]+", "_", text).strip(".") or "_"
