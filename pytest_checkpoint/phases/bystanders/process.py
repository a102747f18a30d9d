"""A process whose command line looks like the job's, and that does nothing but answer."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.phases.bystanders.files import OTHER
from pytest_checkpoint.record.slot import remove_tree
from pytest_checkpoint.subject import Command

_PROGRAM: Final = """\
import sys
print(flush=True)
for line in sys.stdin:
    print(flush=True)
"""
_DEADLINE_S: Final = 10.0
_SCRIPTS: Final = (".py", ".sh", ".pl", ".rb", ".js", ".R", ".jl")


class BystanderProcess:
    """It ends with its standard input: when it is closed, or when we have gone."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process: Final = process

    @property
    def number(self) -> int:
        return self._process.pid

    def answers(self) -> bool:
        """Whether it lives and goes on; who has been sent a signal has got it by then."""
        assert self._process.stdin is not None
        try:
            # Not buffered: what nobody reads would be written again when the pipe is closed.
            os.write(self._process.stdin.fileno(), b"\n")
        except BrokenPipeError:
            return False
        return self.has_answered()

    def has_answered(self) -> bool:
        assert self._process.stdout is not None
        poller = select.poll()
        poller.register(self._process.stdout, select.POLLIN)
        return (
            bool(poller.poll(_DEADLINE_S * 1000))
            and os.read(self._process.stdout.fileno(), 1) == b"\n"
        )


@contextmanager
def bystander(bench: Bench, command: Command) -> Iterator[BystanderProcess]:
    """One that looks like ``command``, for another workspace. HarnessError if there is none."""
    workspace = f"{bench.client.workspace}{OTHER}"
    words = [part.replace("{workspace}", workspace) for part in command]
    folder = bench.client.scratch / "bystander"
    remove_tree(folder)
    folder.mkdir()
    # Its name, too, is the job's: killall goes by that.
    # In a folder of its own: written to, the link would be the interpreter.
    program = folder / "bin" / PurePath(words[0]).name
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    disguised = _words(words, folder)
    plain = [sys.executable, *disguised[1:]]
    for line, executable, variables in (
        (disguised, str(program), _environment()),
        (plain, sys.executable, {}),  # an interpreter that does not start by another name
    ):
        process = subprocess.Popen(
            line,
            executable=executable,
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with process:
            try:
                beside = BystanderProcess(process)
                if beside.has_answered():
                    yield beside
                    return
            finally:
                process.kill()
    raise HarnessError(
        f"no process could be put beside the job: {sys.executable} did not start as {words[0]}"
    )


def _words(words: list[str], folder: Path) -> list[str]:
    """The same, but for the script, in whose place a program of ours stands, by the same name."""
    index = next(
        (at for at, word in enumerate(words) if at and word.endswith(_SCRIPTS)),
        None,
    )
    script = PurePath(words[index]) if index is not None else PurePath("job")
    if script.is_absolute() or ".." in script.parts:
        script = folder / script.name
    file = folder / script
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_PROGRAM)
    rest = [word for at, word in enumerate(words) if at and at != index]
    return [words[0], str(script), *rest]


def _environment() -> dict[str, str]:
    """Its own interpreter's library is found whatever it is called."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
