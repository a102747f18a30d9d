"""Warm executions are owned, counted and ended as fresh ones are; what cannot be warm is told."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.client import SlotClient
from tests.kit.record.warm import QUICK, alike, both, script, start

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

PREAMBLE = """
import os, signal, sys
W = os.environ["CHECKPOINT_WORKSPACE"]
os.chdir(W)
def put(name):
    with open(name, "w") as file:
        file.write("some data")
"""
SERVER = (
    "import sys; sys.path[:0] = [{{path!r}}]; "
    "from pytest_checkpoint.record.zygote import interpreter; interpreter.{}; "
    "from pytest_checkpoint.record.server import main; main({{descriptor}})"
)
"""A server with another constant."""


def job(runner: Runner, text: str, name: str) -> tuple[str, ...]:
    return (*QUICK, script(runner, PREAMBLE + text, f"{name}.py"))


def test_what_it_does_is_recorded(runner: Runner) -> None:
    command = job(
        runner,
        """
put("a"); os.rename("a", "b")
if not os.fork():
    put("child"); os._exit(0)
os.wait()
os.execv("/bin/sh", ["sh", "-c", "echo x > from-shell"])
""",
        "recorded",
    )
    told = []
    for warm in (False, True):
        outcome = runner.run(*command, warm=warm)
        assert (outcome.differences, outcome.result.exit_code) == ([], 0)
        assert (outcome.result.warm is not None) is warm
        told.append([(one.call, one.path) for one in outcome.operations])
    assert told[0] == told[1]
    assert (b"w/child" in {path for _, path in told[1]}, len(told[1]) > 6) == (True, True)


def test_it_cannot_leave_the_machine_or_harm_what_is_outside(runner: Runner) -> None:
    (runner.outside / "precious").write_text("x")
    command = job(runner, 'os.unlink(os.environ["OUTSIDE"] + "/precious")', "harmful")
    fresh, warm = both(runner, *command)
    assert warm.refusal == fresh.refusal
    assert warm.refusal is not None
    assert (runner.outside / "precious").exists()


def test_it_is_killed_at_a_step_with_all_its_processes(runner: Runner) -> None:
    command = job(
        runner,
        """
if not os.fork():
    if not os.fork():
        os.setsid()
        signal.pause()
    os._exit(0)
os.wait()
for name in "abc":
    put(name)
signal.pause()
""",
        "killed",
    )
    outcome = runner.run(*command, warm=True, kill_at=4)
    assert (outcome.result.killed_at, outcome.differences) == (4, [])
    assert outcome.result.warm is not None
    assert [one.step for one in outcome.operations] == [1, 2, 3, 4]


def test_the_deadline(runner: Runner) -> None:
    command = job(runner, "if not os.fork(): os.setsid()\nsignal.pause()", "endless")
    warm = start(runner, *command, warm=True, deadline_s=0.3)
    assert (warm.timed_out, warm.warm is not None) == (True, True)
    # The interpreter itself is not ended with it.
    again = start(runner, *command, warm=True, deadline_s=0.3)
    assert (again.timed_out, again.warm) == (True, warm.warm)


def test_a_daemon_is_waited_for(runner: Runner) -> None:
    command = job(
        runner,
        """
reader, writer = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        os.close(writer)
        os.read(reader, 1)
        put("late")
    os._exit(0)
os.close(reader)
os.wait()
""",
        "daemon",
    )
    outcome = runner.run(*command, warm=True)
    assert (outcome.result.warm is not None, outcome.differences) == (True, [])
    assert "late" in os.listdir(runner.client.workspace)


def test_a_survivor_is_named_and_ended(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a slot of its own, whose server waits less for survivors."""
    monkeypatch.setattr(
        "pytest_checkpoint.record.client._SERVER",
        "import sys; sys.path[:0] = [{path!r}]; "
        "from pytest_checkpoint.record import supervisor; supervisor.SURVIVOR_GRACE_S = 0.2; "
        "from pytest_checkpoint.record.server import main; main({descriptor})",
    )
    path = script(
        runner,
        PREAMBLE + "if not os.fork():\n    os.setsid()\n    signal.pause()\nsys.exit(4)",
        "survivor.py",
    )
    with SlotClient(tmp_path / "base") as client:
        request = runner.request((*QUICK, path), warm=True, recording=None)
        result = client.run(request)
        again = client.run(request)
    assert (result.exit_code, result.warm is not None) == (4, True)
    assert result.problem is not None
    assert result.problem.startswith("1 process(es) of the job were still running")
    assert again.problem is not None


def test_its_cpu_time_is_its_own(runner: Runner) -> None:
    spin = (
        "import resource as r\nwhile r.getrusage(r.RUSAGE_SELF).ru_utime < 0.1: sum(range(9999))\n"
    )
    command = job(
        runner, f"{spin}\nif not os.fork():\n    exec({spin!r})\n    os._exit(0)\nos.wait()", "cpu"
    )
    for _ in range(2):  # not that of the one before
        warm = start(runner, *command, warm=True)
        assert 0.2 <= warm.user_cpu_s < 0.35
    idle = start(runner, *job(runner, "", "idle"), warm=True)
    assert idle.user_cpu_s < 0.05


# --- what cannot be warm ---


THREADS = """
import threading
gate = threading.Event()
threading.Thread(target=gate.wait, daemon=True).start()
"""
PROCESS = """
import atexit, subprocess
atexit.register(subprocess.Popen(["sleep", "100"]).kill)
"""
DIES = "import os, sys\nif sys.argv[0] == '-c':  # beforehand only\n    os.kill(os.getpid(), 9)\n"
NATIVE = """
import ctypes
libc = ctypes.CDLL(None)
libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None)
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (THREADS, "importing its modules starts a thread"),
        (PROCESS, "importing its modules starts a process"),
        (NATIVE, "importing its modules starts a thread outside Python"),
        ("import os; os.umask(0o027)", "importing its modules sets the umask"),
        ("import os; os.chdir('/')", "importing its modules changes the working directory"),
        (
            "import os; open(os.environ['CHECKPOINT_WORKSPACE'] + '/f', 'a').close()",
            "importing its modules looks into the workspace (w/f)",
        ),
        (
            "import os; os.listdir(os.environ['TMPDIR'])",
            "importing its modules looks into the workspace (t)",
        ),
        (DIES, "did not load its modules"),
    ],
    ids=["thread", "process", "native-thread", "umask", "chdir", "file", "listing", "dies"],
)
def test_modules_that_do_more_than_define(
    runner: Runner, text: str, why: str, request: pytest.FixtureRequest
) -> None:
    name = f"module_{request.node.callspec.id.replace('-', '_')}"
    script(runner, text, f"lib/site-packages/{name}.py")
    path = script(runner, f"import {name}\nprint('ran')", f"{name}_script.py")
    result = start(
        runner,
        *(sys.executable, path),
        warm=True,
        environment={"PYTHONPATH": str(runner.folder / "lib" / "site-packages")},
    )
    assert (result.warm, result.exit_code, result.output) == (None, 0, "ran\n"), result
    assert result.fresh_because is not None
    assert result.fresh_because.endswith(why)


@pytest.mark.parametrize("text", ["print('hello')", "import missing", "1 / 0"])
def test_a_module_that_prints_or_fails_is_left_to_the_child(
    runner: Runner, text: str, request: pytest.FixtureRequest
) -> None:
    name = f"loud_{request.node.callspec.indices['text']}"
    script(runner, text, f"lib/site-packages/{name}.py")
    script(runner, "import json", f"lib/site-packages/quiet_{name}.py")
    path = script(
        runner,
        f"try:\n    import {name}\nexcept Exception as e:\n    print(e)\nimport quiet_{name}",
        f"{name}_script.py",
    )
    alike(
        runner,
        *(sys.executable, path),
        environment={"PYTHONPATH": str(runner.folder / "lib" / "site-packages")},
    )


KEEPS_OPEN = {
    "file": """
file = open(os.environ["OUTSIDE"] + "/kept-open")
def taken():
    return file.readline()
""",
    "loop": """
import asyncio
loop = asyncio.new_event_loop()
def taken():
    loop.call_soon(loop.stop)
    loop.run_forever()
""",
    "socket": """
import socket
one, other = socket.socketpair()
def taken():
    other.sendall(b"x")
    return one.recv(9)
""",
    "device": """
device = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
owner = os.getpid()
def taken():
    return owner == os.getpid()
""",
}


@pytest.mark.parametrize("what", KEEPS_OPEN)
def test_a_module_that_keeps_something_open_is_left_to_the_child(runner: Runner, what: str) -> None:
    """What one child reads there the next one would not find any more."""
    (runner.outside / "kept-open").write_text("first\nsecond\n")
    script(runner, "import os\n" + KEEPS_OPEN[what], f"lib/site-packages/keeps_{what}.py")
    path = script(
        runner,
        f"import keeps_{what}, os, sys\n"
        f"print(keeps_{what}.taken(), sorted(os.listdir('/proc/self/fd')))",
        f"keeps_{what}_script.py",
    )
    environment = {"PYTHONPATH": str(runner.folder / "lib" / "site-packages")}
    for _ in range(2):
        alike(runner, sys.executable, path, environment=environment)


def test_a_file_with_the_name_of_an_installed_module(runner: Runner) -> None:
    script(runner, "raise AttributeError('not the real one')", "shadow/fractions.py")
    path = script(runner, "import statistics\nprint('never')", "shadow/script.py")
    fresh = start(runner, sys.executable, path, warm=False)
    warm = start(runner, sys.executable, path, warm=True)
    assert (warm.warm, warm.error_output) == (None, fresh.error_output)
    assert "not the real one" in warm.error_output
    assert warm.fresh_because is not None
    assert warm.fresh_because.endswith("fractions.py has the name of an installed module")


@pytest.mark.parametrize(
    "added",
    [
        "os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'vendored')",
        "str(pathlib.Path(__file__).resolve().parent.parent / 'vendored')",
        "str(pathlib.Path(__file__).resolve().parent / 'inner' / 'vendored')",
        "os.environ['OWN'] + '/vendored'",
    ],
    ids=["joined", "parents", "parts", "variable"],
)
def test_a_folder_that_the_script_puts_before_the_installed_modules(
    runner: Runner, added: str, request: pytest.FixtureRequest
) -> None:
    """Its copy of a module is the one that the job runs with, not the installed one."""
    name = request.node.callspec.id
    script(runner, "FROM = 'installed'", f"lib/site-packages/copied_{name}.py")
    below = "scripts/inner/vendored" if name == "parts" else "vendored"
    script(runner, "FROM = 'vendored'", f"{name}/{below}/copied_{name}.py")
    text = f"import os, pathlib, sys\nsys.path.insert(0, {added})\nimport copied_{name} as it"
    path = script(runner, f"{text}\nprint(it.FROM)", f"{name}/scripts/script.py")
    environment = {
        "PYTHONPATH": str(runner.folder / "lib" / "site-packages"),
        "OWN": str(runner.folder / name),
    }
    result = start(runner, sys.executable, path, warm=True, environment=environment)
    assert result.output == "vendored\n"
    assert (result.fresh_because or "").endswith("and sys.path may be changed")


def test_a_folder_on_the_path_anyway_may_be_named(runner: Runner) -> None:
    """As may one that has nothing of an installed module's name."""
    installed = runner.folder / "lib" / "site-packages"
    script(runner, "", "lib/site-packages/copied_never.py")
    script(runner, "", "named/vendored/own_alone.py")
    text = f"import sys\nsys.path[:0] = [{str(installed)!r}, __file__ + '/../vendored']\n"
    path = script(runner, f"{text}import copied_never, json", "named/script.py")
    alike(runner, sys.executable, path, environment={"PYTHONPATH": str(installed)})


def test_what_python_itself_imports_when_it_starts(runner: Runner) -> None:
    """One of the job's own may do for each process what is not to be had by a fork: a seed."""
    script(runner, "import random\nrandom.seed(3)", "starting/sitecustomize.py")
    path = script(runner, "import random\nprint(random.random())", "started.py")
    environment = {"PYTHONPATH": str(runner.folder / "starting")}
    fresh, warm = (
        start(runner, sys.executable, path, warm=warm, environment=environment)
        for warm in (False, True)
    )
    assert warm.output == fresh.output
    assert (warm.fresh_because or "").endswith(
        "sitecustomize.py is its own and runs when Python starts"
    )


def test_a_script_in_the_workspace(runner: Runner) -> None:
    path = runner.client.workspace / "script.py"
    path.write_text("print(1)")
    request = runner.request((*QUICK, str(path)), warm=True, recording=None)
    result = runner.client.run(request)
    assert (result.output, result.fresh_because) == ("1\n", "its script lies in the workspace")


def test_an_interpreter_that_is_killed(runner: Runner, tmp_path: Path) -> None:
    """The next execution is fresh, says so, and nothing waits for ever."""
    request = runner.request(job(runner, "print(1)", "lost"), warm=True, recording=None)
    with SlotClient(tmp_path / "base") as client:
        assert client.run(request).warm is not None
        _, zygote = descendants(client._server.pid)
        os.kill(zygote, signal.SIGKILL)
        for _ in range(2):
            lost = client.run(request)
            assert (lost.warm, lost.exit_code) == (None, 0)
            assert lost.fresh_because == "the warm interpreter has ended"


def test_a_supervisor_that_is_killed(runner: Runner, tmp_path: Path) -> None:
    request = runner.request(job(runner, "print(1)", "lost"), warm=True, recording=None)
    with SlotClient(tmp_path / "base") as client:
        assert client.run(request).warm is not None
        host, zygote = descendants(client._server.pid)
        os.kill(host, signal.SIGKILL)
        lost = client.run(request)
        assert (lost.warm, lost.exit_code) == (None, 0)
        assert lost.fresh_because is not None
        assert "has ended (killed, perhaps by lack of memory)" in lost.fresh_because
        assert not Path(f"/proc/{zygote}").exists()


def test_an_interpreter_that_does_not_answer(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_checkpoint.record.client._SERVER", SERVER.format("_FORK_S = 0.2"))
    request = runner.request(job(runner, "print(1)", "lost"), warm=True, recording=None)
    with SlotClient(tmp_path / "base") as client:
        assert client.run(request).warm is not None
        _, zygote = descendants(client._server.pid)
        os.kill(zygote, signal.SIGSTOP)
        lost = client.run(request)
        assert (lost.output, lost.fresh_because) == ("1\n", "the warm interpreter has ended")
        assert not Path(f"/proc/{zygote}").exists()


def test_a_new_interpreter_after_many_children(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pytest_checkpoint.record.client._SERVER",
        SERVER.format("MOST_CHILDREN = 2; interpreter.STARTS_WORTH = 0"),
    )
    path = script(runner, "print(hash('a'))", "hashes.py")
    with SlotClient(tmp_path / "base") as client:
        request = runner.request((*QUICK, path), warm=True, recording=None)
        drawn = [client.run(request).output for _ in range(5)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
    assert drawn[1:4:2] == drawn[0:3:2]


def test_nothing_is_left(tmp_path: Path, runner: Runner) -> None:
    path = script(runner, "print(1)", "left.py")
    with SlotClient(tmp_path / "base") as client:
        request = runner.request((*QUICK, path), warm=True, recording=None)
        assert client.run(request).warm is not None
        server = client._server.pid
        below = descendants(server)
        assert len(below) == 2
    assert [one for one in below if Path(f"/proc/{one}").exists()] == []


def descendants(process: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        found += [int(child), *descendants(int(child))]
    return found
