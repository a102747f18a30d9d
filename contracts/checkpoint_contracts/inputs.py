"""What the ``input NAME SHA256`` lines of an events file say: what a stage was given.

The name may have spaces in it; the digest is what stands behind the last one. Digests are compared
as texts, so any digest does that is the same for the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

STAGE_INPUTS: Final = "stage-inputs"
"""The capability: the job says what each stage is given, as a digest."""

_VERB: Final = "input"
_DIGEST: Final = re.compile(r"[0-9A-Fa-f]{64}")


class Input(NamedTuple):
    """One line."""

    stage: str
    digest: str
    """Empty if the line has none."""


def inputs(events: Iterable[str]) -> Iterator[Input]:
    """The input lines, in order.

    >>> list(inputs(["start a", "input a b 0f", "input c"]))
    [Input(stage='a b', digest='0f'), Input(stage='c', digest='')]
    """
    for line in events:
        verb, _, rest = line.rstrip("\n").partition(" ")
        if verb == _VERB:
            stage, space, digest = rest.rpartition(" ")
            yield Input(stage, digest) if space else Input(rest, "")


def digests(events: Iterable[str]) -> dict[str, frozenset[str]]:
    """By stage, all that was said of it, in the order of the first lines."""
    found: dict[str, set[str]] = {}
    for one in inputs(events):
        found.setdefault(one.stage, set()).add(one.digest)
    return {stage: frozenset(some) for stage, some in found.items()}


def malformed(events: Iterable[str]) -> str | None:
    """The first input line that does not end in a SHA-256, 64 hexadecimal digits; None: all do."""
    for line in events:
        for one in inputs([line]):
            if not one.stage or not _DIGEST.fullmatch(one.digest):
                return line
    return None
