"""Dates and times as ISO 8601, each with the zone it had.

A fixed offset stands in the text. A named zone stands beside it: ``"zone": "Europe/Berlin"``
(zoneinfo), or ``"zone": ["+02:00", "CEST"]`` (datetime.timezone with a name of its own).
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Protocol, Self, TypeVar

from checkpoint_runtime.codec.problems import UnreadableValueError
from checkpoint_runtime.codec.reader import Body, Reader, expect
from checkpoint_runtime.codec.texts import write_str
from checkpoint_runtime.codec.writer import Writer

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{6}))?)?")

_AT_THE_END = re.compile(rf"(?:{_OFFSET.pattern})\Z")


class _Clock(Protocol):
    """What datetime and time have in common."""

    @property
    def tzinfo(self) -> dt.tzinfo | None: ...
    @property
    def fold(self) -> int: ...
    def isoformat(self) -> str: ...
    def replace(self, *, tzinfo: dt.tzinfo | None = ..., fold: int = ...) -> Self: ...


def write_datetime(writer: Writer, value: dt.datetime) -> object:
    return _write_clock(writer, "$datetime", value)


def read_datetime(reader: Reader, body: Body) -> dt.datetime:
    clock, zone = _split(expect(str, body["$datetime"], "$datetime"))
    return _in_zone(body, dt.datetime.fromisoformat(clock), zone)


def write_time(writer: Writer, value: dt.time) -> object:
    return _write_clock(writer, "$time", value)


def read_time(reader: Reader, body: Body) -> dt.time:
    clock, zone = _split(expect(str, body["$time"], "$time"))
    return _in_zone(body, dt.time.fromisoformat(clock), zone)


def _write_clock(writer: Writer, tag: str, value: _Clock) -> object:
    node: dict[str, object] = {tag: value.replace(tzinfo=None).isoformat()}
    zone = value.tzinfo
    if zone is not None:
        name = _zone_name(writer, zone)
        if isinstance(name, str) and _OFFSET.fullmatch(name):
            node[tag] = f"{node[tag]}{name}"
        else:
            node["zone"] = name
    if value.fold:
        node["fold"] = 1
    return node


_C = TypeVar("_C", dt.datetime, dt.time)


def _split(text: str) -> tuple[str, dt.tzinfo | None]:
    # fromisoformat() would make UTC of an offset of less than a second.
    match = _AT_THE_END.search(text)
    return (text, None) if match is None else (text[: match.start()], _zone(match[0]))


def _in_zone(body: Body, value: _C, zone: dt.tzinfo | None) -> _C:
    value = value.replace(tzinfo=_zone(body["zone"]) if "zone" in body else zone)
    return value.replace(fold=1) if body.get("fold") == 1 else value


def write_date(writer: Writer, value: dt.date) -> object:
    return {"$date": value.isoformat()}


def read_date(reader: Reader, body: Body) -> dt.date:
    return dt.date.fromisoformat(expect(str, body["$date"], "$date"))


def write_timedelta(writer: Writer, value: dt.timedelta) -> object:
    return {"$timedelta": [value.days, value.seconds, value.microseconds]}


def read_timedelta(reader: Reader, body: Body) -> dt.timedelta:
    days, seconds, microseconds = (
        expect(int, part, "$timedelta") for part in expect(list, body["$timedelta"], "$timedelta")
    )
    return dt.timedelta(days, seconds, microseconds)


def write_zone(writer: Writer, value: dt.tzinfo) -> object:
    return {"$zone": _zone_name(writer, value)}


def read_zone(reader: Reader, body: Body) -> dt.tzinfo:
    return _zone(body["$zone"])


def _zone_name(writer: Writer, zone: Any) -> object:
    kind = type(zone)
    if kind == dt.timezone:
        offset, *own_name = zone.__getinitargs__()
        if not own_name:
            return _offset(offset)
        return [_offset(offset), write_str(writer, own_name[0])]
    # Not isinstance(): zoneinfo is imported if there is an instance, and not otherwise.
    if (kind.__module__, kind.__qualname__) != ("zoneinfo", "ZoneInfo"):
        writer.refuse(f"has a time zone of type {kind.__name__}: use zoneinfo or a fixed offset")
    if zone.key is None:
        writer.refuse("has a ZoneInfo without a key, made from a file")
    return zone.key


def _zone(name: object) -> dt.tzinfo:
    if isinstance(name, list):
        offset, own_name = name
        return dt.timezone(_delta(offset), expect(str, own_name, "the name of a zone"))
    text = expect(str, name, "a zone")
    if _OFFSET.fullmatch(text):
        return dt.timezone(_delta(text))
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:
        raise UnreadableValueError(
            f"the time zone {text!r:.100} is not known on this machine"
        ) from error


def _offset(delta: dt.timedelta) -> str:
    size = abs(delta)
    minutes, seconds = divmod(size.seconds, 60)
    text = f"{'-' if delta < dt.timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"
    if size.microseconds:
        return f"{text}:{seconds:02}.{size.microseconds:06}"
    return f"{text}:{seconds:02}" if seconds else text


def _delta(text: object) -> dt.timedelta:
    match = _OFFSET.fullmatch(expect(str, text, "an offset"))
    if match is None:
        raise UnreadableValueError(f"{text!r:.100} is no offset such as +02:00")
    sign, *parts = match.groups(default="0")
    hours, minutes, seconds, microseconds = map(int, parts)
    delta = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds)
    return -delta if sign == "-" else delta
