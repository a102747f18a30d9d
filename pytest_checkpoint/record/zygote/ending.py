"""How a child of the warm interpreter ends: as CPython ends, but for what was loaded beforehand.

Runs beside ``child.py``, in the same namespace and under the same rules. Taking down all modules
costs more than most resumes: in a forked child every page that is written to is copied first. So
only what the child itself has made is taken down, in CPython's own order (``Py_FinalizeEx`` and
``finalize_modules`` of 3.10 and later): threads are waited for, atexit handlers run, streams are
flushed, garbage is collected, then ``__main__`` and the modules imported since. What is reached
only from modules loaded beforehand is not finalized; what it would still have written is lost.

Wherever it could make a difference CPython ends itself: ``sys.exit``, an interrupt, other threads
that are left, a tracer, a stream that cannot be flushed.
"""

import _weakref
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
_alive: "list[Any]" = []
"""Modules loaded beforehand: never taken down."""

_c = ctypes.CDLL(None)


def loaded_beforehand() -> None:
    """What is in ``sys.modules`` now is not taken down."""
    _alive[:] = sys.modules.values()


def end(code: int) -> None:
    """End the process with this exit code. Called when no frame of the subject's is left."""
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit = sys.modules.get("atexit")
    if atexit is not None:
        atexit._run_exitfuncs()
    if len(sys._current_frames()) > 1 or not _flushed(sys.stdout, sys.stderr):
        ctypes.pythonapi.Py_Exit(code)
    if gc.isenabled():
        gc.collect()
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
        getattr(sys.stdout, "closed", None) is False
        and _KNOWN
        and hasattr(_c, "on_exit")  # else what libraries do at exit would be done too
        and sys.gettrace() is None
        and sys.getprofile() is None
    )


def _flushed(*streams: "Any") -> bool:
    try:
        for stream in streams:
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, CPython says it better
        return False
    return True


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
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__", None))
    builtins._ = None  # type: ignore[attr-defined]
    modules.clear()
    gc.collect()
    for known in reversed(own):
        module = known()
        if module is not None:
            _emptied(module.__dict__)
        del module
    gc.collect()


def _emptied(names: "dict[str, Any]") -> None:
    """As ``_PyModule_Clear``: those with one underscore first."""
    for name in list(names):
        if name[:1] == "_" and name[1:2] != "_":
            names[name] = None
    for name in list(names):
        if name != "__builtins__":
            names[name] = None
