"""The directory that a pipeline runs in: found, made, or refused with a sentence."""

from __future__ import annotations

import os
from pathlib import Path

from checkpoint_runtime.errors import WorkspaceError
from checkpoint_runtime.state.durable import (
    NOT_WRITABLE,
    commit_error,
    make_directory,
    sync_name,
)
from checkpoint_runtime.state.fresh import LOG_NAME

AnyPath = str | os.PathLike[str]


def made(workspace: AnyPath) -> Path:
    """The directory, made if it is missing; its name is durable.

    :raises WorkspaceError: it is no directory, or cannot be looked into.
    :raises CommitError: it cannot be made: there is no room, or no right to.
    """
    folder = _absolute(workspace)
    try:
        make_directory(folder)
        if not (folder / LOG_NAME).exists():
            sync_name(folder)
    except OSError as error:
        if _stands(folder):
            raise WorkspaceError(
                f"the workspace {folder} cannot be looked into: {error.strerror}."
            ) from error
        if error.errno in NOT_WRITABLE:
            raise commit_error("make the workspace", folder, error, 0) from error
        raise WorkspaceError(
            f"the workspace {folder} is not a directory and cannot be made: {error.strerror}."
        ) from error
    return folder


def existing(workspace: AnyPath) -> Path:
    """
    :raises WorkspaceError: there is no such directory, or it cannot be looked into.
    """
    folder = _absolute(workspace)
    try:
        stands = folder.is_dir()
    except OSError as error:
        raise WorkspaceError(
            f"the workspace {folder} cannot be looked into: {error.strerror}."
        ) from error
    if not stands:
        raise WorkspaceError(f"the workspace {folder} is not a directory: nothing ran there.")
    return folder


def _stands(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:
        return False


def _absolute(workspace: AnyPath) -> Path:
    # A stage may change the current directory. ".." is left alone: it may follow a link.
    if not os.fspath(workspace):
        raise WorkspaceError("the workspace is an empty text: name a directory.")
    return Path(workspace).absolute()
