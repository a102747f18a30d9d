"""Functions as commands: how they are found, what they are given, what of their result is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

import pytest

from pytest_checkpoint.callables.calling import JOB, OUTCOME, RESULT, TRIAL, VALUE
from pytest_checkpoint.callables.canonical import NotCanonical, canonical
from pytest_checkpoint.callables.loading import load
from pytest_checkpoint.callables.reference import Reference, is_callable_command, reference_of
from pytest_checkpoint.callables.values import decode, encode
from pytest_checkpoint.errors import UserError


def save(workspace: Path) -> str:
    sys.stdout.write("said on the way\n")
    (workspace / "out").write_text("saved")
    return "result"


def save_more(number: object, names: tuple[str, ...], workspace: Path, *, where: Path) -> object:
    (workspace / where).write_text(f"{number} {names!r}")
    return [number, names, where]


def fail(workspace: Path) -> None:
    raise FileNotFoundError(2, "not there", str(workspace))


def fork(workspace: Path) -> int:
    """Its child comes back from it too."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return 7


class Saver:
    @staticmethod
    def save(workspace: Path) -> str:
        return workspace.name

    @classmethod
    def by_class(cls, workspace: Path) -> str:
        return cls.__name__

    def bound(self, workspace: Path) -> None: ...


@contextmanager
def wrapped(workspace: Path) -> Iterator[Path]:
    yield workspace


def called(
    function: Callable[..., object] | Reference, called_as: str, workspace: Path, **more: Path
) -> subprocess.CompletedProcess[str]:
    reference = function if isinstance(function, Reference) else reference_of("run", function)
    command = reference.command(called_as)
    assert is_callable_command(command)
    return subprocess.run(
        [part.replace("{workspace}", str(workspace)) for part in command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=more.get("cwd"),
    )


def test_a_job_and_its_value(tmp_path: Path) -> None:
    done = called(save, JOB, tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "said on the way\n", "")
    assert (tmp_path / "out").read_text() == "saved"
    # What a check prints is no part of its result.
    done = called(save, VALUE, tmp_path)
    assert (done.stdout, done.stderr) == ('"result"\n', "said on the way\n")
    assert called(save, RESULT, tmp_path).stdout == '"result"\n'
    # One that returns nothing would say the same of any result.
    done = called(takes_one, RESULT, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("takes_one: it returned nothing: what it returns is the result")
    assert called(takes_one, VALUE, tmp_path).stdout == "null\n"


def test_further_arguments_come_first(tmp_path: Path) -> None:
    function = partial(save_more, 3, ("a", "ä"), where=Path("deep"))

    done = called(function, VALUE, tmp_path, cwd=tmp_path)  # relative places of sys.path hold there

    assert json.loads(done.stdout) == [3, ["a", "ä"], "deep"]
    assert (tmp_path / "deep").read_text() == "3 ('a', 'ä')"


def test_how_a_trial_ended_is_told(tmp_path: Path) -> None:
    done = called(fail, TRIAL, tmp_path)

    assert done.returncode == 1
    assert json.loads(done.stdout.removeprefix(OUTCOME)) == {
        "type": "FileNotFoundError",
        "text": f"[Errno 2] not there: '{tmp_path}'",
        "errno": 2,
    }
    assert "fail(" not in done.stdout
    assert "FileNotFoundError" in done.stderr
    assert called(save, TRIAL, tmp_path).stdout == "said on the way\n"


def test_only_one_process_tells(tmp_path: Path) -> None:
    assert called(fork, VALUE, tmp_path).stdout == "7\n"


@pytest.mark.parametrize("function", [Saver.save, Saver.by_class, wrapped, shutil.rmtree])
def test_what_is_found_by_its_name(function: Callable[..., object]) -> None:
    found = reference_of("run", function)

    assert found.name == function.__qualname__
    assert found.file == Path(str(sys.modules[function.__module__].__file__))


def _local() -> Callable[..., object]:
    def save_here(workspace: Path) -> None: ...

    return save_here


def takes_one(workspace: Path) -> None: ...


def takes_nothing() -> None: ...


async def waits(workspace: Path) -> None: ...


def yields(workspace: Path) -> Iterator[int]:
    yield 1


def vanished(workspace: Path) -> None: ...


taken = vanished
del vanished


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda workspace: None, "run: a lambda has no name to be found by"),
        (_local(), "run: save_here is defined within a function"),
        (Saver().bound, "run: Saver.bound is not what its module has under that name"),
        (taken, "run: vanished is not what its module has under that name"),
        (3, "run: 3 is no function: give one that takes the workspace"),
        (print, "run: print is not what its module has under that name"),
        (
            partial(save_more, object),
            "run: an argument of save_more: <class 'object'> is of type type",
        ),
        (
            partial(save_more, {1}),
            "run: an argument of save_more: {1} is of type set, and cannot be",
        ),
        (save_more, "run: save_more is called with the workspace, a pathlib.Path, and nothing"),
        (takes_nothing, "run: takes_nothing is called with the workspace, a pathlib.Path, and"),
        (waits, "run: waits is async: a call of it runs nothing"),
        (yields, "run: yields has a yield in it: a call of it runs nothing"),
    ],
)
def test_what_is_not(function: object, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        reference_of("run", function)

    assert str(refused.value).startswith(sentence)


def test_too_much_for_a_command_line() -> None:
    with pytest.raises(UserError, match="save_more: what it is given is too long for a command"):
        reference_of("run", partial(save_more, "x" * 200_000, (), where=Path())).command(JOB)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Nothing of it is on the path, as with pytest's importlib mode."""
    folder = tmp_path / "project" / "ours"
    (folder / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text("ORIGIN = 'package'\n")
    (folder / "values.py").write_text("VALUE = 'relative'\n")
    (folder / "deep" / "job.py").write_text(
        "from .. import ORIGIN\nfrom ..values import VALUE\n"
        "def run(workspace): return [ORIGIN, VALUE, __name__, __spec__.name]\n"
    )
    return folder


def test_relative_imports(package: Path, tmp_path: Path) -> None:
    job = package / "deep" / "job.py"
    reference = Reference(
        file=job, module="ours.deep.job", name="run", arguments=[], named=encode("", {})
    )

    done = called(reference, VALUE, tmp_path)

    found = ["package", "relative", "ours.deep.job", "ours.deep.job"]
    assert (done.stdout, done.stderr) == (json.dumps(found) + "\n", "")


def test_another_module_of_that_name_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name alone it would be another file's; and its folders have other names."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same_name_7.py").write_text(f"WHERE = {folder!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "first")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    assert load("same_name_7", tmp_path / "second" / "same_name_7.py").WHERE == "second"
    assert load("same_name_7", tmp_path / "first" / "same_name_7.py").WHERE == "first"
    assert load("odd.same_name_7", tmp_path / "second" / "same_name_7.py").WHERE == "second"


def test_a_file_that_fails_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fails_7.py").write_text("raise ZeroDivisionError\n")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    with pytest.raises(ZeroDivisionError):
        load("fails_7", tmp_path / "fails_7.py")

    assert "fails_7" not in sys.modules


def test_values_come_back_as_they_were() -> None:
    given = {
        "nothing": None,
        "numbers": [True, 1, 1.5, -(10**30)],
        "texts": ("a", "\udcff", b"\x00\xff"),
        "paths": [Path("/a/b")],
        3: {"as": "tuple", "value": ()},
    }

    back = decode(json.loads(json.dumps(encode("it", given))))

    assert back == given
    assert [type(one) for one in back["numbers"]] == [bool, int, float, int]


class Array:
    def tolist(self) -> list[float]:
        return [1.0, 2.0]


class Number:
    def __repr__(self) -> str:
        return "Number(3)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("ä", '"ä"'),
        ({"b": 1, "a": (2, 3)}, '{"a": [2, 3], "b": 1}'),
        ({"b", "a"}, '["a", "b"]'),
        ({2: "b", 1: "a"}, '[[1, "a"], [2, "b"]]'),
        ([PurePosixPath("a/b"), Array(), Number()], '["a/b", [1.0, 2.0], "Number(3)"]'),
        (b"\x00", "\"b'\\\\x00'\""),
    ],
)
def test_canonical_form(value: object, text: str) -> None:
    assert canonical(value) == text


def test_a_result_that_tells_where_it_lies_is_none() -> None:
    with pytest.raises(NotCanonical, match=r"it returned <object object at 0x.*>, which is"):
        canonical(object())
    with pytest.raises(NotCanonical):
        canonical({"deep": [save]})
