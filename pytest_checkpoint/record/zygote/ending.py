"""How a child of the warm interpreter ends: as CPython ends, but for what was loaded beforehand.

Runs beside ``child.py``, in the same namespace and under the same rules. Taking down all modules
costs more than most resumes: in a forked child every page that is written to is copied first. So
only what the child itself has made is taken down, in CPython's own order (``Py_FinalizeEx`` and
``finalize_modules`` of 3.10 and later): threads are waited for, atexit handlers run, streams are
flushed, handlers of signals are let go, garbage is collected, then ``__main__`` and the modules
imported since. What is reached only from modules loaded beforehand is not finalized; what it would
still have written is lost.

Wherever that could make a difference CPython ends itself: ``sys.exit``, an interrupt, other threads
that are left, a tracer, something that the job has put into ``sys`` or ``builtins`` (a hook, which
is taken down after all modules), a stream that cannot be flushed. After the last atexit handler of
the job the modules loaded beforehand are taken from it, where it finds what to take down:
``sys.exit`` would cost as much else as most resumes do.
"""

import _signal  # type: ignore[import-not-found]
import _weakref
import atexit
import builtins
import ctypes
import gc
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KNOWN = sys.hexversion >= 0x030A0000
_DELETED = (
    "path", "argv", "ps1", "ps2", "last_type", "last_value", "last_traceback", "last_exc",
    "path_hooks", "path_importer_cache", "meta_path", "__interactivehook__",
)  # fmt: skip
_STREAMS = ("stdin", "stdout", "stderr")
_STAY = frozenset({"sys", "builtins"})
_alive: "list[Any]" = []
"""Modules loaded beforehand: never taken down."""
_names: "list[dict[str, Any]]" = []
"""What was in ``sys`` and in ``builtins`` then."""

_c = ctypes.CDLL(None)
# Calls a function in C: what that warns of is said to be in "sys", as where nothing runs.
_NOWHERE = "<sys>" if sys.hexversion >= 0x030D0000 else "sys"
_called = eval(compile("lambda call, *given: call(*given)", _NOWHERE, "eval"), {"__name__": "sys"})
if sys.hexversion >= 0x030D0000:
    _called.__code__ = _called.__code__.replace(co_firstlineno=0)


def loaded_beforehand() -> None:
    """What is in ``sys.modules`` now is not taken down."""
    _alive[:] = sys.modules.values()
    _names[:] = [dict(sys.__dict__), dict(builtins.__dict__)]
    for name in _STREAMS:  # written when nobody holds them any more
        _names[0].pop(name, None)
        _names[0].pop(f"__{name}__", None)
    # Held by nobody to the very end of an interpreter: so it is held for good.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_alive))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_names))


def _hide() -> None:
    """Leave CPython, which is about to take down all modules, those that the child has made.

    What it would do before is done here, while they can all be imported still: the garbage, which
    may want to. Registered before the first module is loaded, so the last to be called.
    """
    if not _alive or not _KNOWN or len(sys._current_frames()) > 1:
        return
    if sys.gettrace() is not None or sys.getprofile() is not None or _holds_something():
        return
    if gc.isenabled():
        gc.collect()
    beforehand = {id(module) for module in _alive}
    for name, module in list(sys.modules.items()):
        if id(module) in beforehand and name not in _STAY:
            del sys.modules[name]


atexit.register(_hide)


def end(code: int) -> None:
    """End the process with this exit code. Called when no frame of the subject's is left."""
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit.unregister(_hide)  # what is taken down, and in which order, is known here
    atexit._run_exitfuncs()
    if len(sys._current_frames()) > 1 or _holds_something() or not _streams_are_whole():
        ctypes.pythonapi.Py_Exit(code)
    if not _flushed(sys.stdout, sys.stderr):
        ctypes.pythonapi.Py_Exit(code)
    _forget_handlers()
    if gc.isenabled():
        _called(gc.collect)
    streams = sys.__stdout__, sys.__stderr__
    _take_down()
    if not _flushed(*streams):
        code = 120  # as CPython says it
    _c.exit(code)


def can_end_here() -> bool:
    """Whether :func:`end` does what CPython would do."""
    try:
        for number in (1, 2):
            posix.fstat(number)
    except OSError:
        return False
    return (
        _streams_are_whole()
        and _KNOWN
        and len(sys._current_frames()) == 1  # waiting for them may be interrupted by a handler
        and hasattr(_c, "on_exit")  # else what libraries do at exit would be done too
        and sys.gettrace() is None
        and sys.getprofile() is None
    )


def _streams_are_whole() -> bool:
    """Whether standard output is open, and those of the beginning have not been taken apart."""
    try:
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                stream.closed  # noqa: B018 - ValueError: it is detached
        return getattr(sys.stdout, "closed", None) is False
    except Exception:  # noqa: BLE001 - the job's own object, that of standard output, may raise any
        return False


def _flushed(*streams: "Any") -> bool:
    try:
        for stream in streams:
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, CPython says it better
        return False
    return True


def _holds_something() -> bool:
    """Whether the job has put objects of its own into the modules that are taken down last."""
    return any(
        before.get(name) is not value
        and name not in _DELETED
        and name.strip("_") not in _STREAMS
        and not isinstance(value, (int, str, type(None)))
        for module, before in ((sys, _names[0]), (builtins, _names[1]))
        for name, value in list(module.__dict__.items())
    )


def _forget_handlers() -> None:
    """As ``_PySignal_Fini``: a method that is a handler holds its object, and that its files."""
    for number in range(1, _signal.NSIG):
        if callable(_signal.getsignal(number)):
            _signal.signal(number, _signal.SIG_DFL)


def _take_down() -> None:
    """The modules that the child has made."""
    beforehand = {id(module) for module in _alive}
    modules: dict[str, Any] = sys.modules
    own = [
        _weakref.ref(module)
        for module in modules.values()
        if isinstance(module, type(sys)) and id(module) not in beforehand
    ]
    for name in _DELETED:
        setattr(sys, name, None)
    for name in _STREAMS:
        setattr(sys, name, getattr(sys, f"__{name}__", None))
    builtins._ = None  # type: ignore[attr-defined]
    _called(modules.clear)
    _called(gc.collect)
    for known in reversed(own):
        module = known()
        if module is not None:
            _emptied(module.__dict__)
        del module
    _called(gc.collect)


def _emptied(names: "dict[str, Any]") -> None:
    """As ``_PyModule_Clear``: those with one underscore first."""
    for name in list(names):
        if name[:1] == "_" and name[1:2] != "_":
            _called(names.__setitem__, name, None)
    for name in list(names):
        if name != "__builtins__":
            _called(names.__setitem__, name, None)
