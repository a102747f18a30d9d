"""Modules that a job was seen to import are loaded beforehand too, where that changes nothing."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.phases.signatures import order
from pytest_checkpoint.record.faults import injection_at
from pytest_checkpoint.record.request import Result
from tests.kit.record.warm import both, lines, script, start

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

BASE = os.path.realpath(sys.executable)
"""No virtual environment's: it looks for packages in PYTHONUSERBASE."""
VERSION = "python{}.{}".format(*sys.version_info)
MODULES = {
    "harmless": "",
    "package/__init__": "",
    "package/within": "import json.tool",
    "broken": "raise ImportError('not here')",
    "tries": "import tempfile; tempfile.gettempdir()",
    "makes": "import os; os.makedirs(os.environ['TMPDIR'] + '/cache/inner', exist_ok=True)",
    "leaves": "open(__import__('os').environ['TMPDIR'] + '/cache', 'w').close()",
    "depends": "import leaves",
    "prints": "print('hello')",
    "holds": """
import os
class Held:
    def __del__(self):
        os.write(1, b"taken down")
held = Held()
""",
    "threads": "import threading as t; t.Thread(target=t.Event().wait, daemon=True).start()",
}
LATER = """
import sys
def later():
    for name in sys.argv[1:]:
        try:
            __import__(name)
        except ImportError:
            pass
before = set(sys.modules)
later()
print(sorted(set(sys.modules) - before))
"""


@pytest.fixture
def packages(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> Path:
    base = runner.folder / "base"
    folder = base / "lib" / VERSION / "site-packages"
    for name, text in MODULES.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return base


def loaded(result: Result) -> int:
    found = re.search(r"(\d+) modules preloaded", result.warm or "")
    assert found is not None, (result.fresh_because, result.error_output)
    return int(found[1])


def starts(runner: Runner, packages: Path, *learned: str) -> tuple[Result, Result]:
    """Warm without what was learned, and with it."""
    path = script(runner, LATER)
    told = []
    for names in ((), learned):
        # Another environment is another interpreter.
        environment = {"PYTHONUSERBASE": str(packages), "LEARNED": str(len(names))}
        told.append(
            start(
                runner, BASE, "-B", path, *learned, warm=True, learned=names,
                environment=environment,
            )
        )  # fmt: skip
    return told[0], told[1]


def test_what_was_learned_is_loaded(runner: Runner, packages: Path) -> None:
    plain, learned = starts(runner, packages, "harmless", "package", "package.within")
    assert "harmless" in plain.output
    assert learned.output == "[]\n"
    assert loaded(learned) >= loaded(plain) + 4


def test_what_failed_to_be_imported_fails_again_and_stops_nobody(
    runner: Runner, packages: Path
) -> None:
    plain, learned = starts(runner, packages, "broken", "nowhere", "harmless")
    assert loaded(learned) == loaded(plain) + 1


def test_a_module_of_a_package_comes_with_it(runner: Runner, packages: Path) -> None:
    plain, learned = starts(runner, packages, "package.within")
    assert lines(learned) == lines(plain)
    assert loaded(learned) == loaded(plain)


def test_whether_tmpdir_can_be_written_is_tried_out_again(runner: Runner, packages: Path) -> None:
    path, environment = script(runner, LATER), {"PYTHONUSERBASE": str(packages)}
    command = (BASE, "-B", path, "tries", "makes")
    fresh = runner.run(*command, environment=environment)
    learned = ("tries", "makes")
    warm = runner.run(*command, warm=True, learned=learned, environment=environment)
    assert loaded(warm.result) >= 2
    assert warm.result.made_first == ("t/cache", "t/cache/inner")
    # What is tried is a file with another name each time.
    assert warm.calls == fresh.calls == ["openat", "write", "unlink", "mkdir", "mkdir"]
    assert order(warm.recording) == order(fresh.recording)
    assert order(fresh.recording)[:3] == (
        "openat, trying out TMPDIR", "write, trying out TMPDIR", "unlink, trying out TMPDIR",
    )  # fmt: skip


def test_where_tmpdir_cannot_be_written_another_folder_is_found(
    runner: Runner, packages: Path
) -> None:
    """A fault comes to a warm start as well as to a fresh one."""
    path = script(runner, "import tempfile, tries\nprint(tempfile.gettempdir())")
    environment = {"PYTHONUSERBASE": str(packages)}
    told = runner.run(BASE, "-B", path, environment=environment)
    assert told.result.output == f"{runner.client.temporary}\n"
    injection = injection_at(told.operations, 1, error=errno.EMFILE)
    fresh, warm = (
        runner.run(BASE, "-B", path, warm=warm, injection=injection, environment=environment)
        for warm in (False, True)
    )
    assert (warm.result.fired_at, warm.result.output) == (1, fresh.result.output)
    assert warm.result.output != told.result.output
    assert warm.result.warm is not None


@pytest.mark.parametrize(
    "end", ["pass", "sys.exit()", "sys.exit(3)", "sys.exit('so')", "raise KeyboardInterrupt"]
)
def test_what_was_loaded_beforehand_is_not_taken_down(
    runner: Runner, packages: Path, end: str
) -> None:
    """However it ends: that costs more than most resumes."""
    path = script(runner, f"import sys, holds\n{end}")
    fresh, warm = both(runner, BASE, "-B", path, environment={"PYTHONUSERBASE": str(packages)})
    assert (fresh.output, warm.output) == ("taken down", "")
    assert (warm.exit_code, warm.signal) == (fresh.exit_code, fresh.signal)
    assert warm.error_output == fresh.error_output


def test_empty_folders_in_tmpdir_are_made_again_in_each_child(
    runner: Runner, packages: Path
) -> None:
    plain, learned = starts(runner, packages, "makes")
    assert loaded(learned) == loaded(plain) + 1
    assert (runner.client.temporary / "cache" / "inner").is_dir()
    assert learned.steps == plain.steps == 2
    assert learned.made_first == ("t/cache", "t/cache/inner")


def test_where_the_order_counts_they_are_left_to_the_job(runner: Runner, packages: Path) -> None:
    environment = {"PYTHONUSERBASE": str(packages)}
    told = start(
        runner, BASE, "-B", script(runner, LATER), "makes", "harmless", warm=True,
        learned=("makes", "harmless"), in_order=True, environment=environment,
    )  # fmt: skip
    assert (told.output, told.made_first) == ("['makes']\n", ())
    assert (runner.client.temporary / "cache" / "inner").is_dir()


def test_where_they_cannot_be_made_the_job_fails(runner: Runner, packages: Path) -> None:
    path = script(runner, LATER)
    given = {"learned": ("makes",), "environment": {"PYTHONUSERBASE": str(packages)}}
    start(runner, BASE, "-B", path, "makes", warm=True, **given)
    runner.clear()
    (runner.client.temporary / "cache").touch()
    request = runner.request((BASE, "-B", path, "makes"), warm=True, recording=None, **given)
    told = runner.client.run(request)
    assert (told.exit_code, told.output) == (1, "")
    assert "NotADirectoryError" in told.error_output


@pytest.mark.parametrize("name", ["leaves", "prints"])
def test_what_would_show_is_left_to_the_job(runner: Runner, packages: Path, name: str) -> None:
    plain, learned = starts(runner, packages, name, "harmless")
    assert loaded(learned) == loaded(plain) + 1
    assert learned.output.replace("'harmless', ", "") == plain.output.replace("'harmless', ", "")


def test_so_is_what_depends_on_it(runner: Runner, packages: Path) -> None:
    plain, learned = starts(runner, packages, "leaves", "depends", "harmless")
    assert loaded(learned) == loaded(plain) + 1
    assert "depends" in learned.output


def test_where_one_makes_children_unfit_none_is_loaded(runner: Runner, packages: Path) -> None:
    plain, learned = starts(runner, packages, "harmless", "threads")
    assert loaded(learned) == loaded(plain)
    assert lines(learned) == lines(plain)
