"""File contents against a plain bytearray that has the same done to it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_checkpoint.tree.content import BLOCK_BYTES, FANOUT, Content

BRANCH_BYTES = BLOCK_BYTES * FANOUT

_edges = st.sampled_from([0, BLOCK_BYTES, 2 * BLOCK_BYTES, BRANCH_BYTES, 2 * BRANCH_BYTES])
_positions = st.builds(lambda edge, by: max(0, edge + by), _edges, st.integers(-3, 300))
_data = st.one_of(
    st.binary(max_size=40),
    st.builds(
        lambda seed, size: random.Random(seed).randbytes(size), st.integers(0, 9), _positions
    ),
)
_changes = st.one_of(
    st.tuples(st.just("write"), _positions, _data),
    st.tuples(st.just("truncate"), _positions, st.none()),
    st.tuples(st.just("zero"), _positions, _positions),
    st.tuples(st.just("punch"), _positions, _positions),
    st.tuples(st.just("allocate"), _positions, _positions),
)


def _grow(model: bytearray, size: int) -> None:
    model.extend(bytes(max(0, size - len(model))))


def _apply(content: Content, model: bytearray, change: str, at: int, what: object) -> Content:
    if change == "write":
        assert isinstance(what, bytes)
        if what:
            _grow(model, at)
            model[at : at + len(what)] = what
        return content.write(at, what)
    if change == "truncate":
        _grow(model, at)
        del model[at:]
        return content.truncate(at)
    assert isinstance(what, int)
    if change == "allocate":
        _grow(model, at + what)
        return content.allocate(at, what)
    if change == "zero":
        _grow(model, at + what)
    end = min(at + what, len(model))
    model[at:end] = bytes(max(0, end - at))
    return content.zero(at, what, keep_size=change == "punch")


def _rebuilt(content: Content) -> bytes:
    whole = bytearray(content.size)
    for offset, data in content.chunks():
        assert offset + len(data) <= content.size
        whole[offset : offset + len(data)] = data
    return bytes(whole)


@given(st.lists(_changes, max_size=12))
def test_equals_a_bytearray_and_never_changes(changes: list[tuple[str, int, object]]) -> None:
    model = bytearray()
    content = Content.empty()
    versions = [(content, b"")]
    for change, at, what in changes:
        content = _apply(content, model, change, at, what)
        versions.append((content, bytes(model)))
    for version, expected in versions:
        assert version.size == len(expected)
        assert version.read() == expected
        assert _rebuilt(version) == expected
        assert version.digest == Content.of(expected).digest
        assert version == Content.of(expected)


@given(st.binary(max_size=20), _positions, _positions, _positions)
def test_reads_any_part(data: bytes, at: int, offset: int, length: int) -> None:
    content = Content.of(b"start").write(at, data)
    assert content.read(offset, length) == content.read()[offset : offset + length]


def test_other_bytes_or_another_size_have_another_digest() -> None:
    contents = [
        Content.empty(),
        Content.of(b"\0"),
        Content.of(b"a"),
        Content.of(b"a\0"),
        Content.of(b"\0a"),
        Content.of(bytes(BLOCK_BYTES) + b"a"),
        Content.of(bytes(2 * BLOCK_BYTES) + b"a"),
        Content.of(b"a" + bytes(BRANCH_BYTES)),
        Content.empty().truncate(BRANCH_BYTES + 1),
    ]
    assert len({content.digest for content in contents}) == len(contents)


def test_a_large_write_copies_nothing() -> None:
    data = random.Random(0).randbytes(3 * BRANCH_BYTES + 17)
    content = Content.empty().write(5, memoryview(data))
    shared = [chunk for _, chunk in content.chunks() if isinstance(chunk, memoryview)]
    assert sum(map(len, shared)) >= len(data) - BLOCK_BYTES
    assert all(chunk.obj is data for chunk in shared)
    assert content.read(5) == data


def test_a_small_write_shares_all_other_blocks() -> None:
    before = Content.of(random.Random(0).randbytes(BRANCH_BYTES))
    after = before.write(BLOCK_BYTES + 1, b"x")
    old = dict(before.chunks())
    assert [offset for offset, data in after.chunks() if data is not old[offset]] == [BLOCK_BYTES]


def test_a_huge_hole_costs_nothing() -> None:
    content = Content.empty().truncate(1 << 44).write(1 << 43, b"x")
    assert list(content.chunks()) == [(1 << 43, b"x")]
    assert content.read((1 << 43) - 1, 3) == b"\0x\0"


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, BRANCH_BYTES + 1])
def test_cut_back_and_grown_again_holds_zeros(size: int) -> None:
    data = b"x" * (2 * BRANCH_BYTES)
    content = Content.of(data).truncate(size).truncate(len(data))
    assert content.read() == data[:size] + bytes(len(data) - size)
