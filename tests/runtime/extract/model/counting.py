"""A device without a device: it counts what is copied from there to the host.

Tensors on it hold their data on the CPU and claim to be elsewhere, so torch takes every read of
them by the host for a copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch  # pyright: ignore[reportMissingImports]
from torch.utils import _pytree as tree  # pyright: ignore[reportMissingImports]
from torch.utils._python_dispatch import (  # pyright: ignore[reportMissingImports]
    TorchDispatchMode,
)

if TYPE_CHECKING:  # Whether torch is installed or not.
    _Tensor = object
    _Mode = object
else:
    _Tensor, _Mode = torch.Tensor, TorchDispatchMode

ELSEWHERE = torch.device("meta")
HERE = torch.device("cpu")


class Elsewhere(_Tensor):
    """A tensor that claims to be on another device."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    here: Any

    @staticmethod
    def __new__(cls, here: Any) -> Any:
        found = torch.Tensor._make_wrapper_subclass(
            cls, here.shape, strides=here.stride(), dtype=here.dtype, device=ELSEWHERE
        )
        found.here = here
        return found

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _called(function, args, kwargs or {}, Counter())


class Counting(_Mode):
    """Counts copies to the host, and single numbers that the host asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    @property
    def copies(self) -> int:
        return self.counts["copy"]

    @property
    def numbers(self) -> int:
        return self.counts["number"]

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _called(function, args, kwargs or {}, self.counts)


class CountingDevice:
    """For an extractor. Its model's weights lie on the CPU, as what they meet does in truth."""

    place = HERE
    buffers = 2

    def memory(self, size: int) -> Any:
        return Elsewhere(torch.empty(size, dtype=torch.uint8))

    def host_memory(self, size: int) -> Any:
        return torch.empty(size, dtype=torch.uint8)

    def there(self, tensor: Any) -> Any:
        return Elsewhere(tensor)

    def fetch(self, pairs: list[tuple[Any, Any]]) -> _Arrived:
        for host, device in pairs:
            host.copy_(device)
        return _Arrived()

    def after(self, arrival: Any) -> None:
        arrival.wait()


class _Arrived:
    def wait(self) -> None:
        """It is there."""


@contextmanager
def counted() -> Iterator[Counting]:
    counting: Any = Counting()
    with counting:
        yield counting


def _called(function: Any, args: Any, kwargs: dict[str, Any], counts: Counter[str]) -> Any:
    things = tree.tree_leaves((args, kwargs))
    name = function.overloadpacket.__name__
    from_there = any(isinstance(thing, Elsewhere) for thing in things)
    # In inference mode .to() and .cpu() come here as they were called, not as _to_copy.
    devices = [thing for thing in things if isinstance(thing, torch.device)]
    comes_here = from_there and (HERE in devices or name == "cpu")
    if comes_here or (name == "copy_" and from_there and not isinstance(args[0], Elsewhere)):
        counts["copy"] += 1
    elif from_there and name in ("_local_scalar_dense", "item", "is_nonzero", "equal"):
        counts["number"] += 1
    found = function(*tree.tree_map(_really, args), **tree.tree_map(_really, kwargs))
    if name.endswith("_") and not name.startswith("_"):
        return args[0]
    if comes_here or not (from_there or ELSEWHERE in devices):
        return found
    return tree.tree_map(_claimed, found)


def _really(thing: Any) -> Any:
    if isinstance(thing, Elsewhere):
        return thing.here
    return HERE if isinstance(thing, torch.device) and thing == ELSEWHERE else thing


def _claimed(thing: Any) -> Any:
    plain = isinstance(thing, torch.Tensor) and not isinstance(thing, Elsewhere)
    return Elsewhere(thing) if plain else thing
