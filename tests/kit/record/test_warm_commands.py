"""Which commands can start warm, and which modules are loaded for them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_checkpoint.record.zygote.command import Fresh, NotPython, PythonCommand, python_command
from pytest_checkpoint.record.zygote.imports import Imports, Place
from pytest_checkpoint.record.zygote.preload import first_path, require_no_shadow, wanted

PYTHON = os.path.realpath(sys.executable)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("job.py", "other.py", "archive.zip", "bytes.pyc"):
        (tmp_path / name).write_bytes(b"PK" if name.endswith("zip") else b"print()\n")
    (tmp_path / "folder.py").mkdir()
    return tmp_path


def parsed(folder: Path, *command: str, **environment: str) -> PythonCommand:
    return python_command(command, {"PATH": os.defpath} | environment, folder)


def test_a_script(folder: Path) -> None:
    command = parsed(folder, PYTHON, "-IBu", "-W", "error", "-Xutf8=1", "job.py", "-x", "--", "a b")

    assert command.interpreter == (PYTHON, "-IBu", "-W", "error", "-Xutf8=1")
    assert (command.script, command.module) == ("job.py", None)
    assert command.argv == ("job.py", "-x", "--", "a b")
    assert command.original == (PYTHON, "-IBu", "-W", "error", "-Xutf8=1", *command.argv)
    assert (command.executable, command.name) == (PYTHON, os.path.basename(PYTHON))


def test_a_module(folder: Path) -> None:
    command = parsed(folder, PYTHON, "-m", "package.tool", "job.py")

    assert (command.script, command.module) == (None, "package.tool")
    assert command.argv == ("-m", "job.py")
    assert command.original == (PYTHON, "-m", "package.tool", "job.py")


def test_a_program_on_the_path_or_behind_a_link(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(PYTHON)
    command = parsed(folder, "python", "job.py", PATH=str(folder / "bin"))
    assert (command.interpreter, command.executable) == (("python",), str(folder / "bin/python"))
    assert parsed(folder, "bin/python", "job.py").executable == str(folder / "bin/python")


def test_a_first_line(folder: Path) -> None:
    (folder / "tool").write_text(f"#!{PYTHON} -I\nprint()\n")
    command = parsed(folder, "./tool", "a")
    assert command.interpreter == (PYTHON, "-I")
    assert (command.argv, command.name) == ((str(folder / "tool"), "a"), "tool")

    (folder / "python3").symlink_to(PYTHON)
    (folder / "tool").write_text("#!/usr/bin/env python3\nprint()\n")
    command = parsed(folder, "./tool", PATH=str(folder))
    assert (command.interpreter, command.name) == (("python3",), "python3")


@pytest.mark.parametrize(
    ("words", "environment", "why"),
    [
        (["-c", "0"], {}, "its option -c is not one that a warm start can keep"),
        (["-i", "job.py"], {}, "its option -i is not"),
        (["-vB", "job.py"], {}, "its option -vB is not"),
        (["-X", "importtime", "job.py"], {}, "its option -X importtime is not"),
        (["-Xtracemalloc=5", "job.py"], {}, "its option -X tracemalloc=5 is not"),
        (["-", "job.py"], {}, "its option - is not"),
        (["--help"], {}, "its option --help is not"),
        (["-I"], {}, "it runs no script"),
        (["-W"], {}, "it runs no script"),
        (["-m"], {}, "-m has no module"),
        (["missing.py"], {}, "missing.py is not a plain file"),
        (["folder.py"], {}, "folder.py is not a plain file"),
        (["archive.zip"], {}, "archive.zip is not a text"),
        (["bytes.pyc"], {}, "bytes.pyc is not a text"),
        (["job.py", "x" * 200_000], {}, "its arguments are too long"),
        (["job.py"], {"PYTHONVERBOSE": "1"}, "PYTHONVERBOSE is set"),
        (["-s", "job.py"], {"PYTHONINSPECT": "1"}, "PYTHONINSPECT is set"),
    ],
    ids=str,
)
def test_what_is_not_understood(
    folder: Path, words: list[str], environment: dict[str, str], why: str
) -> None:
    with pytest.raises(Fresh) as refused:
        parsed(folder, PYTHON, *words, **environment)
    assert why in str(refused.value)
    assert not isinstance(refused.value, NotPython)


@pytest.mark.parametrize("option", ["-E", "-I", "-BI"])
def test_variables_that_are_ignored(folder: Path, option: str) -> None:
    assert parsed(folder, PYTHON, option, "job.py", PYTHONVERBOSE="1").script == "job.py"


def test_an_interpreter_that_is_a_script(folder: Path) -> None:
    (folder / "python3").write_text(f'#!/bin/sh\nexec {PYTHON} "$@"\n')
    with pytest.raises(Fresh, match="is not an interpreter itself") as refused:
        parsed(folder, "./python3", "job.py")
    assert not isinstance(refused.value, NotPython), "it is to be told: every start takes longer"
    (folder / "python3").write_text("exec\n")
    with pytest.raises(Fresh, match="is not an interpreter itself but a script that starts one"):
        parsed(folder, "./python3", "job.py")


@pytest.mark.parametrize("command", [["sh", "job.py"], ["/bin/cat", "x"], ["no-such-program"]])
def test_other_programs(folder: Path, command: list[str]) -> None:
    with pytest.raises(NotPython):
        parsed(folder, *command)


# --- imports ---


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(root: Path, script: str = "job.py") -> list[str]:
    places = [Place(root, own=True), Place(root / "lib", own=False)]
    return [name for name, _ in Imports(places, ["sys", "builtin"]).of_script(root / script)]


LIBRARY = {
    f"lib/{name}": ""
    for name in ("a.py", "b/__init__.py", "b/c.py", "d.so", "e.abi3.so", "f/__init__.py", "g.py")
}


def test_installed_modules_in_the_order_of_their_imports(tmp_path: Path) -> None:
    write(tmp_path, LIBRARY)
    write(
        tmp_path,
        {
            "job.py": "import own.part, g\nfrom own import sub, value\nimport sys, nowhere\n"
            "from . import nothing\n",
            "own/__init__.py": "import a\nfrom b import c, thing",
            "own/part.py": "from . import more\nfrom .more import x\nfrom ..out import y\nimport d",
            "own/more.py": "import f.missing, e",
            "own/sub.py": "import own\nimport b.c",
        },
    )
    places = [Place(tmp_path, own=True), Place(tmp_path / "lib", own=False)]
    assert Imports(places, ["sys"]).of_script(tmp_path / "job.py") == (
        ("a", ()),
        ("b", ("c", "thing")),
        ("f.missing", ()),
        ("e", ()),
        ("d", ()),
        ("g", ()),
        ("b.c", ()),
    )


def test_only_what_is_imported_for_certain(tmp_path: Path) -> None:
    write(tmp_path, LIBRARY)
    text = """
import sys
if sys.argv: import a
def later(): import a
class Within: import a
try:
    import b
except ImportError:
    import a
else:
    import d
finally:
    import e
with open("x"): import f
if __name__ == "__main__":
    import g
"""
    write(tmp_path, {"job.py": text, "importer.py": "import job"})
    assert names(tmp_path) == ["b", "d", "e", "f", "g"]
    assert names(tmp_path, "importer.py") == ["b", "d", "e", "f"]


def test_files_that_cannot_be_read_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, LIBRARY)
    write(
        tmp_path, {"job.py": "import bad, cycle, a", "bad.py": "import (", "cycle.py": "import job"}
    )
    assert names(tmp_path) == ["a"]
    assert names(tmp_path, "bad.py") == []
    (tmp_path / "bad.py").write_bytes(b"\0")
    assert names(tmp_path, "bad.py") == []


def test_modules_that_are_run(tmp_path: Path) -> None:
    write(tmp_path, LIBRARY)
    write(
        tmp_path,
        {
            "own/__init__.py": "import a",
            "own/__main__.py": "import g\nif __name__ == '__main__':\n    import d",
            "own/tool.py": "import f",
        },
    )

    def run(name: str) -> list[str]:
        places = [Place(tmp_path, own=True), Place(tmp_path / "lib", own=False)]
        return [found for found, _ in Imports(places, []).of_module(name)]

    assert run("own") == ["a", "g", "d"]
    assert run("own.tool") == ["a", "f"]
    assert run("missing") == []


# --- own and installed ---


class Script:
    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self.script: str | None = "own/job.py"
        self.module: str | None = None


def test_an_editable_distribution_is_installed_and_pythonpath_is_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "own/job.py": "import beside, editable, named, packaged, library, other",
            "own/beside.py": "import packaged",
            "project/src/editable.py": "",
            "named/named.py": "import library",
            "elsewhere/other.py": "",
            "python/lib/encodings/__init__.py": "",
            "python/lib/library.py": "",
            "venv/site-packages/packaged.py": "",
            "venv/site-packages/project-1.dist-info/direct_url.json": '{"url": "file://'
            f'{tmp_path}/project", "dir_info": {{"editable": true}}}}',
            "venv/site-packages/plain-1.dist-info/direct_url.json": '{"url": "file://'
            f'{tmp_path}/elsewhere", "dir_info": {{}}}}',
            "venv/site-packages/odd-1.dist-info/direct_url.json": "no json",
        },
    )
    path = ["named", "python/lib", "venv/site-packages", "project/src", "elsewhere"]
    named = str(tmp_path / "named")
    about: dict[str, Any] = {
        "path": [str(tmp_path / entry) for entry in path],
        "named": named,
        "library": str(tmp_path / "python/lib/encodings/__init__.py"),
        "builtin": [],
        "safe": False,
    }
    found = [name for name, _ in wanted(Script(tmp_path), about)]
    assert found == ["packaged", "editable", "library"]

    about["named"] = os.pathsep.join([named, str(tmp_path / "project/src")])
    assert "editable" not in [name for name, _ in wanted(Script(tmp_path), about)]


def test_what_stands_first_on_the_path(tmp_path: Path) -> None:
    write(tmp_path, {"own/job.py": "", "real/job.py": ""})
    script = Script(tmp_path)
    assert first_path(script, {"safe": False}) == str(tmp_path / "own")
    assert first_path(script, {"safe": True}) is None
    (tmp_path / "own/job.py").unlink()
    (tmp_path / "own/job.py").symlink_to(tmp_path / "real/job.py")
    assert first_path(script, {"safe": False}) == str(tmp_path / "real")
    script.script, script.module = None, "job"
    assert first_path(script, {"safe": False}) == str(tmp_path)


def test_names_beside_the_script(tmp_path: Path) -> None:
    write(tmp_path, {"json.py": "", "numpy/__init__.py": "", "text.txt": ""})
    require_no_shadow(str(tmp_path), ["os", "csv"])
    require_no_shadow(None, ["json"])
    with pytest.raises(Fresh, match=r"json\.py has the name of an installed module"):
        require_no_shadow(str(tmp_path), ["os", "json"])
    with pytest.raises(Fresh, match="numpy has the name of an installed module"):
        require_no_shadow(str(tmp_path), ["numpy"])
