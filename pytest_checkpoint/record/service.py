"""The stopped calls of one execution, answered one after another."""

from __future__ import annotations

import select
from collections import deque
from math import inf

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.aside import Aside, SetAside
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.calls.table import of_this_machine
from pytest_checkpoint.record.delays import Delays
from pytest_checkpoint.record.handles import Handles
from pytest_checkpoint.record.output import Output
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import Fails, Failure, PassOn, Reply, Unobservable, answer
from pytest_checkpoint.record.request import Request


class Service:
    """Works on the kernel's queue of stopped calls, in its order."""

    def __init__(self, listener: kernel.Listener, recorder: Recorder, root: int) -> None:
        """``root``: the first process of the subject."""
        self._listener = listener
        self._recorder = recorder
        self._handlers = of_this_machine()
        self.handles = Handles(root)
        self._received: deque[kernel.Notification] = deque()
        self.delays: Delays | None = None
        """None: every call is answered at once."""
        self.aside: Aside | None = None
        """None: no call is put aside."""
        self.unobservable: str | None = None
        """The first process that could not be observed."""
        self.thread = 0
        """Whose call is, or was last, worked on."""

    def close(self) -> None:
        for one in (self.delays, self.aside):
            if one is not None:
                one.close()
        self.handles.close()

    def delay(self, request: Request, root: int, spared: set[int], said: Output) -> None:
        """Have calls wait, or put one aside, as far as the request asks for it.

        ``root``: a child of ours, who is told; ``said``: what it prints.
        """
        hold, slow_s = request.hold, request.slow_s
        if hold is not None or slow_s:
            self.delays = Delays(self._listener, root, hold=hold, slow_s=slow_s)
            self.delays.watch(self._recorder)
        if request.aside is not None:
            self.aside = Aside(request.aside, self._recorder, root, spared, said)

    def receive_all(self) -> None:
        """Take over all calls that are stopped now.

        Such a one waits for its answer whatever signal arrives; one that is still in the kernel's
        queue may be interrupted.
        """
        poller = select.poll()
        poller.register(self._listener.descriptor, select.POLLIN)
        while any(happened & select.POLLIN for _, happened in poller.poll(0)):
            notification = self._listener.receive()
            if notification is not None:
                self._received.append(notification)

    def serve(self) -> None:
        """Answer the next call, and all that were taken over meanwhile.

        What ends the execution is raised, and leaves the call unanswered.
        """
        notification = self._listener.receive()
        if notification is not None:
            self._answer(notification)
        while self._received:
            self._answer(self._received.popleft())
        if self.aside is not None:
            self.aside.tell()

    def serve_due(self) -> None:
        """Answer those whose time has come, and carry out the one that was put aside."""
        if self.delays is not None:
            self.delays.answer_due()
        call = self.aside.due() if self.aside is not None else None
        if call is not None:
            self._answer(call)

    @property
    def is_late(self) -> bool:
        """Whether calls may be answered, or carried out, later than they come."""
        return self.delays is not None or self.aside is not None

    @property
    def due(self) -> float:
        """When there is something to do without a call, on the monotonic clock."""
        return self.delays.due if self.delays is not None else inf

    def _answer(self, notification: kernel.Notification) -> None:
        recorder = self._recorder
        self.thread, step = notification.thread, recorder.step
        caller = Caller(notification.thread, self.handles, recorder.directories)
        handler = self._handlers[notification.number]
        try:
            if not recorder.user_varies:
                reply = handler(recorder, caller, notification.arguments)
            else:
                with caller.rights():
                    reply = handler(recorder, caller, notification.arguments)
        except PassOn:
            self._listener.let_through(notification)
        except SetAside:
            assert self.aside is not None
            self.receive_all()
            self.aside.put(notification)
        except Fails as failure:
            self._give(notification, Failure(failure.error), step)
        except Unobservable as hidden:
            self.unobservable = self.unobservable or str(hidden)
            self._listener.let_through(notification)
        else:
            self._give(notification, reply, step)

    def _give(self, notification: kernel.Notification, reply: Reply, step: int) -> None:
        """``step``: how far the recording was before the call."""
        if self.delays is None:
            answer(self._listener, notification, reply)
            return
        recorded = self._recorder.step != step
        self.delays.answer(notification, reply, recorded=recorded)
