"""What a stage is given: the results of the stages before it, and the workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checkpoint_runtime import values


class Context(Mapping[str, Any]):
    """Stage name → what the stage returned, in the order of the stages.

    Values are read back from their committed form, in the first run as after a resume, and each
    context has its own: what one stage does to a list it was given, no other stage sees.
    """

    def __init__(self, workspace: Path, texts: Mapping[str, str]) -> None:
        self.workspace = workspace
        """The directory that holds all of the job's files."""
        self._texts = dict(texts)
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, stage: str) -> Any:
        if stage not in self._decoded:
            if stage not in self._texts:
                raise KeyError(f"{stage!r} is not a stage that is done by now")
            self._decoded[stage] = values.decode(self._texts[stage])
        return self._decoded[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"Context({dict(self)!r}, workspace={str(self.workspace)!r})"
