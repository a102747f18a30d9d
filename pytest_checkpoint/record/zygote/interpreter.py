"""One interpreter of the subject's, warm: started once, its modules loaded, forked when asked."""

from __future__ import annotations

import marshal
import os
import platform
import select
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Never

from pytest_checkpoint.record import filter as seccomp_filter
from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.launch import CannotStart, Limits, Started, like_a_new_process
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.syscalls import native
from pytest_checkpoint.record.zygote.command import Fresh, PythonCommand
from pytest_checkpoint.record.zygote.preload import (
    first_path,
    require_no_own_start,
    require_no_shadow,
    wanted,
)
from pytest_checkpoint.record.zygote.watch import Watch

_PROGRAM: Final = str(Path(__file__).with_name("program.py"))
_BESIDE: Final = tuple(str(Path(__file__).with_name(name)) for name in ("ending.py", "child.py"))
# An expression leaves no name of ours in __main__, in which the subject will run.
_BOOT: Final = (
    "(lambda u,s,f:(exec(compile(f.read(),{path!r},'exec'),s),f.close(),"
    "s['main']({control},{output},u)))"
    "(dict(globals()),{{'__name__':'zygote','BESIDE':{beside!r}}},open({path!r},'rb'))"
)
_MESSAGE: Final = 1 << 20
_OLDEST: Final = (3, 8)
_ABSOLUTE_NAMES: Final = (3, 9)
"""From here on the script of a command line is known by its absolute path."""
_START_S: Final = 20.0
_PRELOAD_S: Final = 120.0
_FORK_S: Final = 30.0
_END_S: Final = 5.0
_MOST_UNWANTED: Final = 5
MOST_CHILDREN: Final = 200
"""They share a hash seed: so the interpreter is started anew after so many …"""
STARTS_WORTH: Final = 20
"""… and so many times as long as its start took."""


class Lost(CannotStart):
    """The warm interpreter has ended, or does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What all executions have in common that are forked from one interpreter."""

    interpreter: tuple[str, ...]
    executable: str
    script: str | None
    module: str | None
    directory: str
    variables: tuple[tuple[str, str], ...]
    """The environment."""
    in_order: bool
    """Nothing is loaded that makes folders: see :attr:`Interpreter.made_first`."""
    learns: bool
    """More is loaded than the command imports for certain: a check need not be a fork of that."""

    @classmethod
    def of(cls, command: PythonCommand, request: Request) -> Origin:
        return cls(
            interpreter=command.interpreter,
            executable=command.executable,
            script=command.script,
            module=command.module,
            directory=request.working_directory,
            variables=tuple(sorted(request.environment.items())),
            in_order=request.in_order,
            learns=bool(request.learned),
        )


class Interpreter:
    """A child process of ours, which is in ``spared`` while it lives."""

    def __init__(self, origin: Origin, limits: Limits, slot: Path, spared: set[int]) -> None:
        self._origin = origin
        self._limits = limits
        self._slot = slot
        self._spared = spared
        self._filters: dict[tuple[bool, bool], bytes] = {}
        self._process = 0
        self._children = 0
        self._serves_until = 0.0
        self._version: tuple[int, ...] = ()
        self._path0: str | None = None
        self._unwanted: dict[str, str] = {}
        self._learned: tuple[str, ...] = ()
        self._dropped = 0
        self._made: dict[Path, int] = {}
        """Folders that importing the modules makes in TMPDIR, and their modes."""
        self.story = ""
        """``python 3.11, 214 modules preloaded``."""

    # --- beginning and end ---

    def begin(self, learned: Sequence[str] = ()) -> None:
        """Start it and load the modules. :class:`Fresh` if its children would not be as new.

        ``learned``: further modules that the command is known to import; without them, if one of
        them stands in the way.
        """
        self._learned = tuple(learned)
        begun = time.monotonic()
        while not self._begun_as_far():
            self.end()
            if len(self._unwanted) >= _MOST_UNWANTED:
                why = ", ".join(f"{name} {reason}" for name, reason in self._unwanted.items())
                raise Fresh(f"too many of its modules cannot be loaded beforehand: {why}")
        ready = time.monotonic()
        self._serves_until = ready + STARTS_WORTH * (ready - begun)

    def _begun_as_far(self) -> bool:
        """As :meth:`_begun`, but that learned modules never make it :class:`Fresh`."""
        try:
            if self._begun():
                return True
        except Fresh:
            if not self._learned:
                raise
            self._learned = ()
        stood_in_the_way = [name for name in self._unwanted if name in self._learned]
        for name in stood_in_the_way:
            del self._unwanted[name]
        self._dropped += len(stood_in_the_way)
        if self._dropped > _MOST_UNWANTED:
            self._learned = ()
        self._learned = tuple(name for name in self._learned if name not in stood_in_the_way)
        return False

    def _begun(self) -> bool:
        """False: once more, without the module that has turned out to be unwanted."""
        with Watch(self._slot, folders_too=self._origin.in_order) as watch:
            self._launch()
            about = self._hear(_START_S, "did not start")
            version = tuple(about["version"])
            if about["implementation"] != "cpython" or version < _OLDEST:
                raise Fresh(
                    f"{about['implementation']} {_dotted(version)} is not known well enough"
                )
            require_no_own_start(self._origin, about)
            chosen = wanted(self._origin, about, self._learned)
            chosen = [one for one in chosen if one[0] not in self._unwanted]
            self._control.send(marshal.dumps(chosen, 2))
            report = self._hear(_PRELOAD_S, "did not load its modules")
            touched = None
            while "asks" in report and touched is None:
                touched = watch.touched()
                self._control.send(b"yes" if touched is None else b"no")
                report = self._hear(_PRELOAD_S, "did not load its modules")
            touched = touched or watch.touched()
            # Where it began anew they may have stood there already: what was known stays known.
            self._made.update(watch.made() if touched is None and "unwanted" not in report else ())
            watch.remove_new()
        if "unwanted" in report:
            self._unwanted[report["unwanted"]] = report["why"]
            return False
        if report["why"]:
            raise Fresh(report["why"])
        if touched is not None:
            raise Fresh(f"importing its modules looks into the workspace ({touched})")
        self._path0 = first_path(self._origin, about)
        require_no_shadow(self._path0, report["names"])
        self._version = version
        self.story = f"python {_dotted(version)}, {report['modules']} modules preloaded"
        self._children = 0
        return True

    def _launch(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        output = os.pipe()
        parent = os.getpid()
        self._process = os.fork()
        if not self._process:
            self._become(parent, theirs.fileno(), output)
        self._spared.add(self._process)
        theirs.close()
        for descriptor in output:
            os.close(descriptor)
        self._control = ours

    def _become(self, parent: int, control: int, output: tuple[int, int]) -> Never:
        """In the child: never returns, never raises."""
        try:
            like_a_new_process(parent, self._limits, output[1], output[1])
            for descriptor in (control, output[0]):
                os.set_inheritable(descriptor, True)
            os.chdir(self._origin.directory)
            boot = _BOOT.format(path=_PROGRAM, beside=_BESIDE, control=control, output=output[0])
            arguments = [*self._origin.interpreter, "-c", boot]
            os.execve(self._origin.executable, arguments, dict(self._origin.variables))
        finally:
            os._exit(127)

    def _hear(self, deadline_s: float, otherwise: str) -> dict[str, Any]:
        self._control.settimeout(deadline_s)
        try:
            answer = self._control.recv(_MESSAGE)
        except (TimeoutError, ConnectionError):
            answer = b""
        if not answer:
            raise Fresh(f"{self._origin.interpreter[0]} {otherwise}")
        told: dict[str, Any] = marshal.loads(answer)
        return told

    @property
    def made_first(self) -> tuple[str, ...]:
        """Folders that importing the modules makes in TMPDIR, and each child makes first of all."""
        return tuple(str(path.relative_to(self._slot)) for path in self._made)

    def renew(self) -> None:
        """Begin anew if it has had enough children. :class:`Fresh` if that fails."""
        if self._children >= MOST_CHILDREN and time.monotonic() >= self._serves_until:
            self.end()
            self.begin(self._learned)

    def end(self) -> None:
        """Close its socket, which ends it; make sure."""
        self._control.close()
        if self._process not in self._spared:
            return
        handle = os.pidfd_open(self._process)
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        if not poller.poll(_END_S * 1000):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
        os.waitpid(self._process, 0)
        self._spared.discard(self._process)

    # --- children ---

    def start(self, command: PythonCommand, request: Request) -> Started:
        """Fork a child that runs the command. :class:`CannotStart` if that is not possible."""
        self._children += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        output, errors = os.pipe(), os.pipe()
        with ours:
            with theirs:
                given = [theirs.fileno(), output[1], errors[1]]
                forked = self._fork(given)
            os.close(output[1])
            os.close(errors[1])
            try:
                if not forked:
                    raise Lost("the warm interpreter has ended")
                process, listener = self._order(ours, command, request)
            except BaseException:
                os.close(output[0])
                os.close(errors[0])
                raise
        return Started(process, listener, output[0], errors[0])

    def _fork(self, given: list[int]) -> bool:
        """The child has been forked, and is ours, when the interpreter answers."""
        self._control.settimeout(_FORK_S)
        try:
            socket.send_fds(self._control, [b"."], given)
            return self._control.recv(1) == b"."
        except (TimeoutError, ConnectionError):
            return False

    def _order(
        self, channel: socket.socket, command: PythonCommand, request: Request
    ) -> tuple[int, int | None]:
        order = {
            "parent": os.getpid(),
            "comm": os.fsencode(command.name),
            "argv": list(command.argv),
            "orig_argv": list(command.original),
            "path0": self._path0,
            "module": command.module,
            "script": os.fsencode(self._script_name(command)),
            "made": [(os.fsencode(path), mode) for path, mode in self._made.items()],
            "program": self._filter(request) if request.filtered else b"",
            "seccomp": kernel.SECCOMP[platform.machine()],
        }
        channel.settimeout(_FORK_S)
        try:
            channel.send(marshal.dumps(order, 2))
            message, descriptors, _, _ = socket.recv_fds(channel, 4096, 1)
        except (TimeoutError, ConnectionError) as error:
            raise CannotStart(f"a child of the warm interpreter did not start ({error})") from error
        if not message or message.startswith(b"!"):
            said = message[1:].decode(errors="replace") or "it ended"
            raise CannotStart(f"a child of the warm interpreter could not start: {said}")
        return int(message), descriptors[0] if descriptors else None

    def _filter(self, request: Request) -> bytes:
        closes, free_space = request.watch_closes, request.room is not None
        if (closes, free_space) not in self._filters:
            self._filters[closes, free_space] = seccomp_filter.program(
                native(), closes=closes, free_space=free_space
            )
        return self._filters[closes, free_space]

    def _script_name(self, command: PythonCommand) -> str:
        """What ``__file__`` is, and tracebacks say."""
        name = command.script or ""
        if os.path.isabs(name) or self._version < _ABSOLUTE_NAMES:
            return name
        return os.path.join(os.path.realpath(self._origin.directory), name)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
