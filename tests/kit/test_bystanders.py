"""What stands beside the job: names like its own, and a process that looks like it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.bystanders.files import BystanderFiles
from pytest_checkpoint.phases.bystanders.process import bystander
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import Create, NodeKind, Operation
from pytest_checkpoint.tree.image import Image


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in ("w", "t", "scratch"):
        (tmp_path / name).mkdir()
    client = SimpleNamespace(
        workspace=tmp_path / "w", temporary=tmp_path / "t", scratch=tmp_path / "scratch"
    )
    options = SimpleNamespace(keep_tmpdir=False)
    return cast("Bench", SimpleNamespace(client=client, options=options))


def made(*names: str, kind: NodeKind = NodeKind.FILE) -> Recording:
    operations = tuple(
        Operation(
            step=step,
            call="openat",
            path=b"t/" + os.fsencode(name),
            effects=(Create(2, os.fsencode(name), step + 9, kind, 0o600),),
        )
        for step, name in enumerate(names, 1)
    )
    return Recording("/slot", Image({}), b"", operations)


def there(bench: Bench) -> list[str]:
    root = bench.client.workspace.parent
    return sorted(
        str(path.relative_to(root))
        for folder in (root, root / "t")
        for path in folder.iterdir()
        if path.name not in {"w", "t", "scratch"}
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), ["t/tmpk2w9x4q7"]),
        (("render-x8k2l1qz.png",), ["t/render-k2w9x4q7.png", "t/tmpk2w9x4q7"]),
        (("part-12.bin", "part-13.bin"), ["t/part-4711.bin", "t/tmpk2w9x4q7"]),
        (("cache",), ["t/cache-other", "t/tmpk2w9x4q7"]),
        (("x8k2l1qz",), ["t/tmpk2w9x4q7"]),
        (("sub/file",), ["t/tmpk2w9x4q7"]),
        (("tmpk2w9x4q7",), []),
    ],
)
def test_names(bench: Bench, names: Sequence[str], expected: list[str]) -> None:
    files = BystanderFiles(bench, made(*names))
    files.plant()
    assert there(bench) == sorted([*expected, "w-other", "w.bak"])
    assert list(files.harmed()) == []


def test_where_tmpdir_is_the_users_nothing_is_put_there(bench: Bench) -> None:
    cast("Any", bench.options).keep_tmpdir = True
    BystanderFiles(bench, made("render-x8k2l1qz")).plant()
    assert there(bench) == ["w-other", "w.bak"]


def test_folders(bench: Bench) -> None:
    files = BystanderFiles(bench, made("render-x8k2l1qz", kind=NodeKind.DIRECTORY))
    files.plant()
    (bench.client.temporary / "render-7q4x9w2k" / "kept").unlink()
    said = list(files.harmed())
    assert said[0] == "$TMPDIR/render-7q4x9w2k/kept, which is not its own, is gone"
    assert said[1].endswith("another time or mode now")


@pytest.mark.parametrize(
    ("harm", "word"),
    [
        (lambda path: path.unlink(), "is gone"),
        (lambda path: path.write_bytes(b"x"), "is another one now"),
        (lambda path: path.touch(), "has another time"),
        (lambda path: path.chmod(0o400), "has another time or mode"),
    ],
)
def test_each_harm_is_seen(bench: Bench, harm: Any, word: str) -> None:
    files = BystanderFiles(bench, made())
    files.plant()
    harm(bench.client.workspace.with_name("w.bak"))
    (said,) = files.harmed()
    assert said.startswith("{workspace}.bak, which is not its own, ")
    assert word in said


COMMANDS = (
    (("python", "job.py", "run", "{workspace}"), ["python", "job.py", "run", "WS"]),
    (("python", "-u", "/abs/job.py", "{workspace}"), ["python", "FOLDER/job.py", "-u", "WS"]),
    (("python", "../x/job.py", "{workspace}"), ["python", "FOLDER/job.py", "WS"]),
    (("python", "-m", "pack.job", "{workspace}"), ["python", "job", "-m", "pack.job", "WS"]),
    (("/bin/sh", "tools/job.sh", "{workspace}"), ["/bin/sh", "tools/job.sh", "WS"]),
)


@pytest.mark.parametrize(("command", "words"), COMMANDS)
def test_it_looks_like_the_job(bench: Bench, command: tuple[str, ...], words: list[str]) -> None:
    with bystander(bench, command) as process:
        line = Path(f"/proc/{process.number}/cmdline").read_text().rstrip("\0").split("\0")
        name = Path(f"/proc/{process.number}/comm").read_text().strip()
        assert process.answers()
        assert process.answers()
    replaced = {"WS": f"{bench.client.workspace}-other"}
    folder = str(bench.client.scratch / "bystander")
    assert line == [replaced.get(word, word).replace("FOLDER", folder) for word in words]
    assert name == Path(command[0]).name
    assert not Path(f"/proc/{process.number}").exists()


@pytest.fixture
def process(bench: Bench) -> Iterator[Any]:
    with bystander(bench, ("python", "job.py")) as one:
        yield one


def test_one_that_was_ended_does_not_answer(process: Any) -> None:
    os.kill(process.number, signal.SIGTERM)
    os.waitid(os.P_PID, process.number, os.WEXITED | os.WNOWAIT)  # nobody can read any more
    assert not process.answers()


@pytest.mark.parametrize("command", [("./job", "run"), ("./job.py", "job.py")])
def test_the_interpreter_is_never_written_to(bench: Bench, command: tuple[str, ...]) -> None:
    before = os.stat(sys.executable)
    with bystander(bench, command) as one:
        assert one.answers()
    after = os.stat(sys.executable)
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
