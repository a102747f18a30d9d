"""Where the kit cannot work: the plugin loads, and says in a sentence what is missing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_checkpoint.record import filter as seccomp_filter

pytest_plugins = ["pytester"]

LINUX = "system calls are recorded with Linux's seccomp"
INSTEAD = "run the tests on Linux, in a container or a virtual machine"

ELSEWHERE = """
import os, sys
import pytest

MISSING = {"fcntl", "resource", "termios", "pwd", "grp", "mmap", "select"}
GONE = ("getuid", "fork", "pidfd_open", "mkfifo", "statvfs", "waitid", "killpg")
SYSTEM, PLATFORM = %r, sys.platform

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in MISSING:
    sys.modules.pop(name, None)
for name in GONE:
    if hasattr(os, name):
        delattr(os, name)
sys.meta_path.insert(0, Missing())
sys.platform = SYSTEM
from pytest_checkpoint import api, hooks, hookspecs
import checkpoint_contracts
sys.platform = PLATFORM  # pytest itself, which is another's matter, goes on

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    sys.platform = SYSTEM

def pytest_unconfigure(config):
    sys.platform = PLATFORM
"""


def pytest_elsewhere(tmp_path: Path, system: str, *arguments: str) -> tuple[int, str]:
    """A session on a system that has none of the modules and calls that others do not have."""
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE % system)
    (tmp_path / "test_one.py").write_text(
        "from pytest_checkpoint.api import CommandSubject, checkpoint_subject\n"
        "@checkpoint_subject\n"
        "def job(): return CommandSubject(run='true {workspace}', check='true {workspace}')\n"
        "def test_one(): pass\n"
    )
    session = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "elsewhere", "-p", "pytest_checkpoint.hooks"),
            *("-p", "no:cacheprovider", *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        },
    )
    return session.returncode, session.stdout + session.stderr


def test_ordinary_tests_run_there(tmp_path: Path) -> None:
    code, output = pytest_elsewhere(tmp_path, "win32")

    assert code == 0, output
    assert "1 passed" in output


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_another_system_is_told(tmp_path: Path, system: str) -> None:
    code, output = pytest_elsewhere(tmp_path, system, "--checkpoint-contracts")

    assert code == 4, output
    assert output.strip().splitlines() == [
        f"ERROR: --checkpoint-contracts: {LINUX}, and this is {system}: {INSTEAD}"
    ]


def another_architecture(patch: pytest.MonkeyPatch) -> str:
    patch.setattr(platform, "machine", lambda: "riscv64")
    return "this machine is riscv64; system calls can be recorded on x86_64 and aarch64 only"


def an_old_kernel(patch: pytest.MonkeyPatch) -> str:
    patch.setattr(platform, "release", lambda: "5.4.0-generic")
    return "Linux 5.14 or newer is needed, and this is 5.4.0-generic"


def no_seccomp(patch: pytest.MonkeyPatch) -> str:
    """The kernel is really asked, for an action that no kernel has."""
    patch.setattr(seccomp_filter, "RET_NOTIFY", 0x12340000)
    return (
        "seccomp user notification is not to be had here (ENOTSUP): a container needs "
        "a seccomp profile that allows seccomp(2); Docker's default one does"
    )


@pytest.mark.parametrize("lacking", [another_architecture, an_old_kernel, no_seccomp])
def test_a_linux_that_cannot_is_told(
    pytester: pytest.Pytester,
    plugin_arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    lacking: Callable[[pytest.MonkeyPatch], str],
) -> None:
    sentence = lacking(monkeypatch)

    arguments = [
        *plugin_arguments,
        *("-p", "no:hypothesispytest", "-p", "no:cacheprovider", "--checkpoint-contracts"),
        *("--checkpoint-run", "true {workspace}", "--checkpoint-check", "true {workspace}"),
    ]

    result = pytester.runpytest_inprocess(*arguments)

    assert result.ret == 4
    assert result.stderr.str().strip().splitlines() == [f"ERROR: {sentence}"]
    assert result.stdout.str() == ""

    listed = pytester.runpytest_inprocess(*arguments, "--collect-only")

    assert listed.ret == 0
    listed.stdout.fnmatch_lines(
        [f"checkpoint-contracts: cannot record on this machine: {sentence}"]
    )
