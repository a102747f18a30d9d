"""The records of effects: what each says, and what all of them together mean.

========== ======================================================================================
first key  meaning
========== ======================================================================================
intent     an effect of this kind is about to be sent: from here on it may have happened
sent       it has happened, and what it gave
unsent     it has not happened
forgotten  these effects are as if nothing were known of them
========== ======================================================================================

``stage`` and ``key`` say which one; ``how`` says how that is known.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_runtime.state.checks import list_in, name_in, text_in
from checkpoint_runtime.state.facts import Kept


class EffectState(enum.StrEnum):
    """What is known of an effect."""

    SENT = "sent"
    UNSETTLED = "unsettled"
    """It was about to be sent, and may or may not have happened."""
    NOT_SENT = "not sent"


class How(enum.StrEnum):
    """How it is known."""

    REPLIED = "replied"
    """``send`` returned, or raised that it has not sent it."""
    CONFIRMED = "confirmed"
    """``confirm`` said so."""
    WITHDRAWN = "withdrawn"
    """The run was ended before ``send`` was called."""
    SETTLED = "settled"
    """The user said so."""


class EffectName(NamedTuple):
    """Which effect of a pipeline."""

    stage: str
    kind: str
    key: str
    """The user's."""


class Effect(NamedTuple):
    """What is recorded of an effect."""

    state: EffectState
    at: str
    """ISO 8601, UTC."""
    how: How | None = None
    """None: it is not settled."""
    kept: Kept | None = None
    """What it gave, if it was sent."""


Effects = dict[EffectName, Effect]


def intend(effects: Effects, record: Mapping[str, Any]) -> None:
    effects[_named(record, "intent")] = Effect(EffectState.UNSETTLED, text_in(record["at"]))


def send(effects: Effects, record: Mapping[str, Any], kept: Kept) -> None:
    how = How(record["how"])
    effects[_named(record, "sent")] = Effect(EffectState.SENT, text_in(record["at"]), how, kept)


def withdraw(effects: Effects, record: Mapping[str, Any]) -> None:
    how = How(record["how"])
    effects[_named(record, "unsent")] = Effect(EffectState.NOT_SENT, text_in(record["at"]), how)


def forget(effects: Effects, record: Mapping[str, Any]) -> None:
    for name in list_in(record["forgotten"]):
        del effects[EffectName(*map(name_in, list_in(name)))]


def naming(verb: str, name: EffectName) -> dict[str, Any]:
    """The beginning of a record that says something of an effect."""
    return {verb: name.kind, "stage": name.stage, "key": name.key}


def _named(record: Mapping[str, Any], verb: str) -> EffectName:
    return EffectName(name_in(record["stage"]), name_in(record[verb]), name_in(record["key"]))
