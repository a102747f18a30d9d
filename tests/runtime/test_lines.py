"""What a state log says, and which of its faults a crash explains."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint_runtime import DamagedStateError
from checkpoint_runtime.state.lines import Lines, framed, parse
from tests.runtime.support import log_of

PATH = Path("job") / "state.log"
RECORDS: list[dict[str, Any]] = [
    {"format": 4, "pipeline": "film"},
    {"done": "a", "value": [1]},
    {"done": "b"},
]
WHOLE = log_of(RECORDS)
ENDS = [len(log_of(RECORDS[:count])) for count in range(1, 4)]
FIRST = WHOLE[: ENDS[0]]


def read(data: bytes) -> Lines:
    return parse(data, FIRST, PATH)


def records(lines: Lines) -> list[dict[str, Any]]:
    return list(lines.records())


def refusal(data: bytes) -> DamagedStateError:
    with pytest.raises(DamagedStateError) as caught:
        records(read(data))
    assert caught.value.path == PATH
    return caught.value


def test_a_log_can_be_read_with_cat_and_each_checksum_goes_on_from_the_last() -> None:
    first, second, third = WHOLE.decode().splitlines()
    assert first == f'{zlib.crc32(first[9:].encode()):08x} {{"format": 4, "pipeline": "film"}}'
    checksum = int(first[:8], 16)
    assert second[:8] == f"{zlib.crc32(second[9:].encode(), checksum):08x}"
    assert third[9:] == '{"done": "b"}'
    bodies = [line[9:].encode() for line in (first, second, third)]
    assert read(WHOLE) == Lines(PATH, bodies, len(WHOLE), int(third[:8], 16))


@pytest.mark.parametrize("size", range(len(WHOLE) + 1))
def test_a_log_cut_at_any_byte_gives_exactly_its_whole_records(size: int) -> None:
    whole = [end for end in ENDS if end <= size]
    found = read(WHOLE[:size])
    assert records(found) == RECORDS[: len(whole)]
    assert found.sound_bytes == max(whole, default=0)


@pytest.mark.parametrize("size", range(len(WHOLE) + 1))
def test_a_tail_whose_length_reached_the_disk_before_its_bytes_is_torn(size: int) -> None:
    whole = [end for end in ENDS if end <= size]
    # As long as the line in hand was to be, or up to the end of a block.
    for length in (next(end for end in ENDS if end >= size), 4096, 8192):
        found = read(WHOLE[:size].ljust(length, b"\0"))
        assert records(found) == RECORDS[: len(whole)]
        assert found.sound_bytes == max(whole, default=0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 255))
def test_a_last_line_that_did_not_reach_the_disk_whole_is_torn(place: int, change: int) -> None:
    line = bytearray(WHOLE[ENDS[1] :])
    line[place % (len(line) - 1)] ^= change
    if line.count(b"\n") == 1:
        assert records(read(WHOLE[: ENDS[1]] + bytes(line))) == RECORDS[:2]


def test_a_last_line_with_a_block_missing_is_torn_even_if_its_end_is_there() -> None:
    line, _ = framed('{"done": "c", "value": "%s"}' % ("x" * 9000), read(WHOLE).checksum)
    for block in range(2):
        torn = bytearray(line)
        torn[4096 * block : 4096 * (block + 1)] = bytes(4096)
        for zeros in (b"", bytes(4096)):
            found = read(WHOLE + bytes(torn) + zeros)
            assert (records(found), found.sound_bytes) == (RECORDS, len(WHOLE))


LINES = [WHOLE[begin:end] for begin, end in zip([0, *ENDS], ENDS, strict=False)]


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ([LINES[0], LINES[1].replace(b"1]", b"2]"), LINES[2]], 2),
        ([LINES[0], LINES[1].replace(b"1]", b"2]"), LINES[2][:-4]], 2),
        ([LINES[0], LINES[2], LINES[1]], 2),
        ([LINES[0], LINES[1], LINES[1], LINES[2]], 3),
        ([LINES[0], b"\n", LINES[1]], 2),
        ([LINES[1], LINES[2]], 1),
        ([LINES[0].replace(b"film", b"song"), LINES[1]], 1),
    ],
    ids=["altered", "before-torn", "swapped", "doubled", "empty", "no-first", "1"],
)
def test_damage_in_the_middle_is_refused_with_its_line(lines: list[bytes], number: int) -> None:
    error = refusal(b"".join(lines))
    assert error.line == number
    said = str(error)
    assert "the checksum does not fit, and it is not the last line. " in said
    assert said.endswith("To start over, take another workspace; nothing has been changed.")
    rescue = f"The {number - 1} lines before it are whole: `head -n {number - 1} state.log > resc"
    assert (rescue in said) == (number > 2)
    # What is to be kept so is a log: its own first line, and no more than that is no loss.
    if number > 2:
        assert len(read(b"".join(b"".join(lines).splitlines(True)[: number - 1])).bodies) == 2


def test_the_last_line_missing_or_doubled_is_what_a_crash_can_leave() -> None:
    assert records(read(LINES[0] + LINES[1])) == RECORDS[:2]
    assert read(WHOLE + LINES[2])[:3] == read(WHOLE)[:3]


def test_a_last_line_that_has_its_newline_and_no_zeros_is_doubtful() -> None:
    assert read(WHOLE + LINES[2]).doubtful
    assert read(WHOLE[:-4] + b"x" + WHOLE[-3:]).doubtful
    for torn in (b"", LINES[2][:-1], bytes(20) + b"\n", LINES[2][:9] + bytes(9) + b"\n"):
        assert not read(WHOLE + torn).doubtful, torn


@pytest.mark.parametrize(
    "data",
    [
        b"notes for monday",
        b"notes\nfor monday\n",
        b"42",
        b"cafe",
        b"\x7fELF\x02\x01\x01\0\0\0",
        b"\n",
        bytes(100) + b"x",
        b'00000000 {"format": ',
        LINES[0].replace(b"film", b"song")[:-1],
        LINES[0].replace(b"film", b"fi\0m"),
        bytes(4096) + b"a disk image",
    ],
)
def test_a_file_that_is_not_ours_is_refused_however_short(data: bytes) -> None:
    error = refusal(data)
    assert "this is not the beginning of a state log" in str(error) or "checksum" in str(error)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("[1]", "the checksum fits, but this is no record"),
        ("{}", "the checksum fits, but this is no record"),
        ("{half", "the checksum fits, but this cannot be read as JSON (Expecting property name"),
        ("[" * 100_000, "the checksum fits, but this cannot be read as JSON (maximum recursion"),
        ("7, 8", "the checksum fits, but this cannot be read as JSON (Extra data"),
    ],
)
def test_a_sound_line_that_holds_no_record_is_refused(body: str, sentence: str) -> None:
    line, checksum = framed(body, read(WHOLE).checksum)
    for further in (b"", framed('{"done": "d"}', checksum)[0]):
        error = refusal(WHOLE + line + further)
        assert error.line == 4
        assert sentence in str(error)


@pytest.mark.parametrize("number", [2, 200, 201, 202, 450])
def test_records_are_numbered_through_however_long_the_log(number: int) -> None:
    data, checksum = FIRST, read(FIRST).checksum
    for line in range(2, 451):
        one, checksum = framed("[]" if line == number else f'{{"done": {line}}}', checksum)
        data += one
    assert refusal(data).line == number
