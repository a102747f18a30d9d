"""A few threads that do one kind of work, in the order in which it is handed to them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from checkpoint_runtime.extract.trouble import Trouble

Item = TypeVar("Item")


class Crew(Generic[Item]):
    """Ends with the first trouble, its own or another's; what it has not begun is left then."""

    def __init__(
        self, name: str, threads: int, work: Callable[[Item], None], trouble: Trouble
    ) -> None:
        """
        :param threads: 0: who hands work over does it.
        """
        self._work = work
        self._trouble = trouble
        self._items: deque[Item] = deque()
        self._busy = 0
        self._dismissed = False
        # No exit of the process waits for one that hangs in a request.
        self._threads = [
            threading.Thread(target=self._go_on, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def outstanding(self) -> int:
        """How much is handed over and not done."""
        with self._trouble.changed:
            return len(self._items) + self._busy

    def hand(self, item: Item) -> None:
        """Take this on. Never waits for it, where there are threads."""
        if not self._threads:
            self._work(item)
            return
        with self._trouble.changed:
            self._items.append(item)
            self._trouble.changed.notify_all()

    def dismiss(self, within_s: float) -> bool:
        """Begin nothing more. Whether all threads have ended within that time."""
        with self._trouble.changed:
            self._dismissed = True
            self._trouble.changed.notify_all()
            self._trouble.changed.wait_for(lambda: not self._busy, within_s)
            ended = not self._busy
        if ended:
            for thread in self._threads:
                thread.join()
        return ended

    def _go_on(self) -> None:
        while True:
            with self._trouble.changed:
                self._trouble.changed.wait_for(lambda: self._items or self._is_over())
                if self._is_over():
                    return
                item = self._items.popleft()
                self._busy += 1
            try:
                self._work(item)
            except BaseException as error:  # noqa: BLE001 - raised again, in the main thread
                self._trouble.tell(error)
            finally:
                with self._trouble.changed:
                    self._busy -= 1
                    self._trouble.changed.notify_all()

    def _is_over(self) -> bool:
        return self._dismissed or self._trouble.stop.is_set()
