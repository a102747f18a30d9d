"""A warm start is as a fresh process: whatever a program can ask about itself."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.record.warm import QUICK, alike, both, lines, script, start

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

REPORT = """
import gc, inspect, io, os, random, resource, signal, sys, threading, time, traceback, warnings
import faulthandler
try:
    import pwd
except ImportError:
    pwd = None
if __name__ == "__main__":
    import json
out = {}
main = sys.modules["__main__"]
for name in ("argv", "orig_argv", "executable", "prefix", "path", "flags", "warnoptions",
             "_xoptions", "dont_write_bytecode", "pycache_prefix", "meta_path", "ps1", "last_value",
             "last_exc",
             "gettrace", "getprofile", "byteorder", "implementation"):
    value = getattr(sys, name, "none")
    out[name] = repr(value() if name.startswith("get") else value)
out["meta_path"] = [str(getattr(one, "__name__", type(one))) for one in sys.meta_path]
out["modules"] = sorted(sys.modules)
out["main"] = [main.__dict__ is globals(), sorted(n for n in globals() if n != "sys")]
out["names"] = [repr(globals()[n]) for n in ("__name__", "__file__", "__spec__", "__doc__",
                "__package__")]
out["loader"] = type(__loader__).__name__ if not isinstance(__loader__, type) else "type"
out["built-in"] = type(__builtins__).__name__
out["where"] = [os.getcwd(), sorted(os.environ.items()), os.umask(0o022)]
out["frames"] = [len(inspect.stack()), sys._getframe().f_back, sys.exc_info(),
                 len(traceback.extract_stack())]
out["hooks"] = [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__]
out["threads"] = [threading.active_count(), threading.current_thread() is threading.main_thread(),
                  threading.current_thread().name, threading.main_thread().ident ==
                  threading.get_ident(), len(os.listdir("/proc/self/task"))]
if hasattr(threading, "get_native_id"):
    out["native"] = [threading.get_native_id() == os.getpid(),
                     threading.main_thread().native_id == os.getpid()]
with open("/proc/self/comm") as file:
    comm = file.read()
out["process"] = [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.getppid() > 0,
                  comm, os.readlink("/proc/self/exe")]
out["signals"] = [str(signal.getsignal(n)) for n in sorted(signal.valid_signals())]
out["masked"] = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
with open("/proc/self/status") as file:
    status = file.read()
out["kernel"] = [line for line in status.splitlines()
                 if line.split(":")[0] in ("SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Uid",
                                           "Groups", "CapEff")]
out["limits"] = [resource.getrlimit(n) for n in range(16)]
out["recursion"] = sys.getrecursionlimit()
out["filters"] = [repr(one) for one in warnings.filters]
out["collector"] = [gc.isenabled(), gc.get_threshold(), gc.get_debug()]
out["faulthandler"] = faulthandler.is_enabled()
out["files"] = {}
for number in os.listdir("/proc/self/fd"):
    try:
        out["files"][number] = os.readlink("/proc/self/fd/" + number).split(":")[0]
    except OSError:
        out["files"][number] = "closed"  # that of the listing itself
for name in ("stdin", "stdout", "stderr"):
    stream = getattr(sys, name)
    out[name] = [stream is getattr(sys, "__%s__" % name), stream.encoding, stream.errors,
                 stream.line_buffering, stream.isatty(), stream.name, stream.mode,
                 getattr(stream, "write_through", None), type(stream.buffer).__name__]
out["input"] = sys.stdin.read()
out["young"] = [time.process_time() < 30, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime]
print(json.dumps(out, indent=0, default=str))
def deep(n):
    try:
        return deep(n + 1)
    except RecursionError:
        return n
# Before 3.12 the call from which a warm start begins counts as one level.
print("depth", deep(0) // 10 if sys.version_info < (3, 12) else deep(0))
"""


def interpreters() -> dict[str, str]:
    """Other versions of Python on this machine, by version: the oldest and the newest."""
    candidates = [shutil.which(f"python3.{minor}") for minor in range(8, 15)]
    pyenv = shutil.which("pyenv")
    if pyenv is not None:
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True)
        candidates += [
            str(one) for one in Path(root.stdout.strip(), "versions").glob("*/bin/python")
        ]
    found: dict[tuple[int, ...], str] = {}
    for path in candidates:
        if path is not None and Path(path).resolve().read_bytes()[:4] == b"\x7fELF":
            asked = subprocess.run(
                [path, "-c", "import sys, ctypes; print(*sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
            version = tuple(map(int, asked.stdout.split()))
            if asked.returncode == 0 and version >= (3, 8) and version != sys.version_info[:2]:
                found[version] = path
    chosen = sorted(found)[:1] + sorted(found)[-1:]
    return {".".join(map(str, version)): found[version] for version in chosen}


OTHERS = interpreters()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ((), "plain"),
        (("-I", "-S", "-B"), "isolated"),
        (("-E", "-s", "-u", "-W", "error", "-X", "faulthandler", "-X", "utf8", "-O"), "many"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_everything_that_can_be_asked(runner: Runner, options: tuple[str, ...], name: str) -> None:
    path = script(runner, REPORT, f"report-{name}.py")
    warm = alike(runner, sys.executable, *options, path, "one", "two words", "\udcff")
    assert f'"{path}' in warm.output or path in warm.output


@pytest.mark.parametrize("version", OTHERS or ["none"])
def test_other_versions(runner: Runner, version: str) -> None:
    if version not in OTHERS:
        pytest.skip("no other Python on this machine")
    path = script(runner, REPORT, f"report-{version}.py")
    warm = alike(runner, OTHERS[version], path, "one")
    assert warm.warm is not None
    assert warm.warm.startswith(f"python {version}, ")
    path = script(runner, ENDINGS, f"endings-{version}.py")
    for way in ("uncaught", "exit-text", "interrupt", "threads"):
        alike(runner, OTHERS[version], path, way, filtered=False)


def test_a_relative_script_with_a_relative_path_to_import_from(runner: Runner) -> None:
    script(runner, REPORT, "relative/report.py")
    environment = {"PYTHONPATH": f"relative{os.pathsep}/nowhere", "EXTRA": "a=b\nc"}
    alike(runner, sys.executable, "./relative/report.py", environment=environment)
    alike(runner, sys.executable, "relative/../relative/report.py", environment=environment)


def test_a_script_behind_a_link(runner: Runner) -> None:
    path = script(runner, REPORT, "linked/target/report.py")
    script(runner, "VALUE = 1", "linked/target/beside.py")
    link = runner.folder / "linked" / "link.py"
    link.symlink_to(path)
    alike(runner, sys.executable, str(link))


def test_a_module(runner: Runner) -> None:
    text = "from . import beside, inner\nfrom package.inner import other\n" + REPORT
    script(runner, text, "modules/package/__main__.py")
    script(runner, "", "modules/package/__init__.py")
    script(runner, "import csv", "modules/package/beside.py")
    script(runner, "", "modules/package/inner/__init__.py")
    script(runner, "", "modules/package/inner/other.py")
    where = str(runner.folder / "modules")
    # One frame of ours is below runpy's: the only thing that a module can see of it.
    fresh, warm = both(runner, sys.executable, "-m", "package", "x", working_directory=where)
    assert unframed(warm.output) == unframed(fresh.output)
    assert (warm.exit_code, warm.error_output) == (0, "")
    script(runner, ENDINGS, "modules/endings.py")
    for way in ("uncaught", "exit-text", "interrupt", "threads", "exit-none"):
        command = (sys.executable, "-m", "endings", way)
        alike(runner, *command, working_directory=where, filtered=False)
    script(runner, "import missing_module", "modules/broken.py")
    alike(runner, sys.executable, "-m", "broken", working_directory=where)
    alike(runner, sys.executable, "-m", "no_such_module", working_directory=where)


def unframed(output: str) -> list[str]:
    lines = output.splitlines()
    first = lines.index('"frames": [') if '"frames": [' in lines else 0
    return [
        line
        for at, line in enumerate(lines)
        if not first < at < first + 12 and "0x" not in line and not line.startswith("depth")
    ]


@pytest.mark.parametrize("how", ["{python}", "/usr/bin/env python3"])
def test_a_script_that_names_its_interpreter(runner: Runner, how: str) -> None:
    how = how.format(python=sys.executable)
    path = script(runner, f"#!{how}\n{REPORT}", f"named/{len(how)}")
    os.chmod(path, 0o755)
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    alike(runner, path, "a", environment={"PATH": search})


ENDINGS = """
import atexit, os, signal, sys, threading, time, warnings
way = sys.argv[1]
class Loud:
    def __del__(self):
        os.write(1, b"finalized\\n")
loud = Loud()
unflushed = open(os.environ["OUTSIDE"] + "/unflushed", "w")
unflushed.write("kept")
atexit.register(print, "at exit", way)
print("begun")
def inner():
    if way == "uncaught":
        raise ValueError("odd \\u2192")
    if way == "chained":
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise KeyError("later") from error
    if way == "interrupt":
        raise KeyboardInterrupt
    if way == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    if way == "exit-none":
        sys.exit()
    if way == "exit-text":
        sys.exit("a reason")
    if way == "exit-big":
        sys.exit(300)
    if way == "exit-object":
        raise SystemExit([1, 2])
    if way == "now":
        os._exit(7)
    if way == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "terminated":
        os.kill(os.getpid(), signal.SIGTERM)
    if way == "aborted":
        os.abort()
    if way == "threads":
        def late():
            print("late", threading.current_thread().name)
        gate = threading.Event()
        threading.Thread(target=lambda: (gate.wait(), late())).start()
        threading.Thread(target=gate.wait, daemon=True).start()
        gate.set()
        if len(sys.argv) > 2:
            raise ValueError
    if way == "in-thread":
        thread = threading.Thread(target=lambda: 1 / 0, name="worker")
        thread.start()
        thread.join()
    if way == "hook":
        sys.excepthook = lambda kind, value, trace: print("mine", kind, value)
        raise ValueError("to the hook")
    if way == "at-exit-fails":
        @atexit.register
        def fails():
            raise OSError("too late")
    if way == "no-output":
        os.close(1)
        print("nowhere")
    if way == "closed":
        sys.stdout.close()
    if way == "warns":
        warnings.warn("take care")
        warnings.warn("of whom", DeprecationWarning, stacklevel=2)
        warnings.warn("out of it", UserWarning, stacklevel=9)
    if way == "deep":
        inner()
    if way == "group":
        raise ExceptionGroup("many", [ValueError(1), TypeError(2)])
inner()
"""


@pytest.mark.parametrize(
    "way",
    [
        "well", "uncaught", "chained", "interrupt", "interrupted", "exit-none", "exit-text",
        "exit-big", "exit-object", "now", "killed", "terminated", "aborted", "threads",
        "threads more", "in-thread", "hook", "at-exit-fails", "no-output", "closed", "warns",
        "deep", "group",
    ],
)  # fmt: skip
def test_endings(runner: Runner, way: str) -> None:
    path = script(runner, ENDINGS, "endings.py")
    unflushed = runner.outside / "unflushed"
    fresh, warm = both(runner, *QUICK, path, *way.split(), filtered=False)
    assert (warm.exit_code, warm.signal) == (fresh.exit_code, fresh.signal)
    assert addressless(warm.error_output, way) == addressless(fresh.error_output, way)
    assert warm.output == fresh.output
    left = unflushed.read_text()
    alike_codes = {"well": 0, "exit-none": 0, "exit-text": 1, "exit-big": 44, "uncaught": 1}
    if way in alike_codes:
        assert (warm.exit_code, left) == (alike_codes[way], "kept")
        assert warm.output == f"begun\nat exit {way}\nfinalized\n"
    if way == "interrupt":
        assert warm.signal == signal.SIGINT


def test_garbage_of_the_last_moment_finds_its_modules(runner: Runner) -> None:
    path = script(
        runner,
        """
import atexit, json, os, sys
def tell(*words):
    os.write(1, repr(words).encode())
class Late:
    def __del__(self):
        import json as again
        tell("garbage", again is json)
late = Late()
late.itself = late
del late
atexit.register(lambda: tell("at exit", sys.modules.get("json") is json))
sys.exit(3)
""",
        "garbage.py",
    )
    warm = alike(runner, *QUICK, path)
    assert warm.output == "('at exit', True)('garbage', True)"


@pytest.mark.parametrize("end", ["", "\n1 / 0"], ids=["well", "uncaught"])
def test_a_signal_while_threads_are_waited_for(
    runner: Runner, end: str, request: pytest.FixtureRequest
) -> None:
    """Its handler says that the job is to exit: nobody can do so any more."""
    path = script(
        runner,
        """
import os, signal, sys, threading
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
def late():
    threading.main_thread().join()
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=late).start()
"""
        + end,
        f"late-{request.node.callspec.id}.py",
    )
    warm = alike(runner, *QUICK, path)
    assert (warm.exit_code, "SystemExit: 3" in warm.error_output) == (1 if end else 0, True)


@pytest.mark.parametrize(
    "text",
    [
        "out = sys.stdout.detach()\nout.write(b'written')",
        "sys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'latin-1')\nprint('\\xe9', 'written')",
        "sys.stdout = codecs.getwriter('utf-8')(sys.stdout.detach())\nprint('written')",
        "sys.stderr = io.TextIOWrapper(sys.stderr.detach())\nprint('written')\n1 / 0",
        "print('written')\nsys.stdout = type('O', (), {'closed': property(len), 'flush': dict})()",
    ],
    ids=["bare", "wrapped", "writer", "error-output", "odd"],
)
def test_streams_that_are_taken_apart(
    runner: Runner, text: str, request: pytest.FixtureRequest
) -> None:
    name = f"stream-{request.node.callspec.id}.py"
    warm = alike(runner, *QUICK, script(runner, f"import codecs, io, sys\n{text}", name))
    assert "written" in warm.output


@pytest.mark.parametrize("version", ["this", *OTHERS])
def test_what_is_warned_of_while_modules_are_taken_down(runner: Runner, version: str) -> None:
    """No line of ours: in a fresh process nothing runs any more."""
    path = script(
        runner,
        """
import asyncio
async def never():
    pass
coroutine = never()
file = open("/dev/null")
around = []
around.append((around, open("/dev/zero")))
""",
        f"warned-{version}.py",
    )
    python = OTHERS.get(version, sys.executable)
    warm = alike(runner, python, "-I", "-W", "always", path)
    assert warm.error_output.count(": ResourceWarning") >= 2


HOLDING = """
import builtins, os, signal, sys
class Job:
    def __init__(self):
        self.out = open(os.environ["OUTSIDE"] + "/unflushed", "w")
        self.out.write("kept")
    def told(self, *_):
        pass
job = Job()
"""


@pytest.mark.parametrize("end", ["", "\nsys.exit(3)", "\n1 / 0"], ids=["well", "exit", "uncaught"])
@pytest.mark.parametrize(
    "held",
    [
        "signal.signal(signal.SIGTERM, job.told)",
        "sys.excepthook = job.told",
        "builtins.job = job",
    ],
    ids=["signal", "hook", "builtin"],
)
def test_an_open_file_of_what_the_interpreter_holds_is_written(
    runner: Runner, held: str, end: str, request: pytest.FixtureRequest
) -> None:
    """A job's object that handles a signal, or exceptions, lives until the interpreter lets go."""
    path = script(runner, HOLDING + held + end, f"holds-{request.node.callspec.id}.py")
    unflushed = runner.outside / "unflushed"
    fresh, warm = both(runner, *QUICK, path, filtered=False)
    assert lines(warm) == lines(fresh)
    assert unflushed.read_text() == "kept"


def addressless(text: str, way: str) -> str:
    lines = [line for line in text.splitlines() if "0x" not in line]
    if way == "deep":  # one level more or less
        lines = [re.sub(r"repeated \d+ more", "repeated", line) for line in lines]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "def broken(:\n",
        "# coding: latin-1\nprint('\xe9')\n",
        "x = '\xff'\n",
        "\x00",
        "",
        "#!/bin/sh\n1/0",
    ],
    ids=["syntax", "latin", "not-utf-8", "null", "empty", "shebang"],
)
def test_sources(runner: Runner, text: str, request: pytest.FixtureRequest) -> None:
    path = Path(script(runner, "", f"source-{request.node.callspec.id}.py"))
    path.write_bytes(text.encode("latin-1"))
    alike(runner, *QUICK, str(path))


def test_processes_of_its_own(runner: Runner) -> None:
    path = script(
        runner,
        """
import concurrent.futures, dataclasses, multiprocessing, os, pickle, subprocess, sys, warnings
@dataclasses.dataclass
class Point:
    x: int
def double(point):
    return Point(point.x * 2)
if __name__ == "__main__":
    print(pickle.loads(pickle.dumps(Point(3))), Point.__module__, pickle.dumps(Point(3)))
    for way in ("fork", "spawn"):
        context = multiprocessing.get_context(way)
        with context.Pool(1) as pool:
            print(way, pool.map(double, [Point(4)]))
    sys.stdout.flush()
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        print(list(threads.map(double, [Point(1), Point(2)])))
    warnings.simplefilter("ignore")  # of a fork beside threads: some may only just have ended
    child = os.fork()
    if not child:
        print("child", flush=True)
        sys.exit(3)
    print(os.waitpid(child, 0)[1])
    print(subprocess.run([sys.executable, "-c", "import sys; print(sys.argv)"],
                         stdout=subprocess.PIPE, check=True).stdout)
    if len(sys.argv) > 1:
        os.execv(sys.executable, [sys.executable, sys.argv[0]])
""",
        "processes.py",
    )
    warm = alike(runner, sys.executable, path, "again")
    assert "spawn [Point(x=8)]" in warm.output


def test_chance_differs_from_child_to_child(runner: Runner) -> None:
    path = script(
        runner,
        "import os, random, secrets, tempfile, uuid\n"
        "print(random.random(), secrets.token_hex(4), uuid.uuid4(), os.urandom(4).hex(),"
        " next(tempfile._get_candidate_names()), random.Random().random())",
        "chance.py",
    )
    drawn = [start(runner, *QUICK, path, warm=True).output.split() for _ in range(3)]
    assert [len(set(column)) for column in zip(*drawn, strict=True)] == [3] * 6


def test_children_do_not_see_each_other(runner: Runner) -> None:
    path = script(
        runner,
        """
import builtins, collections, decimal, json, logging, os, signal, sys, warnings
state = [hasattr(builtins, "left"), os.umask(0), os.environ.get("LEFT"), os.getcwd(),
         decimal.getcontext().prec, logging.root.handlers, signal.getsignal(signal.SIGUSR1),
         hasattr(json, "left"), warnings.filters[:1], sys.getrecursionlimit(), os.nice(0)]
builtins.left = json.left = True
os.umask(0o077)
os.environ["LEFT"] = "1"
os.chdir("/")
decimal.getcontext().prec = 3
logging.basicConfig()
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
warnings.simplefilter("error")
sys.setrecursionlimit(500)
os.nice(1)
print(state)
""",
        "children.py",
    )
    first = alike(runner, *QUICK, path)
    assert start(runner, *QUICK, path, warm=True).output == first.output


def test_numpy(runner: Runner) -> None:
    path = script(
        runner,
        """
import numpy, sys, threading
a = numpy.arange(250000.0).reshape(500, 500)
print((a @ a).sum(), numpy.linalg.inv(numpy.eye(300)).trace(), len(sys.modules))
threads = [threading.Thread(target=lambda: a @ a) for _ in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
numpy.random.seed(1); print(numpy.random.rand())
""",
        "arrays.py",
    )
    alike(runner, sys.executable, path)
    path = script(runner, "import numpy.random; print(numpy.random.rand())", "array_chance.py")
    drawn = {start(runner, sys.executable, path, warm=True).output for _ in range(3)}
    assert len(drawn) == 3


def test_a_module_that_is_not_loaded_beforehand_comes_later(runner: Runner) -> None:
    """Own code, what is imported in a function, and what was taken out of the way itself."""
    path = script(
        runner,
        """
import own
def later():
    import ctypes, marshal, socket, struct, xml.dom.minidom
    assert ctypes.sizeof(ctypes.c_int) == 4 and struct.pack("=I", 1) and marshal.dumps(1)
    one, other = socket.socketpair()
    one.sendall(b"x"); print(other.recv(1), ctypes.CDLL(None).getpid() > 0)
later()
print(own.SEEN)
""",
        "later/script.py",
    )
    script(
        runner,
        "import sys, json\nSEEN = [sys.argv[1:], '_posixshmem' in sys.modules]",
        "later/own.py",
    )
    alike(runner, *QUICK[:1], path, "a")


def test_what_a_library_does_at_exit_in_c_is_done(runner: Runner) -> None:
    ended = alike(
        runner,
        *QUICK,
        script(
            runner,
            "import ctypes, sys\n"
            "c = ctypes.CDLL(None)\n"
            "c.strdup.restype = ctypes.c_void_p\n"
            "said = ctypes.c_void_p(c.strdup(b'a handler of its own'))\n"
            "c.on_exit(c.psignal, said)\n"  # prints it, with the name of signal 1
            "c.fdopen.restype = ctypes.c_void_p\n"
            "c.fputs(b'buffered by C\\n', ctypes.c_void_p(c.fdopen(1, b'w')))\n"
            "sys.exit(1)\n",
        ),
    )
    assert ended.exit_code == 1
    assert ended.output == "buffered by C\n"
    assert "a handler of its own" in ended.error_output
