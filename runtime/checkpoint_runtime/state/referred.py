"""Which side files belong to something done."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoint_runtime.codec import name_of
from checkpoint_runtime.state.facts import SideFile


class Referred:
    """Side files that something done refers to, found by their name or by what they hold.

    One that was referred to stays known here, as it stays on the disk until the next run.
    """

    def __init__(self, files: Mapping[str, SideFile]) -> None:
        self._files: dict[str, SideFile] = {}
        self._by_content: dict[str, str] = {}
        self.add(files)

    def add(self, files: Mapping[str, SideFile]) -> None:
        """Something more is done."""
        self._files.update(files)
        for content, name in by_content(files).items():
            self._by_content.setdefault(content, name)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def holding(self, sha256: str, suffix: str) -> str | None:
        """The name of one with this content and suffix, if there is one."""
        name = self._by_content.get(name_of(sha256, suffix))
        return name if name is not None and self._files[name].sha256 == sha256 else None


def by_content(files: Mapping[str, SideFile]) -> dict[str, str]:
    """What a value's text calls each of these files → their name on the disk."""
    return {name_of(file.sha256, name.rpartition(".")[2]): name for name, file in files.items()}
