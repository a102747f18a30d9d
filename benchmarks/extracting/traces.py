"""What torch's profiler has seen of a GPU: copies to the host, and what else went on meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_TO_HOST: Final = "Memcpy DtoH"

Span = tuple[float, float]
"""Begin and end, in microseconds."""


@dataclass(frozen=True, slots=True)
class Copies:
    """From the device to the host."""

    spans: tuple[Span, ...]
    size_bytes: int
    hidden_us: float
    """Of their time, while some kernel ran."""

    @property
    def took_us(self) -> float:
        return sum(end - begin for begin, end in self.spans)

    @property
    def gb_per_s(self) -> float:
        return self.size_bytes / self.took_us / 1e3 if self.took_us else 0.0

    @property
    def hidden(self) -> float:
        """The share of their time that cost nothing, 0 to 1."""
        return self.hidden_us / self.took_us if self.took_us else 0.0


def copies_in(trace: Path) -> Copies:
    """
    :param trace: as ``torch.profiler`` exports it for Chrome.
    """
    events: list[dict[str, Any]] = json.loads(trace.read_text())["traceEvents"]
    copies = [
        one
        for one in events
        if one.get("cat") == "gpu_memcpy" and str(one["name"]).startswith(_TO_HOST)
    ]
    kernels = joined(_span(one) for one in events if one.get("cat") == "kernel")
    spans = tuple(map(_span, copies))
    return Copies(
        spans,
        sum(int(one.get("args", {}).get("bytes", 0)) for one in copies),
        sum(common_us(span, kernels) for span in spans),
    )


def joined(spans: Iterable[Span]) -> list[Span]:
    """In order, and none that touches another."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def common_us(span: Span, others: Sequence[Span]) -> float:
    """How long one of the others goes on within it.

    :param others: of which none touches another.
    """
    return sum(max(0.0, min(span[1], end) - max(span[0], begin)) for begin, end in others)


def _span(event: dict[str, Any]) -> Span:
    begin = float(event["ts"])
    return begin, begin + float(event["dur"])
