"""Tensors and parameters of torch. It is imported only when a text holds one."""

from __future__ import annotations

from typing import Any

from checkpoint_runtime.codec.arrays import DTYPES, read_elements, write_elements
from checkpoint_runtime.codec.installed import imported, required
from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader
from checkpoint_runtime.codec.writer import Writer


def write_tensor(writer: Writer, value: Any) -> object:
    """The content and ``requires_grad``: a tensor comes back contiguous, on the CPU."""
    torch = imported("torch")
    problem = _problem_of(torch, value)
    if writer.hashed:
        problem = "is a tensor, which is found again only by identity: not a key, not in a set"
    if problem is not None:
        writer.refuse(problem)
    label = _label(value.dtype)
    plain = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    is_parameter = type(value) is torch.nn.Parameter
    tag = "$parameter" if is_parameter else "$tensor"
    node = write_elements(writer, tag, label, tuple(value.shape), _bytes_of(plain))
    # Said where it is not what such a tensor has by itself.
    if value.requires_grad != is_parameter:
        node["requires_grad"] = value.requires_grad
    return node


def read_tensor(reader: Reader, body: Body) -> object:
    tensor = _read(reader, body, "$tensor")
    return tensor.requires_grad_(True) if body.get("requires_grad") is True else tensor


def read_parameter(reader: Reader, body: Body) -> object:
    tensor = _read(reader, body, "$parameter")
    needs_gradient = body.get("requires_grad") is not False
    return required("torch").nn.Parameter(tensor, requires_grad=needs_gradient)


def _read(reader: Reader, body: Body, tag: str) -> Any:
    torch = required("torch")
    label, shape, content = read_elements(reader, body, tag)
    dtype = getattr(torch, label, None)
    if dtype is None:
        raise UnreadableValueError(f"this version of torch has no dtype {label}")
    try:
        if not content:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(content, dtype=torch.uint8).view(dtype).reshape(shape)
    except RuntimeError as error:
        raise UnreadableValueError(f"{tag} cannot be made: {error!s:.200}") from error


def _problem_of(torch: Any, value: Any) -> str | None:
    """What of a tensor would be lost."""
    if value.layout is not torch.strided or value.is_nested:
        return f"is a tensor of layout {value.layout}, which is not kept"
    if value.is_meta:
        return "is a tensor without data, on the device meta"
    if _label(value.dtype) not in DTYPES:
        return f"is a tensor of dtype {value.dtype}, which is not kept"
    if value.grad_fn is not None:
        return "is a tensor that is a part of a gradient graph: return tensor.detach()"
    if value.grad is not None:
        return "is a tensor with a gradient in .grad: return tensor.detach()"
    if any(name is not None for name in getattr(value, "names", ())):
        return "is a tensor with named dimensions, which are not kept"
    if vars(value):
        return f"is a tensor with attributes of its own: {', '.join(vars(value))}"
    return None


def _label(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _bytes_of(tensor: Any) -> bytes | memoryview:
    """A view of the memory of a contiguous tensor. Not through numpy: not everybody has it."""
    size_bytes = tensor.numel() * tensor.element_size()
    if not size_bytes:
        return b""
    import ctypes  # Not at the top: it costs every start some milliseconds.

    memory: Any = (ctypes.c_ubyte * size_bytes).from_address(tensor.data_ptr())
    memory.owner = tensor  # The view keeps the memory alive, and that the tensor.
    return memoryview(memory).cast("B")
