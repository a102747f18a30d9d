"""Numbers: what JSON has stands plain, the rest says which it is."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.writer import Writer

PLAIN_INTEGERS_BELOW = 1 << 2000
"""Python converts up to 640 decimal digits whatever its settings; beyond, hexadecimal is used."""

_HEX = re.compile(r"-?0x[0-9a-f]+")
_BITS = re.compile(r"0x[0-9a-f]{16}")
_NAMED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write_int(writer: Writer, value: int) -> object:
    if -PLAIN_INTEGERS_BELOW < value < PLAIN_INTEGERS_BELOW:
        return value
    return {"$int": hex(value)}


def read_int(reader: Reader, body: Body) -> int:
    text = expect(str, body["$int"], "$int")
    if not _HEX.fullmatch(text):
        raise UnreadableValueError(f"$int {text!r:.100} is no hexadecimal integer")
    return int(text, 16)


def write_float(writer: Writer, value: float) -> object:
    if math.isfinite(value):
        return value
    bits = _bits(value)
    for name, named in _NAMED.items():
        if _bits(named) == bits:
            return {"$float": name}
    # The sign of a NaN, and its payload.
    return {"$float": f"0x{bits:016x}"}


def read_float(reader: Reader, body: Body) -> float:
    text = expect(str, body["$float"], "$float")
    if text in _NAMED:
        return _NAMED[text]
    if not _BITS.fullmatch(text):
        raise UnreadableValueError(f"$float {text!r:.100} is none of nan, inf, -inf or 64 bits")
    number: float = struct.unpack(">d", int(text, 16).to_bytes(8, "big"))[0]
    return number


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value), "big")


def write_complex(writer: Writer, value: complex) -> object:
    return {"$complex": [write_float(writer, value.real), write_float(writer, value.imag)]}


def read_complex(reader: Reader, body: Body) -> complex:
    real, imaginary = expect(list, body["$complex"], "$complex")
    return complex(expect(float, real, "$complex"), expect(float, imaginary, "$complex"))


def write_decimal(writer: Writer, value: Any) -> object:
    return {"$decimal": str(value)}


def read_decimal(reader: Reader, body: Body) -> object:
    from decimal import Decimal

    text = expect(str, body["$decimal"], "$decimal")
    number = Decimal(text)
    # Where the context does not trap it, Decimal makes NaN of anything.
    if str(number) != text:
        raise UnreadableValueError(f"$decimal {text!r:.100} is no decimal number")
    return number


def write_fraction(writer: Writer, value: Any) -> object:
    return {"$fraction": [write_int(writer, value.numerator), write_int(writer, value.denominator)]}


def read_fraction(reader: Reader, body: Body) -> object:
    from fractions import Fraction

    numerator, denominator = expect(list, body["$fraction"], "$fraction")
    return Fraction(expect(int, numerator, "$fraction"), expect(int, denominator, "$fraction"))
