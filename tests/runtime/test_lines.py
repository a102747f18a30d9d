"""What a state log says, and which of its faults a crash explains."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_runtime import DamagedStateError, ForeignStateError
from checkpoint_runtime.lines import Contents, header_line, parse, record_line

PATH = Path("job") / "state.log"
STAGES = ("research", "render")
HEADER = header_line("film")
VALUE = '{"frames": 3}'
FIRST = record_line("research", VALUE)
SECOND = record_line("render", '["a", "b"]')
WHOLE = HEADER + FIRST + SECOND
VALUES = {"research": VALUE, "render": '["a", "b"]'}


def read(data: bytes, stages: tuple[str, ...] = STAGES) -> Contents:
    return parse(data, pipeline="film", stages=stages, path=PATH)


def line(body: str) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(body.encode()), body.encode())


def test_a_log_can_be_read_with_cat() -> None:
    assert WHOLE.decode().splitlines() == [
        f'{zlib.crc32(HEADER[9:-1]):08x} {{"format": 1, "pipeline": "film"}}',
        f'{zlib.crc32(FIRST[9:-1]):08x} {{"version": 1, "stage": "research", "value": {VALUE}}}',
        f'{zlib.crc32(SECOND[9:-1]):08x} {{"version": 1, "stage": "render", "value": ["a", "b"]}}',
    ]


@pytest.mark.parametrize("size", range(len(WHOLE) + 1))
def test_a_log_cut_at_any_byte_gives_exactly_its_whole_records(size: int) -> None:
    records = [len(HEADER), len(HEADER + FIRST), len(WHOLE)]
    whole = [end for end in records if end <= size]
    contents = read(WHOLE[:size])
    assert contents.sound_bytes == max(whole, default=0)
    assert list(contents.values) == list(VALUES)[: max(len(whole) - 1, 0)]
    assert all(VALUES[stage] == value for stage, value in contents.values.items())


@given(st.integers(0, len(FIRST) - 2), st.integers(1, 255))
def test_a_last_line_that_did_not_reach_the_disk_whole_is_a_torn_tail(
    place: int, change: int
) -> None:
    damaged = bytearray(FIRST)
    damaged[place] ^= change
    if damaged.count(b"\n") == 1:
        contents = read(HEADER + bytes(damaged))
        assert contents == Contents({}, len(HEADER))


@pytest.mark.parametrize("size", [0, 1, len(HEADER) - 1])
def test_a_header_whose_rest_is_zeros_is_torn(size: int) -> None:
    assert read(HEADER[:size].ljust(len(HEADER), b"\0")) == Contents({}, 0)


def test_a_damaged_line_in_the_middle_is_refused_with_file_and_line() -> None:
    data = HEADER + FIRST.replace(b"3", b"4") + SECOND
    with pytest.raises(DamagedStateError) as caught:
        read(data)
    assert str(caught.value) == (
        f"{PATH}, line 2: the checksum does not fit, and it is not the last line. "
        "To start over, move the file away; nothing has been changed."
    )
    assert (caught.value.path, caught.value.line) == (PATH, 2)


def test_a_damaged_line_before_a_torn_tail_is_in_the_middle() -> None:
    with pytest.raises(DamagedStateError, match="line 2: the checksum does not fit"):
        read(HEADER + FIRST.replace(b"3", b"4") + SECOND[:-1])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"garbage", "line 1: this is not the beginning of a state of pipeline 'film'"),
        (b"garbage\n", "line 1: this is not the first line of a state log"),
        (b"\xff\x00\n\n\n", "line 1: this is not the first line of a state log"),
        (FIRST, "line 1: this is not the first line of a state log"),
        (HEADER + line("[]"), "line 2: this is not a record of a stage"),
        (HEADER + line('{"version": 1, "stage": 7, "value": 1}'), "line 2: this is not a record"),
        (HEADER + line('{"version": 1, "stage": "render"}'), "line 2: this is not a record"),
        (HEADER + line("{half"), "line 2: the checksum fits, but this cannot be read as JSON"),
    ],
)
def test_what_no_crash_leaves_behind_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(DamagedStateError) as caught:
        read(data)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (header_line("song"), "line 1: the state of pipeline 'song', not of 'film'"),
        (line('{"format": 2, "pipeline": "film"}'), "line 1: format 2, but this version reads"),
        (HEADER + line('{"version": 2}'), "line 2: a record of version 2, but this version reads"),
        (HEADER + SECOND, "line 2: stage 'render' is recorded where the pipeline has stage 'rese"),
        (HEADER + FIRST + FIRST, "line 3: stage 'research' is recorded where the pipeline has st"),
        (WHOLE + SECOND, "line 4: stage 'render' is recorded where the pipeline has no further s"),
    ],
)
def test_the_state_of_something_else_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(ForeignStateError) as caught:
        read(data)
    assert sentence in str(caught.value)
