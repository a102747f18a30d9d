"""Arrays of numpy come back with their bits, dtype and shape; safetensors holds the large ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint_runtime import codec
from tests.runtime.values.exactness import is_same, there_and_back

np = pytest.importorskip("numpy", reason="numpy is not installed: its arrays are not tried")
library = pytest.importorskip(
    "safetensors.numpy", reason="safetensors is not installed: arrays are not tried"
)
INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS, ">f4", ">i8", ">c16"]
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3), (1,) * 32, (700,), (3, 5, 130)]


def array_of_bits(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Any bits, so any NaN, too; only a bool has two values."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    bits = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    if dtype == "bool":
        bits &= 1
    return np.frombuffer(bits.tobytes(), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_comes_back_to_the_bit(dtype: str) -> None:
    value = {str(shape): array_of_bits(dtype, shape, seed=7) for shape in SHAPES}
    again = there_and_back(value)
    assert is_same(again, value)
    assert all(array.flags.writeable and array.flags.c_contiguous for array in again.values())


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(DTYPES), st.sampled_from(SHAPES), st.integers(0, 99))
def test_a_scalar_comes_back_as_a_scalar(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    for scalar in array_of_bits(dtype, shape, seed).reshape(-1)[:5]:
        again = there_and_back({scalar: [scalar]})
        [(key, [value])] = again.items()
        assert is_same([key, value], [scalar, scalar])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_a_scalar_that_json_has_no_number_for_comes_back(dtype: str) -> None:
    value = [*np.array(["nan", "-nan", "inf", "-inf", "-0.0"], dtype)]
    assert is_same(there_and_back(value), value)


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array.T,
        np.asfortranarray,
        lambda array: array[::2, ::-3],
        lambda array: np.broadcast_to(array[0], (4, 40)),
    ],
    ids=["transposed", "fortran", "strided", "broadcast"],
)
@pytest.mark.parametrize("size", [3, 40])
def test_of_an_array_that_is_not_contiguous_the_content_counts(
    view: Callable[[Any], Any], size: int
) -> None:
    array = view(array_of_bits("float32", (40, 40), 1))[:size]
    assert is_same(there_and_back(array), array)
    assert codec.encode(array).text == codec.encode(array.copy()).text


def test_a_read_only_array_comes_back_writable_and_alone() -> None:
    array = np.arange(1000)
    array.flags.writeable = False
    one, other = there_and_back([array, array])
    one[0] = 5
    assert other[0] == 0


def test_small_arrays_stand_in_the_text_and_all_large_ones_in_one_file() -> None:
    value = {"a": np.zeros(128), "b": np.zeros(129), "c": [np.ones((2, 200), np.int8), None]}
    assert codec.encode(np.zeros(128)).attachments == ()
    assert codec.encode([value["c"]]).attachments == ()
    value["c"] = [np.ones((9, 200), np.int8), {4: np.ones(999, np.complex128)}]
    encoded = codec.encode(value)
    [attachment] = encoded.attachments
    assert attachment.name.endswith(".safetensors")
    tree = json.loads(encoded.text)
    assert tree["b"] == {
        "$array": "float64",
        "shape": [129],
        "name": "value['b']",
        "file": attachment.name,
    }
    assert tree["c"][0]["name"] == "value['c'][0]"
    assert is_same(there_and_back(value), value)


def test_a_large_array_is_not_copied_on_the_way_to_its_file() -> None:
    array = np.zeros(1000)
    attachment = codec.encode([array]).attachments[0]
    assert any(np.shares_memory(np.frombuffer(chunk, np.uint8), array) for chunk in attachment.data)


def test_the_file_does_not_depend_on_the_order_of_keys() -> None:
    one, other = np.zeros(1000), np.ones(1000, np.int16)
    texts = codec.encode({"a": one, "b": other}).text, codec.encode({"b": other, "a": one}).text
    assert codec.digest(texts[0]) == codec.digest(texts[1])
    assert codec.digest(codec.encode({"a": one, "b": other * 2}).text) != codec.digest(texts[0])


def test_keys_that_look_alike_do_not_lose_an_array() -> None:
    value = {float("nan"): np.zeros(1000), -float("nan"): np.ones(1000)}
    assert [array[0] for array in there_and_back(value).values()] == [0, 1]


def test_any_reader_of_safetensors_opens_the_file() -> None:
    names = [name for name in DTYPES if name[0] != ">"]
    value = {name: array_of_bits(name, (3, 5, 130), seed=3) for name in names}
    attachment = codec.encode(value).attachments[0]
    found = library.load(attachment.content())
    assert found.keys() == {f"value[{name!r}]" for name in names}
    for name in names:
        array = found[f"value[{name!r}]"]
        assert array.tobytes() == value[name].tobytes()
        assert name == "complex128" or (array.dtype, array.shape) == (name, (3, 5, 130))


def test_what_the_library_writes_is_what_is_written_here() -> None:
    value = [np.ones(2000, dtype=dtype) for dtype in ("float32", "int64", "uint8", "float16")]
    attachment = codec.encode(value).attachments[0]
    theirs = library.save({f"value[{index}]": array for index, array in enumerate(value)})
    assert attachment.content() == theirs


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (lambda: np.array([object()]), "is an array of dtype object (object_), which is not kept"),
        (lambda: np.array(["x"]), "is an array of dtype <U1 (str_), which is not kept"),
        (lambda: np.zeros(1, "datetime64[s]"), "is an array of dtype datetime64[s] (datetime64),"),
        (lambda: np.zeros(1, "i4,f4"), "is an array of dtype [('f0', '<i4'), ('f1', '<f4')] (vo"),
        (
            lambda: np.zeros(1, np.longdouble),
            "is an array of dtype float128 (longdouble), which is",
        ),
        (lambda: np.zeros(1, np.longlong), "is an array of dtype int64 (longlong), which is not"),
        (lambda: np.zeros(1, np.dtype("f4", metadata={"a": 1})), "is an array whose dtype has m"),
        (lambda: np.ma.zeros(1), "is of type MaskedArray"),
        (lambda: np.longlong(1), "is a numpy scalar of type longlong, which is not kept"),
        (lambda: np.longdouble(1), "is a numpy scalar of type longdouble, which is not kept"),
        (lambda: np.str_("x"), "is a numpy scalar of type str_, which is not kept"),
        (lambda: np.datetime64("2024-05-01"), "is a numpy scalar of type datetime64, which is n"),
    ],
    ids=lambda part: part if isinstance(part, str) else "value",
)
def test_other_dtypes_are_refused_by_name(value: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(codec.ValueProblem) as caught:
        codec.encode([value()])
    assert str(caught.value).startswith(f"value[0] {sentence}")


def test_without_safetensors_small_arrays_are_kept_and_large_ones_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded = codec.encode({"mask": np.zeros(1000)})
    content = encoded.attachments[0].content()
    monkeypatch.setitem(sys.modules, "safetensors", None)
    assert is_same(there_and_back(np.zeros(10)), np.zeros(10))
    with pytest.raises(codec.ValueProblem) as refused:
        codec.encode({"mask": np.zeros(1000)})
    assert str(refused.value) == (
        "value['mask'] is an array of 8,000 bytes, which goes to a side file: that needs the "
        "safetensors library: pip install 'checkpoint-contracts[arrays]'"
    )
    with pytest.raises(codec.UnreadableValueError, match=r"pip install 'checkpoint-contracts\[arr"):
        codec.decode(encoded.text, lambda name: content)


def test_without_numpy_an_array_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = codec.encode(np.zeros(3)).text
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(codec.UnreadableValueError, match="needs numpy, which is not installed"):
        codec.decode(text, pytest.fail)


@pytest.mark.parametrize(
    "change",
    [
        ("[1000]", "[999]"),
        ("[1000]", "[10, 100]"),
        ("float64", "int64"),
        ("value['mask']", "value"),
    ],
    ids=str,
)
def test_a_text_that_does_not_fit_its_file_gives_a_sentence(change: tuple[str, str]) -> None:
    encoded = codec.encode({"mask": np.zeros(1000)})
    text = encoded.text.replace(*change)
    with pytest.raises(codec.UnreadableValueError, match=r"has another dtype or|holds no tensor"):
        codec.decode(text, lambda name: encoded.attachments[0].content())


def test_two_arrays_of_a_text_never_share_memory() -> None:
    encoded = codec.encode([np.zeros(1000), np.ones(1000)])
    text = encoded.text.replace("value[1]", "value[0]")
    with pytest.raises(codec.UnreadableValueError, match=r"holds no tensor 'value\[0\]'"):
        codec.decode(text, lambda name: encoded.attachments[0].content())


def test_a_scalar_that_does_not_fit_its_dtype_gives_a_sentence() -> None:
    for body in (
        '"int8", "value": 300',
        '"float16", "value": 1e300',
        '"bool", "value": 1',
        '"float32", "base64": "AA=="',
    ):
        with pytest.raises(codec.UnreadableValueError, match=r"\$scalar"):
            codec.decode(f'{{"$scalar": {body}}}', pytest.fail)
