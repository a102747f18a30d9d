"""One execution of a subject, from start to the end of its last descendant.

A process of its own, forked by the server for each execution, or once for all that start warm. As
the subreaper it is the ancestor of every process of the subject. One thread serves the filter's
notifications in the order in which they are received; while a call is carried out here nothing else
of the subject can change the recorded tree, which puts all threads and processes into one order.

Known differences for the subject: a call that waits here and has not been received yet is
interrupted by a signal whose handler does not restart calls (EINTR from a rename, say, which a bare
kernel never gives; met with a timer of a millisecond, in about one call of a hundred; before the
kit itself sends a signal, all that wait are received); a descriptor table that is full is noticed
only after a file was created; a call whose process is ended meanwhile, but by no call (another of
its threads exits, a timer runs out), comes to its end a moment after that process has gone, which
somebody who waits for it and looks at once can see (a large write takes milliseconds).
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
from functools import partial
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import family, kernel, launch, preemption
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.kill_switch import KilledAt
from pytest_checkpoint.record.launch import CannotStart, Started
from pytest_checkpoint.record.one_core import QUIET_MS, OneCore
from pytest_checkpoint.record.output import MOST, MOST_OF_A_REPORT, Output
from pytest_checkpoint.record.policy import Refused
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import CannotRecord
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.service import Service
from pytest_checkpoint.record.signals import ended_children
from pytest_checkpoint.record.stock import take_stock
from pytest_checkpoint.record.store.requests import StoreRequest
from pytest_checkpoint.record.takers import Taker, takers_of
from pytest_checkpoint.record.totals import with_totals

SURVIVOR_GRACE_S: Final = 10.0
_WAIT_MOST_MS: Final = 60_000
_IN_A_ROW: Final = 256
"""Calls that are served before anything else is looked at again."""
_HANGUP: Final = select.POLLHUP | select.POLLRDHUP | select.POLLERR


class _Abandoned(Exception):
    """The kit has gone: end everything, say nothing."""


def supervise(request: Request, slot: str, lifeline: socket.socket) -> Result:
    """Carry out one request in a new process, of which this process owns all descendants.

    Never raises: what went wrong here is in ``Result.failure``.
    """
    kernel.become_subreaper()
    limits = launch.raise_own_limits()
    return carry_out(request, slot, lifeline, lambda: launch.start(request, limits), set())


def carry_out(
    request: Request,
    slot: str,
    lifeline: socket.socket,
    start: Callable[[], Started],
    spared: set[int],
) -> Result:
    """Carry out one request. Raises only :class:`CannotStart`, before anything has run.

    ``spared``: children of ours that are none of the subject's; those that end are taken out.
    """
    try:
        with ExitStack() as stack:
            recorder = take_stock(request, slot, spared, stack) if request.filtered else None
            log: list[StoreRequest] = []
            takers = takers_of(request, slot, recorder, log, stack)
            execution = _Execution(request, recorder, takers, lifeline, spared, stack)
            result = execution.run(start)
            return dataclasses.replace(result, requests=tuple(log))
    except CannotStart:
        raise
    except HarnessError as error:
        return Result(failure=str(error))
    except _Abandoned:
        return Result(failure="abandoned")
    except Exception:  # noqa: BLE001 - told to the client
        return Result(failure=f"the supervisor failed:\n{traceback.format_exc()}")
    finally:
        family.end_descendants(spared)


class _Execution:
    def __init__(
        self,
        request: Request,
        recorder: Recorder | None,
        takers: tuple[Taker, ...],
        lifeline: socket.socket,
        spared: set[int],
        stack: ExitStack,
    ) -> None:
        self._request = request
        self._spared = spared
        self._stack = stack
        self._recorder = recorder
        self._takers = takers
        """Of what the job sends out, by HTTP on this machine."""
        self._lifeline = lifeline
        self._poller = select.poll()
        self._calls = select.poll()
        """Only whether there are some, which is faster to ask."""
        self._service: Service | None = None
        self._one_core = OneCore()
        self._timed: list[Taker | Service] = list(takers)
        """What may have something to do without anything having come."""
        self._listener = -1
        self._preemption: preemption.Preemption | None = None
        self._outputs: dict[int, Output] = {}
        self._root_status: int | None = None
        self._root_ended: float | None = None
        self._startup_cpu: float | None = None
        self._refusal: str | None = None
        self._problem: str | None = None
        self._killed_at: int | None = None
        self._timed_out = False
        self._grace_over = False
        self._alive = True

    def run(self, start: Callable[[], Started]) -> Result:
        wakeup = self._stack.enter_context(ended_children())
        self._used_before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        for taker in self._takers:
            taker.watched_by(self._poller)
        begun = time.monotonic()
        started = start()
        self._stack.callback(started.close)
        # Before that: without its listener whatever still lives would go on, with failing calls.
        self._stack.callback(family.end_descendants, self._spared)
        self._root = started.process
        most = MOST_OF_A_REPORT if self._request.reports else MOST
        output, errors = Output(started.output, most), Output(started.error_output)
        self._outputs = {stream.descriptor: stream for stream in (output, errors)}
        for descriptor in (wakeup, *self._outputs):
            self._poller.register(descriptor, select.POLLIN)
        self._poller.register(self._lifeline, select.POLLRDHUP)
        if started.listener is not None and self._recorder is not None:
            self._watch(started.listener, self._recorder)
        self._deadline = begun + self._request.deadline_s
        self._limit = self._next_limit()
        while self._alive:
            self._turn(wakeup)
        for taker in self._takers:
            if self._killed_at is None:
                self._serve(taker.drain)
        ended = time.monotonic()
        for stream in (output, errors):
            stream.drain()
        return self._result(ended - begun, output.text, errors.text)

    def _watch(self, listener: int, recorder: Recorder) -> None:
        stopped = kernel.Listener(listener)
        self._one_core = stopped.one_core
        self._stack.callback(self._one_core.go)
        self._service = service = Service(stopped, recorder, self._root)
        self._stack.callback(service.close)
        said = next(iter(self._outputs.values()))
        service.delay(self._request, self._root, self._spared, said)
        if service.is_late:
            self._timed.append(service)
        self._listener = listener
        for poller in (self._poller, self._calls):
            poller.register(listener, select.POLLIN)
        asked = self._request.signal
        self._problem = None if asked is None else preemption.unavailable()
        if self._problem is not None:
            self._end()
        elif asked is not None:
            preempted = preemption.Preemption(asked, self._root, self._spared)
            self._preemption = self._stack.enter_context(preempted)
            self._preemption.watch(recorder, service)

    # --- one turn of the loop ---

    def _turn(self, wakeup: int) -> None:
        until, end = self._limit
        now = time.monotonic()
        if now >= until:
            end()
            return
        wait_ms = self._wait_ms(now) if self._timed else (until - now) * 1000
        most_ms = QUIET_MS if self._one_core.is_kept else _WAIT_MOST_MS
        events = self._poller.poll(min(wait_ms, most_ms))
        if not events:
            self._one_core.go()
        for descriptor, happened in events:
            if not self._alive:
                return  # killed meanwhile: nothing more happens, nor arrives
            if descriptor == self._listener and happened & select.POLLIN:
                self._serve(self._serve_calls)
            else:
                self._see_to(descriptor, happened, wakeup)
        if self._timed and self._alive:
            self._serve_due()

    def _see_to(self, descriptor: int, happened: int, wakeup: int) -> None:
        """Anything but a call."""
        if descriptor == self._listener:
            if happened & _HANGUP:
                self._poller.unregister(descriptor)
        elif descriptor in self._outputs:
            if not self._outputs[descriptor].read():
                self._poller.unregister(descriptor)
        elif (taker := self._taker_of(descriptor)) is not None:
            self._serve(partial(taker.serve, descriptor))
        elif descriptor == self._lifeline.fileno():
            raise _Abandoned
        elif descriptor == wakeup:
            os.read(wakeup, 4096)
            self._reap()

    def _taker_of(self, descriptor: int) -> Taker | None:
        return next((taker for taker in self._takers if descriptor in taker), None)

    def _serve_due(self) -> None:
        """What is to be done without anything having come."""
        if self._service is not None and self._service.is_late:
            self._serve(self._service.serve_due)
        for taker in self._takers:
            if self._alive and taker.due <= time.monotonic():
                self._serve(taker.serve_due)

    def _wait_ms(self, now: float) -> float:
        """How long nothing is due."""
        until = min((self._limit[0], *(one.due for one in self._timed)))
        return max(0.0, (until - now) * 1000)

    def _next_limit(self) -> tuple[float, Callable[[], None]]:
        """When what still lives has to be ended, and how."""
        limits = [(self._deadline, self._end_at_deadline)]
        if self._preemption is not None and self._preemption.ends is not None:
            limits.append((self._preemption.ends, self._end_after_grace))  # the root gone or not
        elif self._root_ended is not None:
            limits.append((self._root_ended + SURVIVOR_GRACE_S, self._end_survivors))
        return min(limits, key=lambda limit: limit[0])

    def _end_at_deadline(self) -> None:
        self._timed_out = True
        self._end()

    def _end_after_grace(self) -> None:
        self._grace_over = True
        self._end()

    def _end_survivors(self) -> None:
        names = family.names(family.descendants(self._spared))
        self._problem = (
            f"{len(names)} process(es) of the job were still running {SURVIVOR_GRACE_S:.0f} s "
            f"after it had exited: {', '.join(names)}; end or wait for them in the job"
        )
        self._end()

    def _reap(self) -> None:
        """The execution is over when no descendant is left: all become our children in the end."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._alive = False
                return
            if not process:
                if self._spared:
                    self._alive = bool(family.children(self._spared))
                return
            self._spared.discard(process)
            if self._service is not None:
                self._service.handles.waited_for(process)
            if process == self._root:
                self._root_status = status
                self._root_ended = time.monotonic()
                self._limit = self._next_limit()

    def _end(self) -> None:
        """Kill everything; the root's own status no longer matters."""
        if self._root in family.descendants(self._spared):
            self._root_status = self._root_status or signal.SIGKILL
        family.end_descendants(self._spared)
        self._alive = False

    # --- calls ---

    def _serve_calls(self) -> None:
        """One call, and those that follow at once, if nothing can be due in between."""
        service, poll = self._service, self._calls.poll
        assert service is not None
        service.serve()
        if self._timed or self._preemption is not None or self._startup_cpu is None:
            return
        a_call = [(self._listener, select.POLLIN)]
        for _ in range(_IN_A_ROW):
            if poll(QUIET_MS) != a_call:
                return
            service.serve()

    def _serve(self, serve: Callable[[], None]) -> None:
        """Let the job go on by a call or more, or take what has arrived."""
        try:
            serve()
            if self._preemption is not None:
                self._limit = self._next_limit()
        except Refused as refused:
            self._refusal = str(refused)
            self._end()
        except CannotRecord as problem:
            hidden = None if self._service is None else self._service.unobservable
            self._problem = self._problem or hidden or str(problem)
            self._end()
        except KilledAt as killed:
            self._killed_at = killed.step
            self._end()
        finally:
            if self._service is not None:
                self._problem = self._problem or self._service.unobservable
            if self._startup_cpu is None:
                self._note_startup()

    def _note_startup(self) -> None:
        if self._recorder and self._recorder.step:
            self._startup_cpu = family.user_cpu(self._spared) - self._used_before_s

    # --- the end ---

    def _result(self, wall_s: float, output: str, error_output: str) -> Result:
        used_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - self._used_before_s
        status = self._root_status
        exited = status is not None and os.WIFEXITED(status) and not self._timed_out
        signalled = status is not None and os.WIFSIGNALED(status)
        result = Result(
            exit_code=os.WEXITSTATUS(status) if exited and status is not None else None,
            signal=os.WTERMSIG(status) if signalled and status is not None else None,
            timed_out=self._timed_out,
            killed_at=self._killed_at,
            grace_over=self._grace_over,
            wall_s=wall_s,
            user_cpu_s=used_s,
            startup_cpu_s=used_s if self._startup_cpu is None else self._startup_cpu,
            output=output,
            error_output=error_output,
            refusal=self._refusal,
            problem=self._problem,
        )
        return self._with_totals(result)

    def _with_totals(self, result: Result) -> Result:
        recorder = self._recorder
        if recorder is None:
            return result
        if self._killed_at is None:
            try:
                recorder.catch_up(Caller(os.getpid()))
            except KilledAt as killed:
                result = dataclasses.replace(result, killed_at=killed.step)
        return with_totals(result, recorder)
