"""The launcher: starts the job and a second command, each in a session of its own, and waits.

A program, run by ``plan.Plan.command``: standard library only, and of the kit only what is beside
it. It makes no call that is recorded: the steps of the execution are those of the job and of the
command beside it. Prints one JSON object at its end (``plan.Report``).

It is the subreaper of both, and ends what is left of them at its deadline.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from pytest_checkpoint.record.companion.launched import Launched, become, events_size, inherited
from pytest_checkpoint.record.companion.preloaded import Preloaded
from pytest_checkpoint.record.companion.processes import become_subreaper, below, name, send

_SURVIVOR_GRACE_S: Final = 10.0
_TOLD_LATE_S: Final = 0.5


class Launcher:
    """Both commands, and the one loop that waits for whatever happens to them."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.deadline = time.monotonic() + plan["deadline_s"]
        self.environment = inherited()
        self.all: dict[int, Launched] = {}
        self.by_stream: dict[int, Launched] = {}
        self.times_told = 0
        self.met: float | None = None
        self.released: float | None = None
        self.crossed: float | None = None
        self.crossed_events = 0
        self.beside: list[Launched] = []
        self.left: list[str] = []
        self.preloaded = Preloaded(plan["preloads"])
        self.wakeup, self.poller = woken_by_signals(), select.poll()
        self.poller.register(self.wakeup, select.POLLIN)

    # --- what happens ---

    def turn(self, until: float) -> None:
        """Wait until something has happened, not longer than until then."""
        wait_s = max(0.0, until - time.monotonic())
        for number, _ in self.poller.poll(int(wait_s * 1000) + 1):
            if number == self.wakeup:
                self.times_told += os.read(number, 4096).count(signal.SIGUSR1)
                self.reap()
            elif not self.by_stream[number].read(number):
                self.poller.unregister(number)

    def wait(self, happened: Callable[[], bool], until: float) -> bool:
        """Whether it has happened before the time was over."""
        while not happened():
            if time.monotonic() >= until:
                return False
            self.turn(until)
        return True

    def wait_for(self, one: Launched, until: float) -> None:
        self.wait(lambda: one.ended, until)

    def reap(self) -> bool:
        """Note who has ended or was stopped; False if no child is left."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if not process:
                return True
            one = self.all.get(process)
            if one is None:
                continue  # an orphan of theirs
            if os.WIFSTOPPED(status):
                one.stopped = True
                continue
            one.status, one.end = status, time.monotonic()
            one.events[1] = events_size()

    # --- what is done ---

    def start(self, command: dict[str, Any], gate: tuple[int, int] | None = None) -> Launched:
        """``gate``: a pipe; the command is executed when its writing end has been closed."""
        output, errors = os.pipe(), os.pipe()
        process = os.fork()
        if not process:
            become(command, self.environment, gate, output[1], errors[1])
        for _, theirs in (output, errors):
            os.close(theirs)
        repeated = command.get("repeat_every_s") is not None
        one = Launched(process, (output[0], errors[0]), repeated=repeated)
        self.all[process] = one
        for number in one.streams:
            self.by_stream[number] = one
            self.poller.register(number, select.POLLIN)
        return one

    def together(self) -> Launched:
        gate = os.pipe()
        first = self.start(self.plan["first"], gate)
        beside = self.start(self.plan["beside"], gate)
        self.beside.append(beside)
        os.close(gate[0])
        os.close(gate[1])
        self.met = time.monotonic()
        until = min(self.deadline, self.met + self.plan["beside"]["deadline_s"])
        self.wait(lambda: first.ended and beside.ended, until)
        self.end_late(beside)
        return first

    def at_the_moment(self) -> Launched:
        """The job, and when it stands the other command; then the job goes on, or is killed."""
        first = self.start(self.plan["first"])
        stopped = self.plan["when"] == "stopped"

        def has_come() -> bool:
            return first.stopped if stopped else self.times_told > 0

        self.wait(lambda: first.ended or has_come(), self.deadline)
        if first.ended and not stopped:
            # It may have been killed at the moment, which is told right after.
            self.wait(has_come, time.monotonic() + _TOLD_LATE_S)
        if has_come():
            self.met = time.monotonic()
            if self.plan["crosses"]:
                self.cross(first)
            else:
                self.run_beside(first)
            self.released = time.monotonic()
            self.release()
        return first

    def throughout(self) -> Launched:
        """The job, and the other command from its start until it has ended, and once more."""
        first = self.start(self.plan["first"])
        self.met = first.begin
        self.run_beside(first, over=lambda: first.ended)
        self.released = first.end
        if first.ended:
            self.run_beside(first, over=lambda: True)
        return first

    def run_beside(self, first: Launched, over: Callable[[], bool] = lambda: False) -> None:
        """Once, or again and again until it says one of some words, or its time is over."""
        plan = self.plan["beside"]
        until = min(self.deadline, time.monotonic() + plan["deadline_s"])
        every_s, words = plan["repeat_every_s"], plan["until"]
        while True:
            one = self.start(plan)
            self.beside.append(one)
            self.wait_for(one, until)
            self.preloaded.look(first.process)
            self.end_late(one)
            if every_s is None or time.monotonic() >= until or over():
                return
            output = next(iter(one.streams.values())).decode(errors="surrogateescape")
            if words is not None and output.strip() in words:
                return
            # Nothing is waited for but the time: a watcher asks now and then.
            self.wait(over, min(until, one.begin + every_s))

    def cross(self, first: Launched) -> None:
        """Until the other command stands in its turn; then the job goes on, to its end."""
        one = self.start(self.plan["beside"])
        self.beside.append(one)
        time_s = self.plan["beside"]["deadline_s"]
        until = min(self.deadline, time.monotonic() + time_s)
        self.wait(lambda: one.ended or self.times_told > 1, until)
        if one.ended or self.times_told < 2:
            self.end_late(one)
            return
        self.crossed, self.crossed_events = time.monotonic(), events_size()
        self.go_on(first.process)
        self.wait(lambda: first.ended, min(self.deadline, self.crossed + time_s))
        self.end_late(first)

    def release(self) -> None:
        """What stands goes on, or all of it is killed."""
        if self.plan["then"] == "kill":
            for process in below():
                send(process, signal.SIGKILL)
            return
        self.go_on(os.getpid())

    def go_on(self, top: int) -> None:
        """All processes from there on down."""
        if self.plan["aside"]:
            os.write(1, b"\n")  # the supervisor waits for that, and JSON does not mind
        for process, state in below(top).items():
            # Who waits in a call does not show that it has been stopped, and would stop after it.
            if state == b"T" or self.plan["aside"]:
                send(process, signal.SIGCONT)

    def end_late(self, one: Launched) -> None:
        """End a process group whose time is over, and wait for its leader."""
        if one.ended:
            return
        one.timed_out = True
        os.killpg(one.process, signal.SIGKILL)  # not waited for yet: the number is its own
        self.wait(lambda: one.ended, time.monotonic() + _SURVIVOR_GRACE_S)

    def end_all(self) -> None:
        """Wait for what is left of both, then end it."""
        until = min(self.deadline, time.monotonic() + _SURVIVOR_GRACE_S)
        if self.wait(lambda: not self.reap(), until):
            return
        self.left = [f"{process} ({name(process)})" for process in below()]
        while self.reap():
            for process in below():
                send(process, signal.SIGKILL)
            self.turn(time.monotonic() + 1.0)  # each that ends wakes us

    def run(self) -> dict[str, Any]:
        ways = {"together": self.together, "throughout": self.throughout}
        first = ways.get(self.plan["when"], self.at_the_moment)()
        self.wait(lambda: first.ended, self.deadline)
        self.end_late(first)
        self.end_all()
        for number, one in self.by_stream.items():
            one.read(number)
        return {
            "first": first.told(),
            "beside": [one.told() for one in self.beside],
            "met": self.met,
            "released": self.released,
            "crossed": self.crossed,
            "crossed_events": self.crossed_events,
            "left": self.left,
            **self.preloaded.told(),
        }


def woken_by_signals() -> int:
    """A descriptor that tells of a child that ended or was stopped, and of the moment."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    for number in (signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
        # A kill(2) that the supervisor has not received yet would come back with EINTR else.
        signal.siginterrupt(number, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


def main() -> None:
    """``sys.argv[1]``: the plan, JSON."""
    become_subreaper()
    json.dump(Launcher(json.loads(sys.argv[1])).run(), sys.stdout)
