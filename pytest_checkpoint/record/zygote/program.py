"""What runs in the subject's own interpreter: load modules once, then fork a child per execution.

Standard library only, and Python 3.8: the interpreter is the subject's. Nothing of the kit is
imported. The modules that this file needs are taken out of ``sys.modules`` again at once, so that
the subject imports its own (which is why it does without ``__future__``).
"""

import sys

if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # -c put it there; a script has its own folder instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_bare = dict(sys.modules)
_caches = dict(sys.path_importer_cache)

# Ours alone: the modules below leave sys.modules before anything of the subject's is loaded.
import _socket  # noqa: E402
import _thread  # noqa: E402
import ctypes  # noqa: E402
import gc  # noqa: E402
import marshal  # noqa: E402
import posix  # noqa: E402

_child: "dict[str, Any]" = {"__name__": "zygote.child"}
for _beside in globals()["BESIDE"]:  # given by whoever started this
    with open(_beside, "rb") as _file:
        exec(compile(_file.read(), _beside, "exec"), _child)

for _name in [name for name in sys.modules if name not in _bare]:
    del sys.modules[_name]

_MESSAGE = 1 << 20
_ANCILLARY = 256
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_ALIKE_FOR_ALL = frozenset({"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})

_libc = ctypes.CDLL(None)


def main(descriptor: int, output: int, untouched: "dict[str, Any]") -> None:
    """Serve until the other end of ``descriptor`` closes; only in a child it is left otherwise.

    ``output``: the reading end of the pipe that standard output and error output are.
    ``untouched``: what ``__main__`` holds in an interpreter that has run nothing yet.
    """
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, descriptor)
    posix.set_blocking(output, False)
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    control.send(marshal.dumps(_about(), 2))
    wanted = control.recv(_MESSAGE)
    if not wanted:
        posix._exit(0)

    def is_untouched() -> bool:
        control.send(marshal.dumps({"asks": "is the workspace untouched?"}, 2))
        return control.recv(_MESSAGE) == b"yes"

    report = _preload(marshal.loads(wanted), output, is_untouched)
    control.send(marshal.dumps(report, 2))
    spaces = _holding_main()
    sys.path_importer_cache.clear()
    sys.path_importer_cache.update(_caches)
    _child["loaded_beforehand"]()
    gc.freeze()
    while True:
        message, ancillary, _, _ = control.recvmsg(1, _ANCILLARY)
        if not message:
            posix._exit(0)
        given = _descriptors(ancillary)
        if not _grandchild():
            for number in given:
                posix.close(number)
            control.send(b".")
            continue
        control.close()
        posix.close(output)
        _child["become"](given, untouched, spaces)


def _about() -> "dict[str, Any]":
    """What whoever chooses the modules has to know of this interpreter."""
    return {
        "version": tuple(sys.version_info[:2]),
        "implementation": sys.implementation.name,
        "path": list(sys.path),
        "safe": bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False)),
        "library": getattr(sys.modules["encodings"], "__file__", ""),
        "customized": [
            getattr(sys.modules[name], "__file__", None) or ""
            for name in ("sitecustomize", "usercustomize")
            if name in sys.modules
        ],
        "named": "" if sys.flags.ignore_environment else _environment("PYTHONPATH"),
        "builtin": list(sys.builtin_module_names),
    }


def _environment(name: str) -> str:
    return posix.environ.get(name.encode(), b"").decode("utf-8", "surrogateescape")


def _descriptors(ancillary: "list[tuple[int, int, bytes]]") -> "list[int]":
    return [
        int.from_bytes(data[at : at + 4], sys.byteorder)
        for _, _, data in ancillary
        for at in range(0, len(data), 4)
    ]


def _grandchild() -> bool:
    """Fork twice: who loses its parent becomes the supervisor's own child. True in that one."""
    between = posix.fork()
    if between:
        if posix.waitpid(between, 0)[1]:
            raise OSError("a child could not be forked")
        return False
    try:
        last = posix.fork()
    except OSError:
        posix._exit(1)
    if last:
        posix._exit(0)
    return True


# --- before the first child ---


def _preload(
    wanted: "list[tuple[str, tuple[str, ...] | None]]",
    output: int,
    is_untouched: "Callable[[], bool]",
) -> "dict[str, Any]":
    """Import what is wanted: how many modules that gave, or what speaks against it.

    ``unwanted``: a module that must be left out, in an interpreter started anew.
    """
    if _printed(output):
        return {"why": "it prints when it starts"}
    mask = posix.umask(0o077)
    posix.umask(mask)
    here = posix.getcwd()
    before = _own_folders()
    opened = _descriptors_open()
    for name, names in wanted:
        above = name.rpartition(".")[0]
        if names is None and above and above not in sys.modules:
            continue  # it comes with its package
        try:
            __import__(name, {}, {}, names or (), 0)
        except BaseException as error:  # noqa: BLE001 - said, whatever it is
            if names is None and isinstance(error, ImportError):
                continue  # the job has met this too, and has done without
            return {"unwanted": name, "why": f"raises {type(error).__name__}"}
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        if _printed(output):
            return {"unwanted": name, "why": "prints when it is imported"}
        if _descriptors_open() - opened:
            return {"unwanted": name, "why": "keeps something open"}
        if names is None and _own_folders() != before:
            if not is_untouched():
                return {"unwanted": name, "why": "looks into the workspace or TMPDIR"}
            before = _own_folders()
    return {
        "modules": len([name for name in sys.modules if name not in _bare]),
        "names": sorted({name.partition(".")[0] for name in sys.modules if name not in _bare}),
        "why": _changed(mask, here) or _unfit(),
    }


def _descriptors_open() -> "set[str]":
    """Children would share them: a position in a file, a connection, a device that knows its user.

    Whatever is open for all the same way is none of them.
    """
    found = set()
    for number in posix.listdir("/proc/self/fd"):
        try:
            to = posix.readlink("/proc/self/fd/" + number)
        except OSError:
            continue  # that of the listing itself
        if to not in _ALIKE_FOR_ALL:
            found.add(number)
    return found


def _own_folders() -> "list[int | None]":
    """When names were last made or removed in the folders that the job is given."""
    times: list[int | None] = []
    for variable in (b"CHECKPOINT_WORKSPACE", b"TMPDIR"):
        try:
            times.append(posix.stat(posix.environ[variable]).st_mtime_ns)
        except (KeyError, OSError):
            times.append(None)
    return times


def _holding_main() -> "list[tuple[dict[str, Any], str]]":
    """Where the module ``__main__`` is known, and by which name."""
    main = sys.modules["__main__"]
    spaces = [sys.modules, *(getattr(one, "__dict__", {}) for one in sys.modules.values())]
    return [(space, name) for space in spaces for name, it in space.items() if it is main]


def _printed(output: int) -> bool:
    try:
        return bool(posix.read(output, 1))
    except BlockingIOError:
        return False


def _changed(mask: int, here: str) -> str:
    """What a script would find otherwise already at its first line."""
    if posix.umask(mask) != mask:
        return "importing its modules sets the umask"
    if posix.getcwd() != here:
        return "importing its modules changes the working directory"
    return ""


def _unfit() -> str:
    """Why children of this process would not be as fresh ones; empty: they are."""
    if _thread._count():
        return "importing its modules starts a thread"
    try:
        posix.waitpid(-1, posix.WNOHANG)
    except ChildProcessError:
        pass
    else:
        return "importing its modules starts a process"
    probe = posix.fork()
    if not probe:
        posix._exit(0)
    posix.waitpid(probe, 0)
    # Threads of a library that knows about forks (OpenBLAS) ended before it, to begin anew.
    if len(posix.listdir("/proc/self/task")) > 1:
        return "importing its modules starts a thread outside Python"
    return ""
