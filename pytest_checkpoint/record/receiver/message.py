"""One effect as it is told: a JSON object with ``kind`` and ``id``, a line or a request's body."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from pytest_checkpoint.tree.image import printable

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Message:
    kind: str
    id: str
    """Empty: it has none."""
    problem: str = ""
    """Why it is no such object, a sentence without a full stop; then the rest says nothing."""

    @classmethod
    def of(cls, data: bytes) -> Self:
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            return cls("", "", f"an effect is told by a JSON object, not by {_shown(data)}")
        if not isinstance(told, dict):
            return cls("", "", f"an effect is told by a JSON object, not by {_shown(data)}")
        kind, number = told.get("kind"), told.get("id")
        if not isinstance(kind, str) or not kind:
            return cls("", "", f"an effect has a 'kind', a word, which {_shown(data)} has not")
        if isinstance(number, int | float) and not isinstance(number, bool):
            return cls(kind, json.dumps(number))
        if number is None or isinstance(number, str):
            return cls(kind, number or "")
        return cls(
            "", "", f"the 'id' of an effect is a string or a number, not as in {_shown(data)}"
        )

    def dump(self) -> bytes:
        """As a line of the effects file. Times and payloads are not in it: states stay equal."""
        told = {"kind": self.kind, "id": self.id} if self.id else {"kind": self.kind}
        return json.dumps(told).encode("ascii") + b"\n"


def messages(log: bytes) -> list[Message]:
    """Those of an effects file, line by line; the last one may have no end yet."""
    return [Message.of(line) for line in log.split(b"\n") if line.strip()]


def _shown(data: bytes) -> str:
    text = printable(data)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
