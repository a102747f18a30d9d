"""What a sweep finds, and what it sums up to."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from checkpoint_runtime.extract.parts import Marker

_FOREIGN_KEPT: Final = 20


class Kind(enum.Enum):
    """``.meaning`` and ``.action`` are what the table says; no action: there is nothing to do."""

    meaning: str
    action: str

    def __new__(cls, value: str, meaning: str, action: str = "") -> Kind:
        member = object.__new__(cls)
        member._value_ = value
        member.meaning = meaning
        member.action = action
        return member

    CONFIRMED = "confirmed", "marked, and the store holds it"
    LOST = "lost", "marked, and not there", "remove the marker: extract does it again"
    TRUNCATED = (
        "truncated",
        "marked, and not what was stored",
        "remove the marker and the object: extract does it again",
    )
    REPLACED = (
        "replaced",
        "marked, and another whole file of the same samples",
        "mark it as it is",
    )
    ORPHAN = "orphan", "whole, and not marked", "mark it: it is not extracted again"
    BROKEN = "broken", "not whole, and not marked", "remove the object: extract does it again"
    FOREIGN = "foreign", "not written by extract", ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One object, or one marker."""

    kind: Kind
    key: str
    """Of the object, within the destination."""
    size: int | None
    """Of what the store holds; None: nothing."""
    marked_size: int | None = None
    """By the marker; None: there is none."""
    problem: str | None = None
    tag: str | None = None
    """Of what was judged: another object that has come since is not touched."""
    marker: Marker | None = None
    """The one that it should have."""


@dataclass(kw_only=True)
class Report:
    """A sweep. Of what is as it should be there are only numbers: memory does not grow with it."""

    destination: str
    markers: str
    deep: bool
    """Whether the bytes of marked objects were read, too."""
    counts: Counter[Kind] = field(default_factory=Counter)
    to_do: list[Finding] = field(default_factory=list)
    foreign: list[Finding] = field(default_factory=list)
    """The first few."""
    left: dict[str, str] = field(default_factory=dict)
    """Why something was not applied, by key: it had changed since it was judged."""

    @property
    def is_all_lost(self) -> bool:
        """Nothing that is marked is there: rather another store, or a folder not mounted."""
        ours = [kind for kind, count in self.counts.items() if count and kind is not Kind.FOREIGN]
        return ours == [Kind.LOST] and self.counts[Kind.LOST] > 1

    def add(self, finding: Finding) -> None:
        self.counts[finding.kind] += 1
        if finding.kind.action:
            self.to_do.append(finding)
        elif finding.kind is Kind.FOREIGN and len(self.foreign) < _FOREIGN_KEPT:
            self.foreign.append(finding)
