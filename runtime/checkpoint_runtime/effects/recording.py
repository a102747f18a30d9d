"""What is recorded of effects: each of these is durable on return."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from checkpoint_runtime import codec
from checkpoint_runtime.state.effect_records import EffectName, How, naming
from checkpoint_runtime.state.log import NextLine, StateLog
from checkpoint_runtime.state.referred import Referred
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import digest_of


class Recording:
    """Adds to the state log. Each raises CommitError where it could not: then nothing is."""

    def __init__(self, workspace: Path, log: StateLog) -> None:
        self._log = log
        self._side_files = SideFiles(workspace, log.token)

    def intend(self, name: EffectName) -> None:
        """It is about to be sent."""
        self._log.append({**naming("intent", name), "at": _now()})

    def sent(self, name: EffectName, outcome: codec.Encoded, how: How) -> None:
        """It has happened, and this is what it gave."""

        def line(files: dict[str, Any]) -> NextLine:
            record: dict[str, Any] = {
                **naming("sent", name),
                "how": str(how),
                "at": _now(),
                "digest": digest_of(outcome.text),
                **files,
            }
            return self._log.next_line(record, value=outcome.text)

        number = self._log.history.lines + 1
        self._log.add(self._side_files.write(outcome.attachments, number, Referred({}), line))

    def not_sent(self, name: EffectName, how: How) -> None:
        """It has not happened."""
        self._log.append({**naming("unsent", name), "how": str(how), "at": _now()})


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
