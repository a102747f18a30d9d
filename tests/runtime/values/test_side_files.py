"""What is large goes to side files, named by content; a reader can open them with any tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from checkpoint_runtime import codec
from checkpoint_runtime.codec import attachments
from checkpoint_runtime.codec.attachments import Attachment
from checkpoint_runtime.codec.kinds import write
from checkpoint_runtime.codec.writer import Writer
from tests.runtime.values.exactness import is_same, there_and_back

KIB = 1024
A_DICT_OF_300_KIB: dict[str, Any] = {
    f"frame {number}": [number, "x" * 90] for number in range(3000)
}


@pytest.mark.parametrize(
    ("value", "suffix", "content"),
    [
        ("x" * (64 * KIB + 1), "txt", b"x" * (64 * KIB + 1)),
        ("é" * (32 * KIB + 1), "txt", "é".encode() * (32 * KIB + 1)),
        ("\ud800" * 30_000, "txt", b"\xed\xa0\x80" * 30_000),
        (b"\xff" * (64 * KIB + 1), "bin", b"\xff" * (64 * KIB + 1)),
    ],
    ids=["ascii", "unicode", "surrogates", "bytes"],
)
def test_long_text_and_bytes_go_to_a_file(value: object, suffix: str, content: bytes) -> None:
    encoded = codec.encode({"log": value})
    [attachment] = encoded.attachments
    sha256 = hashlib.sha256(content).hexdigest()
    assert (attachment.name, attachment.sha256) == (f"{sha256[:32]}.{suffix}", sha256)
    assert attachment.size_bytes == len(content)
    assert b"".join(attachment.data) == attachment.content() == content
    assert encoded.text == f'{{"log": {{"$file": "{sha256[:32]}.{suffix}"}}}}'
    assert is_same(there_and_back({"log": value}), {"log": value})


@pytest.mark.parametrize("value", ["x" * 64 * KIB, "é" * 32 * KIB, b"x" * 64 * KIB])
def test_up_to_64_kib_they_stand_in_the_text(value: object) -> None:
    assert codec.encode(value).attachments == ()
    assert is_same(there_and_back(value), value)


def test_a_long_bytearray_comes_back_as_one_of_its_own() -> None:
    value = bytearray(70 * KIB)
    again = there_and_back(value)
    assert is_same(again, value)
    again.append(1)


def test_bytes_are_not_copied() -> None:
    value = bytes(70 * KIB)
    [attachment] = codec.encode([value]).attachments
    assert attachment.data[0] is value


@pytest.mark.parametrize("part", ["x" * 70 * KIB, b"x" * 70 * KIB, bytearray(70 * KIB)])
def test_what_stands_in_several_places_is_one_file(part: object) -> None:
    value = {"a": part, "b": [part]}
    assert len(codec.encode(value).attachments) == 1
    assert there_and_back(value) == value


def test_a_part_is_not_taken_for_one_that_is_gone() -> None:
    """Which was made for the moment: the next one may get its place in memory."""
    writer = Writer(write)
    for content in (b"one", b"two", b"three"):
        writer.attach("bin", content, object())
    assert [one.content() for one in writer.finish()] == [b"one", b"two", b"three"]


def test_equal_content_has_one_name() -> None:
    value = {"a": "x" * 70 * KIB, "b": ("y" + "x" * 70 * KIB)[1:]}
    one, other = codec.encode(value).attachments
    assert one.name == other.name
    assert there_and_back(value) == value


def test_nothing_is_digested_before_the_text_is_asked_for() -> None:
    value = bytes(70 * KIB)
    encoded = codec.encode({"a": value, "b": 1.5, "c": [(value, 2)]})
    [attachment] = encoded.attachments
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashlib, "sha256", None)
        with pytest.raises(TypeError):
            _ = encoded.text
    assert attachment.name in encoded.text


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_digest_is_worked_out_beforehand_as_long_as_it_is_wanted(
    pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "_PIECE_BYTES", 2)
    content: list[bytes | memoryview] = [b"one", memoryview(b" two"), b""]
    sha256 = hashlib.sha256(b"one two").hexdigest()
    for wanted in (True, False):
        attachment = Attachment("bin", content)
        attachment.work_out(iter([True] * pieces + [wanted] * 10).__next__)
        with monkeypatch.context() as patch:
            patch.setattr(hashlib, "sha256", None)
            if wanted:
                assert attachment.sha256 == sha256
            else:
                with pytest.raises(TypeError):
                    _ = attachment.sha256
        assert attachment.sha256 == sha256


@pytest.mark.parametrize("more", [None, (1, 2), {3: b"x" * 70 * KIB}], ids=["plain", "tag", "file"])
def test_a_long_text_goes_to_a_file_as_a_whole_and_stays_json(more: object) -> None:
    value = {**A_DICT_OF_300_KIB, "more": more}
    encoded = codec.encode(value)
    whole = encoded.attachments[-1]
    assert len(encoded.text) < 200
    assert whole.name.endswith(".json")
    assert json.loads(whole.content())["frame 2"] == [2, "x" * 90]
    assert is_same(there_and_back(value), value)


def test_a_text_within_a_text_in_a_file_is_refused() -> None:
    whole = codec.encode(A_DICT_OF_300_KIB).attachments[-1]
    inner = json.dumps({"$file": whole.name}).encode()
    with pytest.raises(codec.UnreadableValueError, match=r"\.json stands where \.bin belongs"):
        codec.decode(f'{{"$file": "{whole.name}", "digest": ""}}', lambda name: inner)


@pytest.mark.parametrize("wrap", [bytes, memoryview])
def test_a_file_may_be_given_as_a_view(wrap: Callable[[bytes], bytes | memoryview]) -> None:
    value = ["x" * 70 * KIB, b"x" * 70 * KIB, A_DICT_OF_300_KIB]
    encoded = codec.encode(value)
    files = {attachment.name: wrap(attachment.content()) for attachment in encoded.attachments}
    assert is_same(codec.decode(encoded.text, files.__getitem__), value)


def test_damaged_files_give_a_sentence() -> None:
    encoded = codec.encode(["x" * 70 * KIB])
    with pytest.raises(codec.UnreadableValueError, match="invalid start byte"):
        codec.decode(encoded.text, lambda name: b"\xff")
