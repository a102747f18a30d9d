"""The scratch directories of stages: for what need not survive an attempt.

``.scratch/3-render`` is that of stage ``render`` in the run with token 3. No run touches that of a
newer one: one that has been taken over, and does not know it yet, takes nothing from under its
hands.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from checkpoint_runtime.state.durable import ALL_RECORDED, commit_error

FOLDER_NAME = ".scratch"


class Scratch:
    """The scratch of one run. A directory is made when a stage first asks for it."""

    def __init__(self, workspace: Path, owner: int) -> None:
        """
        :param owner: token of the run.
        """
        self._folder = workspace / FOLDER_NAME
        self._owner = owner
        self._made: Path | None = None

    def directory(self, stage: str) -> Path:
        """
        :raises CommitError: it cannot be made.
        """
        if self._made is None:
            path = self._folder / f"{self._owner}-{quote(stage, safe=' ')[:200]}"
            try:
                if path.exists():  # the state was put back to what it was before
                    _remove(path)
                path.mkdir(parents=True)
            except OSError as error:
                raise commit_error("make", path, error, 0) from error
            self._made = path
        return self._made

    def empty(self) -> None:
        """Remove what this process made: before the next attempt, and once a stage is done.

        :raises CommitError: it cannot be removed.
        """
        if self._made is not None:
            path, self._made = self._made, None
            self._remove([path])

    def sweep(self, own: Callable[[], None]) -> None:
        """Remove what earlier runs left there.

        :param own: called before the first is removed.
        :raises CommitError: it cannot be removed.
        """
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._not_emptied(error) from error
        older = [self._folder / name for name in names if self._is_older(name)]
        if older:
            own()
        self._remove(older)

    def _is_older(self, name: str) -> bool:
        token = name.partition("-")[0]
        return not token.isdecimal() or int(token) < self._owner

    def _remove(self, paths: list[Path]) -> None:
        try:
            for path in paths:
                _remove(path)
            if not os.listdir(self._folder):
                self._folder.rmdir()
        except FileNotFoundError:
            return  # somebody else has done it
        except OSError as error:
            raise self._not_emptied(error) from error

    def _not_emptied(self, error: OSError) -> Exception:
        return commit_error("empty", self._folder, error, 0, therefore=ALL_RECORDED)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
