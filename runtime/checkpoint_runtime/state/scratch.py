"""The scratch directories of stages: for what need not survive an attempt."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import quote

from checkpoint_runtime.state.durable import ALL_RECORDED, commit_error

FOLDER_NAME = ".scratch"


class Scratch:
    """The scratch of one workspace. A directory is made when a stage first asks for it."""

    def __init__(self, workspace: Path) -> None:
        self._folder = workspace / FOLDER_NAME
        self._made: Path | None = None

    def directory(self, stage: str) -> Path:
        """
        :raises CommitError: it cannot be made.
        """
        if self._made is None:
            path = self._folder / _folder_name(stage)
            try:
                path.mkdir(parents=True)
            except OSError as error:
                raise commit_error("make", path, error, 0) from error
            self._made = path
        return self._made

    def empty(self) -> None:
        """Remove what this process made: before the next attempt, and once a stage is done."""
        if self._made is not None:
            self._made = None
            self.sweep()

    def sweep(self) -> None:
        """Remove whatever stands there, an earlier process's too.

        :raises CommitError: it cannot be removed.
        """
        try:
            shutil.rmtree(self._folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise commit_error("empty", self._folder, error, 0, therefore=ALL_RECORDED) from error


def _folder_name(stage: str) -> str:
    # Two stages may share it: there is only ever one of these at a time. ".." it must not be.
    name = quote(stage, safe=" ")[:200]
    return f"%2E{name[1:]}" if name.startswith(".") else name
