"""What a run records: that something is done and what it returned, in one act; then the handoff."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from checkpoint_runtime import codec
from checkpoint_runtime.errors import CommitError
from checkpoint_runtime.fingerprints import fingerprint, fingerprint_with_items
from checkpoint_runtime.handoff import Handoff
from checkpoint_runtime.plan import Plan
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.stages import Stage, item_name
from checkpoint_runtime.state.facts import Kept
from checkpoint_runtime.state.log import NextLine, StateLog
from checkpoint_runtime.state.referred import Referred
from checkpoint_runtime.state.side_files import SideFiles
from checkpoint_runtime.stored import (
    Stored,
    digest_of,
    digest_of_items,
    encoded_value,
)


class Commits:
    """The commits of one run. On return from each, what it names survives every crash."""

    def __init__(
        self,
        workspace: Path,
        log: StateLog,
        plan: Plan,
        *,
        parameters_digest: str,
        remedies: Remedies,
    ) -> None:
        self._log = log
        self._history = log.history
        self._plan = plan
        self._parameters_digest = parameters_digest
        self._side_files = SideFiles(workspace, log.token)
        self._stored = Stored(log.history, self._side_files, remedies)
        self._handoff = Handoff(workspace, log.history, remedies)
        self._referred = Referred(log.history.referred())
        """Side files that belong to something done."""

    def open(self) -> None:
        """Find what is done whole, remove what a crash left, bring the handoff in step.

        :raises StateError: a side file is missing or has another size.
        :raises CommitError: something could not be removed or written.
        """
        self._stored.require_files()
        self._side_files.sweep(self._referred, self._log.own)
        self._handoff.open(self._plan.outlook())

    def own(self) -> None:
        """Take the state over, unless that is done: before anything of an older run is removed."""
        self._log.own()

    def attempt(self, stage: Stage) -> None:
        """An attempt is about to be made, unless that stands in the log already."""
        if self._plan.begun == stage.name:
            return
        self._log.append({"attempt": stage.name})
        self._plan.begun = stage.name
        if self._history.attempts[stage.name] > 1:
            # The first one follows from what is next; how often it was tried is news.
            self._handoff.write(self._plan.outlook())

    def stage(self, stage: Stage, value: object, took_s: float) -> None:
        """A stage is done.

        :raises StageValueError: its value cannot be kept; nothing has been recorded.
        """
        encoded = encoded_value(value, stage.name)

        def line(files: dict[str, Any]) -> NextLine:
            return self._done_line(stage, took_s, digest_of(encoded.text), encoded.text, files)

        self._done(stage, self._with_files(encoded, line))

    def mapped(self, stage: Stage, took_s: float) -> None:
        """A mapped stage is done: all its items are."""
        items = self._history.items.get(stage.name, {})
        digest = digest_of_items(items)
        line = self._done_line(stage, took_s, digest, "null", {"items": len(items)})
        self._done(stage, line)

    def item(self, stage: Stage, index: int, key: str, value: object, *, of: int) -> None:
        """An item of a mapped stage is done.

        :param key: digest of what it was made of.
        :param of: how many items there are.
        :raises StageValueError: its value cannot be kept; nothing has been recorded.
        """
        name = item_name(stage.name, index)
        encoded = encoded_value(value, name)
        was = fingerprint(stage, self._history, self._parameters_digest)

        def line(files: dict[str, Any]) -> NextLine:
            record: dict[str, Any] = {
                "item": stage.name,
                "index": index,
                "of": of,
                "key": key,
                "version": was.version,
                "inputs": was.inputs,
                "parameters": was.parameters,
                "digest": digest_of(encoded.text),
                **files,
            }
            return self._log.next_line(record, value=encoded.text)

        self._log.add(self._with_files(encoded, line))
        self._tell(name, self._history.items[stage.name][index].kept)

    def drop_items(self, stage: Stage, indices: Collection[int]) -> None:
        """These items are done no longer: they have changed, or there are fewer now."""
        if indices:
            self._log.append({"dropped": stage.name, "items": sorted(indices)})
            self._handoff.remake(self._plan.outlook())

    def failure(
        self, stage: Stage, error: str, *, index: int | None = None, where: str | None = None
    ) -> None:
        """An attempt failed.

        :param index: of the item that was under way.
        :param where: the last line of the stage's own code.
        """
        record: dict[str, Any] = {"failed": stage.name, "error": error, "at": _now()}
        if index is not None:
            record["index"] = index
        if where is not None:
            record["where"] = where
        self._log.append(record)
        self._plan.begun = None
        self._handoff.write(self._plan.outlook())

    def release(self) -> bool:
        """An attempt that is under way was none: it was ended from outside, or never made.

        :returns: False if it counts all the same, since that could not be recorded.
        """
        if self._plan.begun is None:
            return True
        # Where an interrupt struck within an append, what is in the log is not known.
        if not self._log.usable:
            return False
        try:
            self._log.append({"released": self._plan.begun})
        except CommitError:
            return False
        self._plan.begun = None
        try:
            self._handoff.write(self._plan.outlook())
        except CommitError:
            return True  # the next run makes it again from the log
        return True

    def _with_files(
        self, encoded: codec.Encoded, line: Callable[[dict[str, Any]], NextLine]
    ) -> NextLine:
        """The line for the log, once its side files are durable.

        :param line: makes it of how it names them.
        """
        number = self._history.lines + 1
        return self._side_files.write(encoded.attachments, number, self._referred, line)

    def _done_line(
        self, stage: Stage, took_s: float, digest: str, text: str, further: dict[str, Any]
    ) -> NextLine:
        was = fingerprint_with_items(stage, self._history, self._parameters_digest)
        record: dict[str, Any] = {
            "done": stage.name,
            "version": was.version,
            "inputs": was.inputs,
            "parameters": was.parameters,
            "digest": digest,
            "at": _now(),
            "took_s": round(took_s, 3),
            **further,
        }
        if was.items is not None:
            record["made_of"] = was.items
        following = self._plan.following(stage)
        if following is not None:
            record["next"] = following
        return self._log.next_line(record, value=text)

    def _done(self, stage: Stage, line: NextLine) -> None:
        self._log.add(line)
        self._plan.mark_done(stage)
        self._plan.begun = line.record.get("next")
        self._tell(stage.name, self._history.done[stage.name].kept)

    def _tell(self, name: str, kept: Kept) -> None:
        self._referred.add(kept.files)
        self._handoff.add(name, kept)
        self._handoff.write(self._plan.outlook())


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
