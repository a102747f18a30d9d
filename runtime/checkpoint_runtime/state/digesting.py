"""Digests, and what is made of them, worked out while the disk is at work.

What a large value costs is the disk's work on it and its SHA-256, about as much each; neither needs
the other. So a thread works out the digests while the files are written and synced, and then what
follows from them: the line that will name the files. It touches no file, and it has ended before
that line is written.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

from checkpoint_runtime.codec import Attachment

WORTH_A_THREAD_BYTES = 256 * 1024
"""To digest less takes no longer than to start a thread: that is done when it is asked for."""

Made = TypeVar("Made")


class Digesting(Generic[Made]):
    """Digests attachments beside what its block does, from where that calls :meth:`start`.

    A context manager, used once. When the block is left the thread is gone, and :attr:`made` can be
    had. A block that is left by an exception does not need it: the rest is not worked out.
    """

    def __init__(self, attachments: Sequence[Attachment], make: Callable[[], Made]) -> None:
        """``make`` is called once their digests are known, in the thread if there is one."""
        self._attachments = attachments
        self._make = make
        self._made: list[Made] = []
        self._called = self._started = self._begun = self._abandoned = self._ended = False
        self._gate = threading.Lock()
        """Held for a moment: either the thread begins, or it is abandoned before."""
        self._at_work = threading.Lock()
        """Held while the thread is, which gives it back."""
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    @property
    def made(self) -> Made:
        """What ``make`` returned. Not before the block has been left."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def start(self) -> None:
        """Begin with it, once: where the block is about to wait for the disk for long."""
        if self._called or sum(one.size_bytes for one in self._attachments) < WORTH_A_THREAD_BYTES:
            return
        self._called = True
        self._at_work.acquire()
        try:
            # Not a threading.Thread, which is waited for until it runs: where all processors are
            # busy that takes longer than the whole commit.
            _thread.start_new_thread(self._run, ())
        except RuntimeError:
            return  # no more threads may be had: they are worked out when they are asked for
        self._started = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._called:
            return
        if error is not None or not self._started:
            with self._gate:
                self._abandoned = True
        # An interrupt may have struck just after the thread was started: then it has begun, or it
        # never does.
        if self._started or self._begun:
            self._wait()
        if error is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        with self._gate:
            self._begun = not self._abandoned
        try:
            if self._begun:
                for attachment in self._attachments:
                    attachment.work_out(lambda: not self._abandoned)
                if not self._abandoned:
                    self._made.append(self._make())
        except BaseException as error:  # noqa: BLE001 - raised where the block is left
            self._failure = error
        finally:
            self._ended = True
            self._at_work.release()

    def _wait(self) -> None:
        """Until it has ended, come what may; what came meanwhile is raised then."""
        interrupt: BaseException | None = None
        # Where an interrupt strikes once the lock is had, the thread has ended: no second time.
        while not self._ended:
            try:
                self._at_work.acquire()
            except BaseException as error:  # noqa: BLE001 - raised below
                self._abandoned = True
                interrupt = error
        if interrupt is not None:
            raise interrupt
