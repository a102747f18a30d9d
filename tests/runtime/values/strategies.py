"""Values of every kind that needs nothing installed, nested."""

from __future__ import annotations

import datetime as dt
import os
import struct
from collections import OrderedDict
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tests.runtime.values.sample_classes import (
    Colour,
    Frame,
    Level,
    Outer,
    Pair,
    Point,
    Rights,
    Size,
)

ANY_TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["", "$", "$tuple", "\ud83d\ude00", "a\\ud800\udcff", "\u2028\x85\x00\n"]
)
FLOATS = st.floats() | st.integers(0, 2**64 - 1).map(
    lambda bits: float(struct.unpack("<d", struct.pack("<Q", bits))[0])
)
OFFSETS = st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)).map(dt.timezone)
ZONES = (
    st.none()
    | OFFSETS
    | st.just(dt.UTC)
    | st.builds(dt.timezone, st.just(dt.timedelta(hours=2)), ANY_TEXT)
    | st.sampled_from(["Europe/Berlin", "America/New_York"]).map(ZoneInfo)
)
FOLDS = st.integers(0, 1)
MOMENTS = st.builds(
    lambda moment, zone, fold: moment.replace(tzinfo=zone, fold=fold), st.datetimes(), ZONES, FOLDS
)
CLOCKS = st.builds(
    lambda clock, zone, fold: clock.replace(tzinfo=zone, fold=fold), st.times(), ZONES, FOLDS
)
FILE_NAMES = st.binary(max_size=10).map(lambda name: os.fsdecode(b"/data/" + name))

HASHABLE_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    FLOATS,
    ANY_TEXT,
    st.binary(max_size=20),
    st.complex_numbers(),
    st.decimals().filter(lambda number: not number.is_snan()),  # Cannot be hashed.
    st.fractions(),
    st.uuids(),
    MOMENTS,
    CLOCKS,
    st.dates(),
    st.timedeltas(),
    OFFSETS,
    FILE_NAMES.map(Path),
    ANY_TEXT.map(PurePosixPath),
    st.sampled_from([*Colour, *Level, *Rights]),
    st.builds(Size, st.integers(), st.integers()),
)
HASHABLE = st.recursive(
    HASHABLE_SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Point, inner, inner)
    ),
    max_leaves=4,
)
VALUES = st.recursive(
    HASHABLE | st.binary(max_size=20).map(bytearray),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(ANY_TEXT, inner, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=3).map(OrderedDict),
        st.sets(HASHABLE, max_size=3),
        st.builds(Frame, st.integers(), inner),
        st.builds(Outer.Inner, inner),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=12,
)
