"""A text that no value can be made of gives a sentence, whatever it is."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkpoint_runtime import codec
from checkpoint_runtime.codec.kinds import READ
from tests.runtime.values.sample_classes import Frame, Size
from tests.runtime.values.strategies import VALUES

NAME = "0" * 32
TAGS = st.sampled_from([*READ, "$unknown"])
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from([f"{NAME}.txt", f"{NAME}.safetensors", f"{Frame.__module__}:Frame"]),
        st.sampled_from(["float32", "bfloat16", "+02:00", "Europe/Berlin", "2024-05-01", "0x7f"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.tuples(
            TAGS,
            inner,
            st.dictionaries(
                st.sampled_from(["shape", "base64", "file", "name", "value", "zone", "number"]),
                inner,
                max_size=4,
            ),
        ).map(lambda parts: {parts[0]: parts[1], **parts[2]}),
    ),
    max_leaves=6,
)


def decode_or_sentence(text: str, content: bytes = b"") -> None:
    """What it gives is a value or a sentence; anything else comes out of here as an error."""
    sentences = []
    for read in (partial(codec.decode, load=lambda name: content), codec.digest):
        try:
            read(text)
        except codec.UnreadableValueError as error:
            sentences.append(str(error))
    assert all(0 < len(sentence) < 1000 for sentence in sentences)


@settings(max_examples=150, deadline=None)
@given(JSON, st.binary(max_size=30))
@example({"$array": "float32", "shape": [2**40, 2**40], "base64": ""}, b"")
@example({"$dict": [[[], 1]]}, b"")
@example({"$frozenset": [{}]}, b"")
@example({"$decimal": "1E+99999999999999999999"}, b"")
@example({"$zone": "Europe"}, b"")
@example({"$zone": "../../etc/passwd"}, b"")
@example({"$zone": "\0"}, b"")
@example({"$enum": "builtins:int", "name": "x"}, b"")
@example({"$dataclass": "os:system", "x": 1}, b"")
@example({"$namedtuple": "builtins:tuple"}, b"")
@example({"$timedelta": [10**100, 0, 0]}, b"")
@example({"$fraction": [1, 0]}, b"")
@example({"$file": f"{NAME}.safetensors"}, b"")
@example({"$file": f"{NAME}.json"}, b'{"$file": "' + NAME.encode() + b'.json"}')
def test_no_tag_and_no_content_gives_anything_but_a_sentence(tree: Any, content: bytes) -> None:
    decode_or_sentence(json.dumps(tree), content)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_no_mutation_of_a_text_gives_anything_but_a_sentence(
    value: object, source: random.Random
) -> None:
    text = codec.encode(value).text
    for _ in range(5):
        place = source.randrange(len(text))
        piece = source.choice(["", '"', "[", "}", "0", "null", "$", ":", text[place:][:9]])
        decode_or_sentence(text[:place] + piece + text[place + source.randrange(3) :])
    decode_or_sentence(text[: source.randrange(len(text))])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "this is not JSON: Expecting value"),
        ("[NaN]", "this is not JSON: NaN is not JSON"),
        ("[" * 100_000, "the text is nested too deep"),
        ('{"a": ' * 100_000, "the text is nested too deep"),
        ('["$"' + "[" * 100_000, "this is not JSON"),
        ("1" * 5000, "this is not JSON: Exceeds the limit"),
        ('{"$new": 1}', "a value of a kind '$new' that this version does not know"),
        ('{"$tuple": 1}', "$tuple should be of type list, not int"),
        ('{"$complex": [1.0]}', "$complex cannot be read: not enough values to unpack"),
        ('{"$int": "0X1"}', "$int '0X1' is no hexadecimal integer"),
        ('{"$float": "infinity"}', "$float 'infinity' is none of nan, inf, -inf or 64 bits"),
        ('{"$decimal": "1e5"}', "$decimal '1e5' is no decimal number"),
        ('{"$decimal": "x"}', "$decimal cannot be read"),
        ('{"$bytes": "x"}', "$bytes cannot be read: Invalid base64"),
        ('{"$bytes": "AA==!"}', "$bytes cannot be read"),
        ('{"$str": "\\\\x"}', "$str has a backslash that escapes nothing"),
        ('{"$dict": [[1, 2], [1.0, 3]]}', "$dict has equal keys"),
        ('{"$set": [1, true]}', "$set has equal elements"),
        ('{"$set": [[]]}', "$set holds what cannot be hashed: TypeError(\"unhashable type: 'list'"),
        ('{"$zone": "Europe/Atlantis"}', "the time zone 'Europe/Atlantis' is not known on this"),
        ('{"$file": "../etc/passwd.txt"}', "'../etc/passwd.txt' is not the name of a side file"),
        ('{"$array": "object", "shape": []}', "$array of an unknown dtype 'object'"),
        ('{"$array": "int8", "shape": [-1]}', "$array of an impossible shape"),
        (
            '{"$array": "int8", "shape": [1000000000000], "base64": ""}',
            "$array has another dtype or shape than its content",
        ),
        (
            f'{{"$array": "int8", "shape": [1], "file": "{NAME}.safetensors", "name": "value"}}',
            "a side file of arrays is damaged",
        ),
    ],
    ids=lambda text: text[:25],
)
def test_the_sentence_says_what_is_wrong(text: str, sentence: str) -> None:
    with pytest.raises(codec.UnreadableValueError) as caught:
        codec.decode(text, lambda name: b"")
    assert sentence in str(caught.value)
    assert caught.value.problem == str(caught.value)


def test_a_class_of_ones_own_may_raise_when_it_is_hashed() -> None:
    module = Frame.__module__
    text = f'{{"$set": [{{"$dataclass": "{module}:Unhashable", "x": 1}}]}}'
    with pytest.raises(codec.UnreadableValueError, match="cannot be hashed: KeyError"):
        codec.decode(text, pytest.fail)


def test_a_zone_that_is_a_folder_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    # As zoneinfo does where the tzdata package is installed.
    def zone(name: str) -> None:
        raise IsADirectoryError(name)

    monkeypatch.setattr("zoneinfo.ZoneInfo", zone)
    with pytest.raises(codec.UnreadableValueError, match="the time zone 'Europe' is not known"):
        codec.decode('{"$zone": "Europe"}', pytest.fail)


def test_what_loading_raises_comes_out_as_it_is() -> None:
    class Missing(ValueError):
        pass

    def load(name: str) -> bytes:
        raise Missing(name)

    for suffix in ("txt", "bin", "json"):
        with pytest.raises(Missing):
            codec.decode(f'{{"$file": "{NAME}.{suffix}"}}', load)


def test_loading_is_asked_for_names_of_our_form_only() -> None:
    asked: list[str] = []

    def load(name: str) -> bytes:
        asked.append(name)
        return b""

    for name in ["/etc/passwd", f"../{NAME}.txt", f"{NAME}.py", f"{NAME}.txt\n", NAME]:
        with pytest.raises(codec.UnreadableValueError):
            codec.decode(json.dumps({"$file": name}), load)
    assert asked == []


def test_every_kind_that_is_written_is_read() -> None:
    assert Size(1, 2) == codec.decode(codec.encode(Size(1, 2)).text, pytest.fail)
