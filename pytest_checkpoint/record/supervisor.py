"""One execution of a subject, from start to the end of its last descendant.

A process of its own, forked by the server for each execution. It is the subreaper and so the
ancestor of every process of the subject. One thread serves the filter's notifications in the order
in which they are received; while a call is carried out here nothing else of the subject can change
the recorded tree, which is what puts all threads and processes into one order.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import kernel, launch
from pytest_checkpoint.record.caller import Caller, PassOn, Unobservable
from pytest_checkpoint.record.calls.table import by_number
from pytest_checkpoint.record.journal import Journal
from pytest_checkpoint.record.policy import Policy, Refused
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import Descriptor, Failure, Value
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.syscalls import native
from pytest_checkpoint.record.tracked import EVENTS, TrackedTree, identity_of
from pytest_checkpoint.tree.capture import capture

SURVIVOR_GRACE_S: Final = 10.0
_OUTPUT_MOST: Final = 1 << 20
_HANGUP: Final = select.POLLHUP | select.POLLRDHUP | select.POLLERR


class _Abandoned(Exception):
    """The kit has gone: end everything, say nothing."""


class _KilledAt(Exception):
    def __init__(self, step: int) -> None:
        self.step = step


def supervise(request: Request, slot: str, lifeline: socket.socket) -> Result:
    """Carry out one request. Never raises: what went wrong here is in ``Result.failure``."""
    kernel.become_subreaper()
    try:
        with ExitStack() as stack:
            recorder = _recorder(request, slot, stack) if request.filtered else None
            return _Execution(request, recorder, lifeline).run()
    except HarnessError as error:
        return Result(failure=str(error))
    except _Abandoned:
        return Result(failure="abandoned")
    except Exception:
        return Result(failure=f"the supervisor failed:\n{traceback.format_exc()}")
    finally:
        launch.end_descendants()


def _recorder(request: Request, slot: str, stack: ExitStack) -> Recorder:
    """Take stock of the slot as it is now, and begin the recording if one is wanted."""
    wanted = request.recording is not None
    start = capture(Path(slot), exclude=frozenset({EVENTS}), content=wanted)
    events = Path(slot, os.fsdecode(EVENTS))
    tree = TrackedTree(start.image, dict(start.identities), identity_of(events.stat()))
    journal = None
    if request.recording is not None:
        journal = stack.enter_context(
            Journal(Path(request.recording), start.image, events.read_bytes(), slot)
        )
    policy = Policy(
        allow_network=request.allow_network,
        allow_outside=tuple(Path(path) for path in request.allow_outside),
    )
    recorder = Recorder(tree=tree, policy=policy, journal=journal, on_step=_kill_at(request))
    stack.callback(recorder.mapped.close)
    return recorder


def _kill_at(request: Request) -> Callable[[int], None]:
    def on_step(step: int) -> None:
        if step == request.kill_at:
            raise _KilledAt(step)

    return on_step


class _Execution:
    def __init__(
        self, request: Request, recorder: Recorder | None, lifeline: socket.socket
    ) -> None:
        self._request = request
        self._recorder = recorder
        self._lifeline = lifeline
        self._handlers = by_number(native())
        self._poller = select.poll()
        self._listener: kernel.Listener | None = None
        self._outputs: dict[int, bytearray] = {}
        self._root_status: int | None = None
        self._root_ended: float | None = None
        self._startup_cpu: float | None = None
        self._refusal: str | None = None
        self._problem: str | None = None
        self._killed_at: int | None = None
        self._timed_out = False
        self._alive = True

    def run(self) -> Result:
        wakeup = _child_signals()
        begun = time.monotonic()
        started = launch.start(self._request)
        self._root = started.process
        self._outputs = {started.output: bytearray(), started.error_output: bytearray()}
        for descriptor in (wakeup, *self._outputs):
            os.set_blocking(descriptor, False)
            self._poller.register(descriptor, select.POLLIN)
        self._poller.register(self._lifeline, select.POLLRDHUP)
        if started.listener is not None:
            self._listener = kernel.Listener(started.listener)
            self._poller.register(started.listener, select.POLLIN)
        deadline = begun + self._request.deadline_s
        while self._alive:
            self._turn(wakeup, deadline)
        ended = time.monotonic()
        self._drain()
        return self._result(ended - begun, list(self._outputs.values()))

    # --- one turn of the loop ---

    def _turn(self, wakeup: int, deadline: float) -> None:
        for descriptor, happened in self._poller.poll(self._wait_ms(deadline)):
            if self._listener and descriptor == self._listener.descriptor:
                if happened & select.POLLIN:
                    self._serve(self._listener)
                elif happened & _HANGUP:
                    self._poller.unregister(descriptor)
            elif descriptor in self._outputs:
                self._read(descriptor)
            elif descriptor == self._lifeline.fileno():
                raise _Abandoned
            elif descriptor == wakeup:
                os.read(wakeup, 4096)
        self._reap()
        now = time.monotonic()
        if now >= deadline:
            self._timed_out = True
            self._end()
        elif self._root_ended is not None and now >= self._root_ended + SURVIVOR_GRACE_S:
            self._problem = self._survivors()
            self._end()

    def _wait_ms(self, deadline: float) -> int:
        until = deadline
        if self._root_ended is not None:
            until = min(until, self._root_ended + SURVIVOR_GRACE_S)
        return max(0, int((until - time.monotonic()) * 1000) + 1)

    def _reap(self) -> None:
        """The execution is over when no descendant is left: all become our children in the end."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._alive = False
                return
            if not process:
                return
            if process == self._root:
                self._root_status = status
                self._root_ended = time.monotonic()

    def _end(self) -> None:
        """Kill everything; the root's own status no longer matters."""
        for process in launch.descendants():
            if process == self._root:
                self._root_status = self._root_status or signal.SIGKILL
        launch.end_descendants()
        self._alive = False

    def _survivors(self) -> str:
        names = []
        for process in launch.descendants():
            try:
                command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue  # it ended just now
            names.append(f"{process} ({command.decode(errors='replace').strip()[:80]})")
        return (
            f"{len(names)} process(es) of the job were still running {SURVIVOR_GRACE_S:.0f} s "
            f"after it had exited: {', '.join(names)}; end or wait for them in the job"
        )

    # --- calls ---

    def _serve(self, listener: kernel.Listener) -> None:
        notification = listener.receive()
        recorder = self._recorder
        if notification is None or recorder is None:
            return
        caller = Caller(notification.thread)
        try:
            reply = self._handlers[notification.number](
                recorder, caller, notification.arguments
            )
        except PassOn:
            listener.let_through(notification)
            return
        except Refused as refused:
            self._refusal = str(refused)
            self._end()
            return
        except Unobservable as hidden:
            self._problem = self._problem or str(hidden)
            listener.let_through(notification)
            return
        except _KilledAt as killed:
            self._killed_at = killed.step
            self._end()
            return
        finally:
            self._note_startup(recorder)
        match reply:
            case Value(value):
                listener.answer(notification, value)
            case Failure(error):
                listener.fail(notification, error)
            case Descriptor(descriptor, close_on_exec):
                error = listener.answer_descriptor(notification, descriptor, close_on_exec)
                os.close(descriptor)
                if error:
                    listener.fail(notification, error)

    def _note_startup(self, recorder: Recorder) -> None:
        if recorder.step and self._startup_cpu is None:
            self._startup_cpu = launch.user_cpu_of_descendants()

    # --- output ---

    def _read(self, descriptor: int) -> bool:
        """Take what is there; False at its end."""
        kept = self._outputs[descriptor]
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._poller.unregister(descriptor)
            return False
        kept += data
        if len(kept) > 2 * _OUTPUT_MOST:
            del kept[:-_OUTPUT_MOST]
        return True

    def _drain(self) -> None:
        for descriptor in self._outputs:
            try:
                while self._read(descriptor):
                    continue
            except KeyError:  # its end was seen and it is no longer registered
                continue

    def _result(self, wall_s: float, outputs: list[bytearray]) -> Result:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        status = self._root_status
        exited = status is not None and os.WIFEXITED(status) and not self._timed_out
        signalled = status is not None and os.WIFSIGNALED(status)
        result = Result(
            exit_code=os.WEXITSTATUS(status) if exited and status is not None else None,
            signal=os.WTERMSIG(status) if signalled and status is not None else None,
            timed_out=self._timed_out,
            killed_at=self._killed_at,
            wall_s=wall_s,
            user_cpu_s=usage.ru_utime,
            startup_cpu_s=usage.ru_utime if self._startup_cpu is None else self._startup_cpu,
            output=outputs[0][-_OUTPUT_MOST:].decode(errors="surrogateescape"),
            error_output=outputs[1][-_OUTPUT_MOST:].decode(errors="surrogateescape"),
            refusal=self._refusal,
            problem=self._problem,
        )
        return self._with_totals(result)

    def _with_totals(self, result: Result) -> Result:
        recorder = self._recorder
        if recorder is None:
            return result
        if self._killed_at is None:
            recorder.catch_up(Caller(os.getpid()))
        return dataclasses.replace(
            result,
            workspace_bytes=recorder.totals.workspace_bytes,
            all_bytes=recorder.totals.all_bytes,
            operations=recorder.totals.operations,
            steps=recorder.step,
            created_outside=tuple(recorder.policy.still_there()),
            mapped=tuple(recorder.mapped.nodes()),
            unreadable=tuple(
                os.fsdecode(recorder.tree.path(node)) for node in recorder.mapped.unreadable
            ),
        )


def _child_signals() -> int:
    """A descriptor that becomes readable when a child has ended."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read
