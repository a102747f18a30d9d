"""The stopped calls of one execution, answered one after another."""

from __future__ import annotations

import select
from collections import deque

from pytest_checkpoint.record import kernel
from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.calls.table import by_number
from pytest_checkpoint.record.handles import Handles
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import Fails, PassOn, Unobservable, answer
from pytest_checkpoint.record.syscalls import native


class Service:
    """Works on the kernel's queue of stopped calls, in its order."""

    def __init__(self, listener: kernel.Listener, recorder: Recorder) -> None:
        self._listener = listener
        self._recorder = recorder
        self._handlers = by_number(native())
        self._handles = Handles()
        self._received: deque[kernel.Notification] = deque()
        self.unobservable: str | None = None
        """The first process that could not be observed."""

    def close(self) -> None:
        self._handles.close()

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

    def _answer(self, notification: kernel.Notification) -> None:
        recorder = self._recorder
        caller = Caller(notification.thread, self._handles)
        handler = self._handlers[notification.number]
        try:
            if not recorder.user_varies:
                reply = handler(recorder, caller, notification.arguments)
            else:
                with caller.rights():
                    reply = handler(recorder, caller, notification.arguments)
        except PassOn:
            self._listener.let_through(notification)
        except Fails as failure:
            self._listener.fail(notification, failure.error)
        except Unobservable as hidden:
            self.unobservable = self.unobservable or str(hidden)
            self._listener.let_through(notification)
        else:
            answer(self._listener, notification, reply)
