"""A class is found again by whoever resumes: a script, a module, a package, or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import checkpoint_runtime
from checkpoint_runtime import codec
from tests.runtime.values.sample_classes import Colour, Frame, Odd, Point, Size

HERE = Frame.__module__
RUNTIME = str(Path(checkpoint_runtime.__file__).parents[1])

JOB = """\
import enum, sys
from dataclasses import dataclass
from typing import NamedTuple
from checkpoint_runtime import codec

@dataclass(frozen=True)
class Frame:
    number: int

class Size(NamedTuple):
    width: int

class Colour(enum.Enum):
    RED = 1

def main():
    if len(sys.argv) == 1:
        print(codec.encode([Frame(3), Size(4), Colour.RED]).text)
    else:
        print(codec.decode(sys.argv[1], None) == [Frame(3), Size(4), Colour.RED])

if __name__ == "__main__":
    main()
"""


def python(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{RUNTIME}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.rstrip("\n")


def importing(module: str) -> str:
    return f"import sys; sys.argv[0] = 'cli'; import {module} as job; job.main()"


def test_a_script_a_module_and_a_package_read_each_others_values(tmp_path: Path) -> None:
    (tmp_path / "film").mkdir()
    (tmp_path / "film" / "__init__.py").touch()
    (tmp_path / "film" / "job.py").write_text(JOB, encoding="utf-8")
    ways = {
        "job:Frame": ["film/job.py"],
        "film.job:Frame": ["-m", "film.job"],
        "film.job:Frame ": ["-c", importing("film.job")],
    }
    texts = {name: python(tmp_path, *way) for name, way in ways.items()}
    for name, text in texts.items():
        assert text.startswith(f'[{{"$dataclass": "{name.strip()}", "number": 3}}, ')
    for text in {*texts.values()}:
        for way in ways.values():
            assert python(tmp_path, *way, text) == "True", (text, way)


def decode(text: str) -> object:
    return codec.decode(text, pytest.fail)


def test_of_two_classes_with_one_last_name_neither_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package in ("one", "two"):
        module = ModuleType(f"{package}.odd_job")
        module.__file__ = f"/{package}/odd_job.py"
        vars(module)["Frame"] = Frame if package == "one" else type("Frame", (Frame,), {})
        monkeypatch.setitem(sys.modules, module.__name__, module)
    text = '{"$dataclass": "odd_job:Frame", "number": 1, "mask": null}'
    with pytest.raises(codec.UnreadableValueError, match="the class odd_job:Frame is not there"):
        decode(text)
    monkeypatch.delitem(sys.modules, "two.odd_job")
    assert decode(text) == Frame(1)
    # A class of another package is not the one meant, whatever its last name.
    with pytest.raises(codec.UnreadableValueError, match=r"the class three\.odd_job:Frame is not"):
        decode('{"$dataclass": "three.odd_job:Frame", "number": 1, "mask": null}')


def test_a_script_that_something_imports_a_second_time_finds_its_own_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = JOB.partition("def main")[0]
    for name in ("__main__", "odd_job"):
        module = ModuleType(name)
        module.__file__ = "/jobs/odd_job.py"
        monkeypatch.setitem(sys.modules, name, module)
        exec(program, vars(module))
    frame = vars(sys.modules["__main__"])["Frame"](3)
    text = codec.encode(frame).text
    assert text == '{"$dataclass": "odd_job:Frame", "number": 3}'
    assert type(decode(text)) is type(frame)
    with pytest.raises(codec.ValueProblem, match="that is not to be found as odd_job:Frame"):
        codec.encode(vars(sys.modules["odd_job"])["Frame"](3))


def test_nothing_is_imported_and_no_module_is_asked_for_attributes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"asked for {name}")

    monkeypatch.setitem(sys.modules, "lazy_job", Lazy("lazy_job"))
    monkeypatch.setitem(sys.modules, "no_module", None)
    for module in ("lazy_job", "no_module", "this", "antigravity"):
        with pytest.raises(codec.UnreadableValueError, match="or its module is not imported yet"):
            decode(f'{{"$dataclass": "{module}:Frame"}}')
    assert not {"this", "antigravity"} & sys.modules.keys()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            f'{{"$dataclass": "{HERE}:Gone", "x": 1}}',
            f"the class {HERE}:Gone is not there: it has been moved, renamed or removed",
        ),
        (f'{{"$dataclass": "{HERE}:Colour"}}', f"the class {HERE}:Colour is no dataclass any more"),
        (f'{{"$dataclass": "{HERE}:InDescriptor"}}', "is no dataclass any more"),
        (f'{{"$dataclass": "{HERE}:Mapping", "x": 1}}', "no object can be made any more"),
        (
            f'{{"$dataclass": "{HERE}:Size", "width": 1, "height": 2, "depth": 3}}',
            f"the class {HERE}:Size has no field 'depth' any more",
        ),
        (
            f'{{"$dataclass": "{HERE}:Size", "width": 1}}',
            f"the class {HERE}:Size has a field 'height' that is not kept",
        ),
        (
            f'{{"$dataclass": "{HERE}:Size", "$unset": [[]]}}',
            "$dataclass cannot be read: unhashable type",
        ),
        (
            f'{{"$namedtuple": "{HERE}:Point", "x": 1, "z": 2}}',
            f"the class {HERE}:Point has other fields now: 'y', 'z'",
        ),
        (f'{{"$namedtuple": "{HERE}:Frame"}}', "is no NamedTuple any more"),
        (
            f'{{"$enum": "{HERE}:Colour", "name": "GREEN"}}',
            f"the enum {HERE}:Colour has no member 'GREEN' any more",
        ),
        (f'{{"$enum": "{HERE}:Frame", "name": "x"}}', "is no enum any more"),
    ],
    ids=lambda text: text[:60],
)
def test_a_class_that_has_changed_is_named(text: str, sentence: str) -> None:
    with pytest.raises(codec.UnreadableValueError) as caught:
        decode(text)
    assert sentence in str(caught.value)


def test_the_texts_name_class_and_fields() -> None:
    assert codec.encode([Frame(1), Point(2), Colour.CRIMSON, Odd(7)]).text == (
        f'[{{"$dataclass": "{HERE}:Frame", "number": 1, "mask": null}}, '
        f'{{"$namedtuple": "{HERE}:Point", "x": 2, "y": null}}, '
        f'{{"$enum": "{HERE}:Colour", "name": "RED"}}, '
        f'{{"$dataclass": "{HERE}:Odd", "later": [7], "$unset": ["never"]}}]'
    )
    assert decode(codec.encode(Size(1, 2)).text) == Size(1, 2)
