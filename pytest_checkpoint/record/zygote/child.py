"""What a child of the warm interpreter does before it is the subject.

Runs beside ``program.py``, under the same rules. It leaves by an exception that goes up to the
interpreter itself, whose ``sys.excepthook`` then *is* CPython's own way to run a script
(``PyRun_SimpleFileEx``). So there is no frame of ours below the subject's, tracebacks are printed
by whoever prints them in a fresh process, and the interpreter ends as it always does: threads are
waited for, atexit handlers run, streams are flushed, and the exit code is its own.
"""

import _socket
import ctypes
import marshal
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pytest_checkpoint.record.zygote.ending import can_end_here, end

_MESSAGE = 1 << 20
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = 9
_SET_MODE_FILTER = 1
_NEW_LISTENER = 8
_WAIT_KILLABLE = 32
_EINVAL = 22

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.fopen.restype = ctypes.c_void_p

_kept: "list[Any]" = []
"""What must outlive ``sys.excepthook``: whoever calls that holds no reference of its own."""


class _Go(BaseException):
    """Out of all our frames."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def become(
    given: "list[int]",
    untouched: "dict[str, Any]",
    spaces: "list[tuple[dict[str, Any], str]]",
) -> None:
    """Be what a fresh process is just before it runs its script; raises :class:`_Go`.

    ``untouched``: what is in ``__main__`` then. ``spaces``: where that module is known.
    """
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, given[0])
    try:
        order = marshal.loads(channel.recv(_MESSAGE))
        posix.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if posix.getppid() != order["parent"]:
            posix._exit(127)
        for target, number in ((1, given[1]), (2, given[2])):
            posix.dup2(number, target)
            posix.close(number)
        _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(order["comm"]), 0, 0, 0)
        _renew()
        _leave_at_once()
        _prepare(order)
        _new_main(untouched, spaces)
        listener = _install(order["program"], order["seccomp"]) if order["program"] else None
        _answer(channel, b"%d" % posix.getpid(), listener)
    except BaseException as error:  # noqa: BLE001 - told to the supervisor, whatever it is
        try:
            channel.send(b"!" + repr(error).encode("ascii", "replace")[:4000])
        finally:
            posix._exit(127)
    channel.close()
    if listener is not None:
        posix.close(listener)
    _make_again(order["made"])
    raise _Go


def _make_again(folders: "list[tuple[bytes, int]]") -> None:
    """What importing the modules does in TMPDIR: by the subject, before the eyes of the filter.

    Where that fails importing them would have failed. ``tempfile`` tries out where it may write,
    and remembers it, before anybody can make a folder there.
    """
    try:
        tempfile: Any = sys.modules.get("tempfile")
        if tempfile is not None and tempfile.tempdir is not None:
            tempfile.tempdir = tempfile._get_default_tempdir()
        for path, mode in folders:
            try:
                posix.mkdir(path, mode)
            except FileExistsError:
                pass
    except OSError as error:
        said = f"{type(error).__name__}: {error}\n"
        posix.write(2, said.encode("ascii", "replace"))
        posix._exit(1)


def _answer(channel: "Any", message: bytes, listener: "int | None") -> None:
    if listener is None:
        channel.send(message)
        return
    packed = listener.to_bytes(4, sys.byteorder)
    channel.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])


def _renew() -> None:
    """What is set when a module is imported and is another one in each process.

    ``random`` draws its seed anew after every fork itself.
    """
    numpy = sys.modules.get("numpy.random.mtrand")
    if numpy is not None:
        numpy.seed(None)
    threading = sys.modules.get("threading")
    if threading is not None:
        threading.main_thread()._set_native_id()


def _leave_at_once() -> None:
    """What libraries loaded beforehand do at exit, in C, is left out: torch takes 0.15 s for it.

    The interpreter has ended as it always does by then, libraries loaded later have had their turn,
    and what stdio holds is written. What is lost can only be something that they would have written
    that late: a failure then, which is tried again in a fresh process.
    """
    if hasattr(_libc, "on_exit"):
        # The last registered is the first called.
        _libc.on_exit(_libc._exit, None)
        _libc.on_exit(_libc.fcloseall, None)


def _new_main(untouched: "dict[str, Any]", spaces: "list[tuple[dict[str, Any], str]]") -> None:
    """Another module for the script to run in.

    The traceback with which this file is left holds the first one to the very end, and so what is
    in it would not be taken down in the order of a fresh process.
    """
    main = type(sys)("__main__")
    main.__dict__.clear()
    main.__dict__.update(untouched)
    for space, name in spaces:
        space[name] = main


def _prepare(order: "dict[str, Any]") -> None:
    sys.argv[:] = order["argv"]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = order["orig_argv"]
    if order["path0"] is not None:
        sys.path.insert(0, order["path0"])
    module = order["module"]
    hook = _script(order["script"]) if module is None else _module(module)
    _kept.append(hook)
    sys.excepthook = hook


def _as_in_a_fresh_process() -> None:
    """The last of ours before the subject's first line."""
    sys.excepthook = sys.__excepthook__
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)


def _script(path: bytes) -> "Any":
    """CPython's function that runs a script, taking its arguments from here instead."""

    class File:
        @staticmethod
        def from_param(_: object) -> "Any":
            file = _libc.fopen(ctypes.c_char_p(path), b"rbe")
            if not file:
                raise FileNotFoundError(path)
            return ctypes.c_void_p(file)

    class Name:
        @staticmethod
        def from_param(_: object) -> "Any":
            return ctypes.c_char_p(path)

    class CloseIt:
        @staticmethod
        def from_param(_: object) -> "Any":
            _as_in_a_fresh_process()
            return ctypes.c_int(1)

    run = ctypes.PyDLL(None).PyRun_SimpleFileEx
    run.argtypes = (File, Name, CloseIt)  # type: ignore[assignment]
    run.restype = _ending()
    return run


def _ending() -> "Any":
    """A function of the result of a run: 0, or -1 for an exception, which has been printed.

    Where the end is left to the interpreter no frame of ours is below it. 0: it exits with 0. -1:
    it goes on, to exit with 1 (or by SIGINT) itself.
    """

    class Exits:
        @staticmethod
        def from_param(result: int) -> "Any":
            if can_end_here() and getattr(sys, "last_type", None) is not KeyboardInterrupt:
                end(-result)
            return ctypes.py_object(map(ctypes.pythonapi.Py_Exit, range(result + 1)))

    ending = ctypes.PyDLL(None).PySequence_List
    ending.argtypes = (Exits,)  # type: ignore[assignment]
    ending.restype = ctypes.py_object
    return ending


def _module(name: str) -> "Any":
    """As ``-m``. One frame of ours remains below runpy's, but not in a traceback."""

    def run(*_: object) -> None:
        _as_in_a_fresh_process()
        runpy = __import__("runpy")
        try:
            runpy._run_module_as_main(name, True)
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - printed as the interpreter prints it
            inner = error.__traceback__.tb_next if error.__traceback__ else None
            sys.excepthook(type(error), error.with_traceback(inner), inner)
            if isinstance(error, KeyboardInterrupt):
                _end_by_interrupt()
            return
        if can_end_here():
            end(0)
        ctypes.pythonapi.Py_Exit(0)

    return run


def _end_by_interrupt() -> None:
    """Let the interpreter know of one that nobody handled: it ends by SIGINT, when it has ended."""
    sys.excepthook = lambda *_: None
    ctypes.pythonapi.PyRun_SimpleString(b"raise KeyboardInterrupt")
    sys.excepthook = sys.__excepthook__


def _install(code: bytes, seccomp: int) -> int:
    """Put this process under the filter; returns the listener."""
    buffer = ctypes.create_string_buffer(code, len(code))
    described = _Program(len(code) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        listener = _libc.syscall(
            ctypes.c_long(seccomp), _SET_MODE_FILTER, flags, ctypes.byref(described)
        )
        if listener >= 0 or ctypes.get_errno() != _EINVAL:
            break
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return int(listener)
