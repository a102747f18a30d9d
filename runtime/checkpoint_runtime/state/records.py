"""The records of a state log: what each says, and what all of them together mean.

========== ======================================================================================
first key  meaning
========== ======================================================================================
format     the first record, and the pipeline's name; nothing else, so that it is known what a
           torn one can look like
attempt    a stage is about to begin
done       a stage is done, and what it returned; ``next``: a stage about to begin
item       one item of a mapped stage is done, and what it gave
failed     a stage raised, or cannot keep its value; ``index``: in that item
released   an attempt that was none does not count: ended from outside, or for want of room
cleared    these stages are as if they had never run
retry      the attempts of this stage and its failure do not count any more
accepted   a stage stays done although its pipeline has changed: what it is held against from now
dropped    these items of a mapped stage are as if they had never run; nor is the stage done
parameters what the pipeline runs with from here on, and why
owner      nothing but that, see below
late       never written: stands for a line of a run that had been taken over
========== ======================================================================================

Those of effects are told in :mod:`checkpoint_runtime.state.effect_records`. The first record that a
run adds says besides that it owns the log from here on: ``owner``, with a token one higher than
that of the run before. All records up to the next such one are its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from checkpoint_runtime.errors import DamagedStateError, ForeignStateError
from checkpoint_runtime.state import effect_records
from checkpoint_runtime.state.checks import count_in, list_in, name_in, text_in
from checkpoint_runtime.state.facts import Done, Failure, Fingerprint, Item, Kept, SideFile
from checkpoint_runtime.state.lines import KEEP
from checkpoint_runtime.state.parts import files_in, fingerprint_in, kept_in

FORMAT: Final = 4
"""Of the log; in its first record."""

Record = Mapping[str, Any]


@dataclass(slots=True)
class History:
    """What a log says, up to its end; kept up with what is appended."""

    path: Path
    pipeline: str
    parameters: Any = field(default_factory=dict)
    """Encoded, as JSON that has been read."""
    done: dict[str, Done] = field(default_factory=dict)
    """In the order of commit."""
    items: dict[str, dict[int, Item]] = field(default_factory=dict)
    """Of mapped stages, done or not."""
    attempts: dict[str, int] = field(default_factory=dict)
    """Stage → how often it was begun since it last got anywhere; only of those not done."""
    failures: dict[str, Failure] = field(default_factory=dict)
    """Stage → how its last attempt failed; only of those not done."""
    effects: effect_records.Effects = field(default_factory=dict)
    """In the order of their first intent."""
    lines: int = 0
    owner: int = 0
    """Token of the run that wrote the last line; 0: there is none."""

    def take(self, record: Record) -> None:
        """Go on by one record.

        :raises DamagedStateError: a record that this version cannot have written.
        :raises ForeignStateError: a newer version's, or another pipeline's.
        """
        self.lines += 1
        kind = next(iter(record))
        handler = _HANDLERS.get(kind)
        if (handler is _first) != (self.lines == 1):
            raise DamagedStateError(
                self.path, self.lines, f"a record {kind!r} does not belong here. {KEEP}"
            )
        if handler is None:
            raise ForeignStateError(
                self.path,
                self.lines,
                f"a record {kind!r}, which this version does not know: a newer one's. {KEEP}",
            )
        try:
            handler(self, record)
            if "owner" in record:
                self._pass_to(record["owner"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedStateError(
                self.path,
                self.lines,
                f"the record {kind!r} lacks something or holds what it cannot ({error}). {KEEP}",
            ) from error

    def _pass_to(self, owner: Mapping[str, Any]) -> None:
        token = count_in(owner["token"])
        if token <= self.owner:
            raise ValueError(f"owner {token} after {self.owner}")
        self.owner = token

    def clear(self, stage: str) -> None:
        """As if the stage had never run."""
        for known in (self.done, self.items, self.attempts, self.failures):
            known.pop(stage, None)

    def drop(self, stage: str, indices: Iterable[int]) -> None:
        """As if these items of a mapped stage had never run.

        :raises KeyError: one of them is not done.
        """
        for index in indices:
            del self.items[stage][index]
        if not self.items[stage]:
            del self.items[stage]
        self.done.pop(stage, None)

    def forget_attempts(self, stage: str) -> None:
        """It is done, or the user has seen to it: how it came to that does not matter any more."""
        self.attempts.pop(stage, None)
        self.failures.pop(stage, None)

    def items_in_all(self, stage: str) -> int | None:
        """How many items a mapped stage had when one was last done; None: none ever was."""
        items = self.items.get(stage)
        return max(items.values(), key=lambda item: item.kept.line).of if items else None

    def referred(self) -> dict[str, SideFile]:
        """All side files that are part of something done, or of what an effect gave."""
        found: dict[str, SideFile] = {}
        for effect in self.effects.values():
            if effect.kept is not None:
                found.update(effect.kept.files)
        for done in self.done.values():
            found.update(done.kept.files)
        for items in self.items.values():
            for item in items.values():
                found.update(item.kept.files)
        return found


def _first(history: History, record: Record) -> None:
    version = record["format"]
    if version != FORMAT:
        age = "a newer" if isinstance(version, int) and version > FORMAT else "another"
        raise ForeignStateError(
            history.path, 1, f"format {version!r} of {age} version; this one reads {FORMAT}. {KEEP}"
        )
    if record["pipeline"] != history.pipeline:
        raise ForeignStateError(
            history.path,
            1,
            f"the state of pipeline {record['pipeline']!r}, not of {history.pipeline!r}. Use the "
            f"workspace of that pipeline, or another one. {KEEP}",
        )
    history.owner = 1


def _nothing(history: History, record: Record) -> None:
    """It says nothing of stages."""


def _attempt(history: History, record: Record) -> None:
    stage = name_in(record["attempt"])
    history.attempts[stage] = history.attempts.get(stage, 0) + 1


def _done(history: History, record: Record) -> None:
    # A log of ten thousand stages is ten thousand of these: checked in place, not by a call each.
    stage, at, took_s, digest = record["done"], record["at"], record["took_s"], record["digest"]
    version, inputs, parameters = record["version"], record["inputs"], record["parameters"]
    items, made_of = record.get("items"), record.get("made_of")
    if not (
        type(stage) is str is type(version) is type(parameters) is type(at) is type(digest)
        and stage
        and (type(took_s) is float or type(took_s) is int)
    ):
        raise TypeError("a name, a version, a digest or a time is of another type")
    for given in inputs.values():
        if type(given) is not str:
            raise TypeError(f"{given!r} is not a digest")
    if (items is None) != (made_of is None) or (made_of is not None and type(made_of) is not str):
        raise TypeError("half of what tells of a mapped stage")
    if items is None:
        history.items.pop(stage, None)
    elif set(history.items.setdefault(stage, {})) != set(range(count_in(items))):
        raise ValueError(f"{items} items, and others are recorded")
    history.attempts.pop(stage, None)
    history.failures.pop(stage, None)
    files = files_in(record)
    # As Kept(…) does it, in half the time.
    kept = _new(Kept, (record["value"], digest, files, history.lines))
    fingerprint = _new(Fingerprint, (version, inputs, parameters, made_of))
    history.done[stage] = _new(Done, (kept, fingerprint, items, at, took_s))
    if "next" in record:
        following = name_in(record["next"])
        history.attempts[following] = history.attempts.get(following, 0) + 1


def _item(history: History, record: Record) -> None:
    stage, index = name_in(record["item"]), count_in(record["index"])
    of = count_in(record["of"])
    if index >= of:
        raise ValueError(f"item {index} of {of}")
    item = Item(kept_in(record, history.lines), text_in(record["key"]), fingerprint_in(record), of)
    history.items.setdefault(stage, {})[index] = item
    # It got somewhere: what is begun now is the first attempt at the next item.
    history.attempts[stage] = 1
    history.failures.pop(stage, None)


def _failed(history: History, record: Record) -> None:
    history.failures[name_in(record["failed"])] = Failure(
        text_in(record["error"]),
        text_in(record["at"]),
        count_in(record["index"]) if "index" in record else None,
        text_in(record["where"]) if "where" in record else None,
    )


def _released(history: History, record: Record) -> None:
    stage = name_in(record["released"])
    history.attempts[stage] = max(0, history.attempts.get(stage, 0) - 1)


def _cleared(history: History, record: Record) -> None:
    for stage in list_in(record["cleared"]):
        history.clear(name_in(stage))


def _retry(history: History, record: Record) -> None:
    history.forget_attempts(name_in(record["retry"]))


def _dropped(history: History, record: Record) -> None:
    history.drop(name_in(record["dropped"]), list_in(record["items"]))


def _accepted(history: History, record: Record) -> None:
    stage, fingerprint = name_in(record["accepted"]), fingerprint_in(record)
    if stage in history.done:
        history.done[stage] = history.done[stage]._replace(fingerprint=fingerprint)
        return
    items = history.items[stage]
    for index, item in items.items():
        items[index] = item._replace(fingerprint=fingerprint)


def _parameters(history: History, record: Record) -> None:
    name_in(record["parameters"])
    history.parameters = record["value"]


_new: Final = tuple.__new__

_HANDLERS: Final[Mapping[str, Callable[[History, Record], None]]] = {
    "format": _first,
    "attempt": _attempt,
    "done": _done,
    "item": _item,
    "failed": _failed,
    "released": _released,
    "cleared": _cleared,
    "retry": _retry,
    "dropped": _dropped,
    "accepted": _accepted,
    "parameters": _parameters,
    "intent": lambda history, record: effect_records.intend(history.effects, record),
    "sent": lambda history, record: effect_records.send(
        history.effects, record, kept_in(record, history.lines)
    ),
    "unsent": lambda history, record: effect_records.withdraw(history.effects, record),
    "forgotten": lambda history, record: effect_records.forget(history.effects, record),
    "owner": _nothing,
    "late": _nothing,
}


def first_record(pipeline: str) -> Record:
    return {"format": FORMAT, "pipeline": pipeline}


def text_of(record: Record, **encoded: str) -> str:
    """A record as the JSON of its line; ``encoded`` are parts that are JSON already, put last."""
    try:
        text = json.dumps(record, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(record)  # a lone surrogate, in an error text say
    if not encoded:
        return text
    parts = "".join(f', "{name}": {part}' for name, part in encoded.items())
    return f"{text[:-1]}{parts}}}"
