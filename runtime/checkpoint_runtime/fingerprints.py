"""Whether what is recorded as done is still what this pipeline would do.

A stage that is done was done in a version, with parameters, and from inputs with certain values.
All three are recorded with it and compared by the next run; its code is not: who changes what a
stage does gives it another version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoint_runtime.stages import Stage, Stages
from checkpoint_runtime.state.facts import Fingerprint
from checkpoint_runtime.state.records import History
from checkpoint_runtime.stored import digest_of, encoded_items

ANY: Final = ""
"""In place of the digest of an input that is not done: who accepts that accepts any value of it."""
MADE_BY_FUNCTION: Final = ""
"""In place of the digest of the items of a mapped stage."""


def fingerprint(stage: Stage, history: History, parameters: str) -> Fingerprint:
    """What a stage is now, whatever it maps.

    :param parameters: digest of the run's parameters.
    """
    done = history.done
    inputs = {name: done[name].kept.digest if name in done else ANY for name in stage.after}
    return Fingerprint(stage.version, inputs, parameters, None)


def fingerprint_with_items(stage: Stage, history: History, parameters: str) -> Fingerprint:
    """The same, and what a mapped stage goes through.

    :raises StageValueError: its items cannot be kept.
    """
    items = None
    if stage.items is not None:
        # Those that a function makes follow from the inputs, which are compared.
        known = (
            None if callable(stage.items) else encoded_items(list(stage.items), stage.name, "items")
        )
        items = MADE_BY_FUNCTION if known is None else digest_of(known.text)
    return fingerprint(stage, history, parameters)._replace(items=items)


def unknown(stages: Stages, history: History) -> list[str]:
    """What is recorded as done, in part at least, and no stage of this pipeline."""
    known = dict.fromkeys([*history.done, *history.items])
    return [name for name in known if name not in stages]


def changed(stages: Stages, history: History, parameters: str) -> Iterator[tuple[Stage, str]]:
    """Stages that were done otherwise than they would be now, and how, without a full stop."""
    for stage in stages:
        done = history.done.get(stage.name)
        if done is not None:
            difference = _difference(stage, done.fingerprint, history, parameters)
            if difference is None:
                difference = _difference_of_items(stage, done.fingerprint, history, parameters)
            if difference is not None:
                yield stage, f"stage {stage.name!r} {difference}"
        elif stage.name in history.items:
            difference = _difference_of_part(stage, history, parameters)
            if difference is not None:
                yield stage, f"stage {stage.name!r}, of which some items are done, {difference}"


def _difference_of_items(
    stage: Stage, was: Fingerprint, history: History, parameters: str
) -> str | None:
    if was.items is None and stage.items is None:
        return None
    if stage.items is None:
        return "was a mapped stage and is none now"
    if was.items is None:
        return "was no mapped stage and is one now"
    now = fingerprint_with_items(stage, history, parameters)
    return None if was.items == now.items else "was done with other items"


def _difference_of_part(stage: Stage, history: History, parameters: str) -> str | None:
    if stage.items is None:
        return "is no mapped stage now"
    # Which items there are is seen when they are gone through.
    for item in history.items[stage.name].values():
        difference = _difference(stage, item.fingerprint, history, parameters)
        if difference is not None:
            return difference
    return None


def _difference(stage: Stage, was: Fingerprint, history: History, parameters: str) -> str | None:
    if was.version != stage.version:
        return f"was done in version {was.version!r}, and is version {stage.version!r} now"
    if set(was.inputs) != set(stage.after):
        return f"was done after {list(was.inputs)!r}, and comes after {list(stage.after)!r} now"
    for name, digest in was.inputs.items():
        if digest == ANY:
            continue
        given = history.done.get(name)
        if given is None:
            return f"was made of {name!r}, which is not done any more"
        if given.kept.digest != digest:
            return f"was made of another value of {name!r}"
    if was.parameters != parameters:
        return "was done with other parameters"
    return None
