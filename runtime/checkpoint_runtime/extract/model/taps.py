"""Hooks on the wanted layers of a model, and the end of a forward pass behind the last of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from checkpoint_runtime.extract.libraries import required

Take = Callable[[int, Any], None]
"""Given a layer's number and its hidden states, [samples, positions, hidden]."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where the hidden states of a layer pass by."""

    module: Any
    """A part of the model; None: what the model returns."""
    before: bool = False
    """What goes into it, not what comes out."""


class _Enough(BaseException):
    """Ends a forward pass. Not an Exception: a model may catch those."""


class Taps:
    """A model whose wanted hidden states are handed over as soon as they are there.

    Behind the last of them nothing is computed. For one thread.
    """

    def __init__(self, module: Any, points: Mapping[int, Point]) -> None:
        """
        :param points: by layer.
        """
        self._torch = required("torch", "an extraction")
        self._module = module
        self._points = dict(points)
        self._handles: list[Any] = []
        self._take: Take | None = None

    def __enter__(self) -> Self:
        for layer, point in self._points.items():
            if point.module is None:
                continue
            if point.before:
                hook = point.module.register_forward_pre_hook(self._before(layer), with_kwargs=True)
            else:
                hook = point.module.register_forward_hook(self._behind(layer))
            self._handles.append(hook)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._handles:
            self._handles.pop().remove()

    def run(self, take: Take, **inputs: Any) -> None:
        """One forward pass, as far as it is needed.

        :param take: called once for each layer. It must be done with the tensor when it returns.
        """
        self._take = take
        try:
            with self._torch.no_grad():
                found = self._module(**inputs)
                for layer, point in self._points.items():
                    if point.module is None:
                        take(layer, found.last_hidden_state)
        except _Enough:
            return
        finally:
            self._take = None

    def _before(self, layer: int) -> Any:
        def hook(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            self._passed(layer, given[0] if given else named["hidden_states"])

        return hook

    def _behind(self, layer: int) -> Any:
        def hook(module: Any, given: tuple[Any, ...], output: Any) -> None:
            self._passed(layer, tensor_of(output))

        return hook

    def _passed(self, layer: int, states: Any) -> None:
        if self._take is None:
            return
        self._take(layer, states)
        if layer == max(self._points):
            raise _Enough


def tensor_of(output: Any) -> Any:
    """The hidden states in what a layer returns: itself, or the first of several things."""
    return output[0] if isinstance(output, tuple) else output
