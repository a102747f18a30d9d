"""Classes whose objects the tests keep."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

T = TypeVar("T")


@dataclass
class Frame:
    number: int
    mask: Any = None


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    height: int


@dataclass
class Odd:
    """Its __init__ and __post_init__ would raise if they were called a second time."""

    given: InitVar[int]
    kinds: ClassVar[int] = 3
    later: list[int] = field(init=False)
    never: int = field(init=False, repr=False)

    def __post_init__(self, given: int) -> None:
        if given != 7:
            raise AssertionError("called with something else")
        self.later = [given]

    @cached_property
    def total(self) -> int:
        return sum(self.later)


@dataclass
class Box(Generic[T]):
    content: T


class Outer:
    @dataclass
    class Inner:
        value: object


class NotInSlots:
    __slots__ = ("extra",)


@dataclass
class MoreThanFields(NotInSlots):
    x: int


@dataclass
class Mapping(dict[str, int]):
    x: int = 0


class InDescriptor:
    def __get__(self, instance: object, owner: object) -> int:
        return 1

    def __set__(self, instance: Any, value: int) -> None:
        instance.__dict__["_x"] = value


@dataclass
class Described:
    x: int = InDescriptor()  # type: ignore[assignment]


@dataclass(frozen=True)
class Unhashable:
    x: int

    def __hash__(self) -> int:
        raise KeyError("never")


class Point(NamedTuple):
    x: int
    y: Any = None


Pair = namedtuple("Pair", ["left", "right"])


class LooseTuple(Point):
    pass


class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796 (a second name of one member)
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Text(str):
    __slots__ = ()
