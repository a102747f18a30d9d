"""Values on their way to the state and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from checkpoint_runtime import codec
from checkpoint_runtime.errors import (
    DamagedStateError,
    DefinitionError,
    StageValueError,
    StateError,
)
from checkpoint_runtime.remedies import Remedies
from checkpoint_runtime.stages import item_name
from checkpoint_runtime.state.effect_records import EffectName
from checkpoint_runtime.state.facts import Item, Kept
from checkpoint_runtime.state.records import History
from checkpoint_runtime.state.referred import by_content
from checkpoint_runtime.state.side_files import SideFiles


class Stored:
    """The values of one workspace: what is done, read back from its committed form."""

    def __init__(self, history: History, side_files: SideFiles, remedies: Remedies) -> None:
        self._history = history
        self._side_files = side_files
        self._remedies = remedies

    def value(self, stage: str) -> Any:
        """What a stage that is done returned, made anew.

        :raises StateError: a side file is missing or damaged, or the value cannot be read here.
            It says which stage or item that is part of, and what to do.
        """
        done = self._history.done[stage]
        if done.items is None:
            return self._read(stage, done.kept)
        items = self._history.items.get(stage, {})
        return [
            self._read(item_name(stage, index), items[index].kept) for index in range(done.items)
        ]

    def outcome(self, name: EffectName, kept: Kept) -> Any:
        """What an effect gave, made anew.

        :raises StateError: as :meth:`value`.
        """
        try:
            return self._decoded(kept)
        except StateError as error:
            raise _of_its_kind(
                error,
                f"It is part of what effect {name.kind!r} with key {name.key!r} of stage "
                f"{name.stage!r} gave. Bring it back as it was, or say anew that it has happened: "
                f"{self._remedies.settle(*name)}",
            ) from error

    def require_files(self) -> None:
        """Find out, without reading them, whether all side files stand where they should.

        :raises StateError: one is missing or has another size: as :meth:`value`.
        """
        for name, kept in all_kept(self._history):
            if kept.files:
                self._require_files(name, kept)

    def damaged(self) -> dict[str, tuple[str, str]]:
        """Stage → itself or the item of it whose side file is missing or cut, and that, in words.

        Without a full stop. The first of each stage.
        """
        found: dict[str, tuple[str, str]] = {}
        for name, kept in all_kept(self._history):
            try:
                self._side_files.require(kept.files)
            except StateError as error:
                found.setdefault(name.partition("[")[0], (name, str(error)))
        return found

    def is_large(self, stage: str) -> bool:
        """Whether reading its value costs more than a line of the log."""
        done = self._history.done[stage]
        return done.items is not None or bool(done.kept.files)

    def _read(self, name: str, kept: Kept) -> Any:
        try:
            return self._decoded(kept)
        except StateError as error:
            raise self._named(error, name) from error

    def _decoded(self, kept: Kept) -> Any:
        names = by_content(kept.files)

        def load(content: str) -> bytes:
            if content not in names:
                raise DamagedStateError(
                    self._history.path, kept.line, f"the value names a file {content!r} it has not"
                )
            return self._side_files.read(names[content], kept.files[names[content]])

        try:
            return codec.decode(json.dumps(kept.value), load)
        except codec.UnreadableValueError as error:
            raise DamagedStateError(
                self._history.path, kept.line, f"the value cannot be read: {error}"
            ) from error

    def _require_files(self, name: str, kept: Kept) -> None:
        try:
            self._side_files.require(kept.files)
        except StateError as error:
            raise self._named(error, name) from error

    def _named(self, error: StateError, name: str) -> StateError:
        """The same error, which says what is damaged by it, and what to do."""
        return _of_its_kind(
            error,
            f"It is part of what {name!r} returned. Bring it back as it was, or do that again: "
            f"{self._remedies.rerun(name)}",
        )


def _of_its_kind(error: StateError, further: str) -> StateError:
    kind = DamagedStateError if isinstance(error, DamagedStateError) else StateError
    return kind(error.path, error.line, f"{error.problem}. {further}")


def all_kept(history: History) -> Iterator[tuple[str, Kept]]:
    """Everything that is done, stages and items, by name; first the stages."""
    for stage, done in history.done.items():
        yield stage, done.kept
    for stage, items in history.items.items():
        for index, item in items.items():
            yield item_name(stage, index), item.kept


def encoded_value(value: object, stage: str) -> codec.Encoded:
    """What a stage returned.

    :raises StageValueError: it cannot be kept; names stage, place and type.
    """
    try:
        return codec.encode(value)
    except codec.ValueProblem as problem:
        raise StageValueError(stage, problem.where, problem.problem) from problem


def encoded_items(items: object, stage: str, place: str) -> codec.Encoded:
    """What a mapped stage goes through, or a part of it.

    :param place: what it is called in messages.
    :raises StageValueError: it cannot be kept.
    """
    try:
        return codec.encode(items)
    except codec.ValueProblem as problem:
        where = problem.where.replace("value", place, 1)
        raise StageValueError(stage, where, problem.problem, given=True) from problem


def digest_of(text: str) -> str:
    """What tells one encoded value from another in the state: 128 bits of its digest, in hex."""
    return codec.digest(text)[:32]


def digest_of_items(items: Mapping[int, Item]) -> str:
    """The digest of the value of a mapped stage: of the digests of what its items gave."""
    digests = [items[index].kept.digest for index in sorted(items)]
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()[:32]


def encoded_parameters(parameters: Mapping[str, Any]) -> str:
    """
    :raises DefinitionError: they are not what can stand in the state itself.
    """
    try:
        encoded = codec.encode(dict(parameters))
    except codec.ValueProblem as problem:
        place = problem.where.replace("value", "parameters", 1)
        raise DefinitionError(f"{place} cannot be kept: it {problem.problem}.") from problem
    if encoded.attachments:
        raise DefinitionError(
            "the parameters are too large for the state: give a path or a name instead."
        )
    return encoded.text


def decoded_parameters(value: Any, path: Path) -> dict[str, Any]:
    """The parameters that a state holds.

    :raises DamagedStateError: they cannot be read.
    """
    problem = "they are no dict"
    try:
        parameters = codec.decode(json.dumps(value), _no_files(path))
        if isinstance(parameters, dict):
            return parameters
    except codec.UnreadableValueError as error:
        problem = str(error)
    raise DamagedStateError(path, 1, f"the parameters cannot be read: {problem}")


def _no_files(path: Path) -> Callable[[str], bytes]:
    def load(name: str) -> bytes:
        raise DamagedStateError(path, 1, f"the parameters name a file {name!r}")

    return load
