"""Tensors of torch come back with their bits, dtype, shape and requires_grad, on the CPU."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

from checkpoint_runtime import codec
from tests.runtime.values.exactness import is_same, there_and_back

torch: Any = pytest.importorskip("torch", reason="torch is not installed: tensors are not tried")
library = pytest.importorskip(
    "safetensors.torch", reason="safetensors is not installed: tensors are not tried"
)

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
SMALL_FLOATS = ["e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *(f"float8_{kind}" for kind in SMALL_FLOATS)]
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3), (700,), (3, 5, 130)]


def tensor_of_bits(dtype: str, shape: tuple[int, ...]) -> Any:
    kind = getattr(torch, dtype)
    size = torch.Size(shape).numel() * torch.empty(0, dtype=kind).element_size()
    source = torch.Generator().manual_seed(7)
    top = 2 if dtype == "bool" else 256
    bits = torch.randint(0, top, (size,), dtype=torch.uint8, generator=source)
    return bits.view(kind).reshape(shape) if size else torch.empty(shape, dtype=kind)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_comes_back_to_the_bit(dtype: str) -> None:
    value = {str(shape): tensor_of_bits(dtype, shape) for shape in SHAPES}
    again = there_and_back(value)
    assert is_same(again, value)
    assert all(tensor.is_contiguous() for tensor in again.values())
    assert not any(tensor.requires_grad for tensor in again.values())


@pytest.mark.parametrize("size", [3, 40])
def test_of_a_tensor_that_is_not_contiguous_the_content_counts(size: int) -> None:
    tensor = tensor_of_bits("int16", (40, 40)).T[:size, ::2]
    assert is_same(there_and_back(tensor), tensor)
    conjugate = torch.ones(size, dtype=torch.complex64).mul(1j).conj()
    assert is_same(there_and_back(conjugate), conjugate.resolve_conj())


def test_requires_grad_and_parameters_come_back() -> None:
    value = [
        torch.ones(3, requires_grad=True),
        torch.nn.Parameter(torch.ones(3)),
        torch.nn.Parameter(torch.ones(900), requires_grad=False),
    ]
    again = there_and_back(value)
    assert is_same(again, value)
    assert [tensor.requires_grad for tensor in again] == [True, True, False]


def test_a_state_dict_comes_back_with_its_metadata() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(30, 20), torch.nn.BatchNorm1d(20))
    state = model.state_dict()
    again = there_and_back(state)
    assert type(again) is OrderedDict
    assert "_metadata" in vars(again)
    assert is_same(again, state)
    assert vars(again) == vars(state)
    assert model.load_state_dict(again).missing_keys == []


def test_a_tensor_comes_back_with_memory_of_its_own() -> None:
    tensor = torch.zeros(1000)
    one, other = there_and_back([tensor, tensor])
    one[0] = 5
    assert other[0] == tensor[0] == 0


def test_a_large_tensor_is_not_copied_on_the_way_to_its_file() -> None:
    tensor = torch.zeros(1000)
    view = codec.encode(tensor).attachments[0].data[1]
    tensor[0] = 1
    assert view[:4] == b"\x00\x00\x80?"


def test_any_reader_of_safetensors_opens_the_file() -> None:
    value = {name: tensor_of_bits(name, (3, 5, 130)) for name in DTYPES}
    found = library.load(codec.encode(value).attachments[0].content())
    for name in DTYPES:
        tensor = found[f"value[{name!r}]"]
        if name == "complex128" or name.endswith(("uz", "fnu")):
            tensor = tensor.view(getattr(torch, name)).reshape(3, 5, 130)
        assert is_same(tensor, value[name])


def test_a_gpu_tensor_comes_back_on_the_cpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU: a tensor on one is not tried")
    tensor = torch.arange(1000, device="cuda")
    again = there_and_back(tensor)
    assert again.device.type == "cpu"
    assert again.equal(tensor.cpu())


def with_gradient() -> Any:
    tensor = torch.ones(2, requires_grad=True)
    tensor.sum().backward()
    return tensor


def with_attribute() -> Any:
    tensor = torch.ones(2)
    tensor.note = "x"
    return tensor


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (lambda: torch.ones(2, requires_grad=True) * 2, "is a part of a gradient graph: return"),
        (with_gradient, "is a tensor with a gradient in .grad: return tensor.detach()"),
        (with_attribute, "is a tensor with attributes of its own: note"),
        (lambda: torch.eye(2).to_sparse(), "is a tensor of layout torch.sparse_coo, which is not"),
        (lambda: torch.ones(2, device="meta"), "is a tensor without data, on the device meta"),
        (lambda: torch.empty(2, dtype=torch.float4_e2m1fn_x2), "torch.float4_e2m1fn_x2, which is"),
        (lambda: frozenset([torch.ones(2)]), "which is found again only by identity"),
        (lambda: {(torch.ones(2),): 1}, "which is found again only by identity"),
        (lambda: torch.nn.Linear(1, 1), "is of type Linear"),
        (lambda: torch.float32, "is of type dtype"),
    ],
)
def test_what_would_be_lost_is_refused(value: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(codec.ValueProblem) as caught:
        codec.encode([value()])
    assert sentence in str(caught.value)


def test_the_texts() -> None:
    assert codec.encode(torch.tensor([1.0, 2.0], dtype=torch.bfloat16)).text == (
        '{"$tensor": "bfloat16", "shape": [2], "base64": "gD8AQA=="}'
    )
    assert codec.encode(torch.nn.Parameter(torch.zeros(1))).text == (
        '{"$parameter": "float32", "shape": [1], "base64": "AAAAAA=="}'
    )
