"""What well-known ways of saving do on a real tmpfs that is full, and that a quota shows the same.

A partial file is left behind by nearly all of them, and nearly all of them say that they failed.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.request import Result
from pytest_checkpoint.tree.compare import differences, walk
from pytest_checkpoint.tree.image import File, Image
from tests.kit.record.rooms import really, virtually

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

INSTALLED = (sys.executable, "-I")
"""With the packages that are installed."""
SAFETENSORS = ("0.7.0", "0.8.0")
SHOW = """
def show(*names):
    print(*(f"{name} {os.path.getsize(name)}" for name in names or sorted(os.listdir())))
"""


def alike(
    runner: Runner,
    source: str,
    *,
    blocks: int,
    command: tuple[str, ...],
    same_bytes: bool = True,
) -> Result:
    """On the real one, after it was seen that the quota does not differ from it."""
    found: list[tuple[Result, Image]] = [
        run(runner, SHOW + source, blocks=blocks, command=command) for run in (really, virtually)
    ]
    (real, left), (quota, kept) = found
    assert (quota.exit_code, quota.signal, quota.output) == (
        real.exit_code,
        real.signal,
        real.output,
    ), quota.error_output
    assert (quota.fired_at, quota.steps) == (real.fired_at, real.steps)
    if same_bytes:
        assert differences(left, kept) == []
    assert sizes(left) == sizes(kept)
    return real


def sizes(image: Image) -> dict[bytes, int | None]:
    return {
        path: node.content.size if isinstance(node, File) else None for path, _, node in walk(image)
    }


def test_os_write_says_how_much_went_in_and_then_fails(runner: Runner) -> None:
    source = """
file = os.open("a", os.O_CREAT | os.O_WRONLY)
print(os.write(file, b"x" * 10000), os.write(file, b"x" * 10000))
try:
    os.write(file, b"y")
except OSError as error:
    print(error.strerror)
show()
"""
    result = alike(runner, source, blocks=4, command=(sys.executable, "-SE"))
    assert result.output.splitlines() == ["10000 6384", "No space left on device", "a 16384"]


def test_numpy_save_leaves_half_an_array_and_raises(runner: Runner) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    source = """
import numpy
try:
    numpy.save("a.npy", numpy.arange(8192))
except OSError as error:
    print(error)
show()
"""
    result = alike(runner, source, blocks=4, command=INSTALLED)
    assert result.output.splitlines() == ["8192 requested and 2032 written", "a.npy 16384"]


def test_sqlite_rolls_back_and_goes_on(runner: Runner) -> None:
    source = """
import sqlite3
database = sqlite3.connect("s.db", isolation_level=None)
database.execute("pragma journal_mode=wal")
database.execute("create table t(x)")
rows = 0
try:
    while True:
        database.execute("insert into t values (?)", ("x" * 1000,))
        rows += 1
except sqlite3.OperationalError as error:
    print(error, rows > 0)
(count,) = database.execute("select count(*) from t").fetchone()
print(count == rows, *database.execute("pragma integrity_check").fetchone())
"""
    # Salts and a lock of its own: two runs never leave the same bytes.
    result = alike(runner, source, blocks=24, command=INSTALLED, same_bytes=False)
    assert result.output.splitlines() == ["database or disk is full True", "True ok"]


def test_a_store_through_a_mapping_dies_and_no_quota_can_show_it(runner: Runner) -> None:
    source = """
import mmap
file = os.open("a", os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 8 * 4096)
mapped = mmap.mmap(file, 8 * 4096)
for page in range(8):
    mapped[page * 4096] = 1
    print(page, flush=True)
"""
    result, _ = really(runner, source, blocks=4)
    assert (result.exit_code, result.signal, result.output) == (None, 7, "0\n1\n2\n3\n")
    assert result.fired_at == result.steps
    quota, _ = virtually(runner, source, blocks=4)
    assert (quota.exit_code, quota.fired_at) == (0, None)


@pytest.mark.parametrize("wanted", SAFETENSORS)
def test_safetensors_keeps_what_was_there_since_0_8(
    runner: Runner, tmp_path: Path, wanted: str
) -> None:
    folder = safetensors(wanted, tmp_path)
    source = f"""
import sys
sys.path.insert(0, {str(folder)!r})
import numpy, safetensors.numpy
print(safetensors.__version__)
safetensors.numpy.save_file({{"a": numpy.arange(64)}}, "m.safetensors")
show()
try:
    safetensors.numpy.save_file({{"a": numpy.arange(8192)}}, "m.safetensors")
except safetensors.SafetensorError as error:
    print(error)
show()
"""
    result = alike(runner, source, blocks=4, command=INSTALLED)
    assert result.output.splitlines() == [
        wanted,
        "m.safetensors 584",
        "Error while serializing: I/O error: No space left on device (os error 28)",
        "m.safetensors 16384" if wanted == "0.7.0" else "m.safetensors 584",
    ]


def safetensors(wanted: str, folder: Path) -> Path:
    """Where this version of it is: what is installed, or a copy in ``folder`` that pip fetches."""
    pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    try:
        if version("safetensors") == wanted:
            return folder
    except PackageNotFoundError:
        pass  # then it is fetched
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    what = ["--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    done = subprocess.run(
        [*pip, *what, f"safetensors=={wanted}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        pytest.skip(f"safetensors {wanted} is not installed, and pip cannot fetch it: {last}")
    return folder


def test_torch_save_leaves_half_a_file_and_raises(runner: Runner) -> None:
    try:
        version("torch")
    except PackageNotFoundError:
        pytest.skip("torch is not installed: tox -e torch, or pip install torch")
    source = """
import torch
torch.save({"a": torch.arange(64)}, "m.pt")
print(len(os.listdir()))
try:
    torch.save({"a": torch.arange(8192)}, "m.pt")
except RuntimeError as error:
    print("unexpected pos" in str(error))
show()
"""
    result = alike(runner, source, blocks=4, command=INSTALLED)
    assert result.output.splitlines() == ["1", "True", "m.pt 16384"]
