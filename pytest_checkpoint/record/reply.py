"""What a stopped call is answered with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """The call was carried out here and returns this."""

    value: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """The call fails with this errno."""

    error: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The call returns a descriptor for this open file of ours, which is closed here afterwards."""

    descriptor: int
    close_on_exec: bool


Reply = Value | Failure | Descriptor
