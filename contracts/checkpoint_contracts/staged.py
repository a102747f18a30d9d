"""A staging: what lay in it during a trial. Sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

STAGING: Final = "staging"
"""The capability: what the job makes passes through a directory of limited size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """What one trial saw of the staging, as far as it looked."""

    bound_bytes: int
    """What the job says that it never passes."""
    peak_bytes: int | None = None
    """At most so much data lay in it after any operation; None: that was not measured."""
    peak_at: str = ""
    """The operation after which it did, in words."""
    refused: int = 0
    """How often one and the same operation was refused for lack of room …"""
    refused_within_s: float = 0.0
    """… within how many seconds …"""
    refused_at: str = ""
    """… which one …"""
    usual: int = 0
    """… and how often the undisturbed run makes it."""
    room_again_s: float | None = None
    """So long after the first refusal there was room again; None: never in that run."""
    slowed: int = 0
    """Uploads that were kept waiting."""
    marked: tuple[str, ...] = ()
    """Objects that were stored and marked before the staging went: keys."""
    markers_in_it: tuple[str, ...] = ()
    """Markers that lay in the staging: paths in the workspace."""
    markers_removed: tuple[str, ...] = ()
    """Markers that stood before the resume and did not after it: paths in the workspace."""
