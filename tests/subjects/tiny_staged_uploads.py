"""Stagers of which a thread uploads what is staged; beside ``tiny_staging.py``."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque

from tiny_s3 import Bucket, StoreError

TYPE_CHECKING = False  # as in typing, which takes a while to import
if TYPE_CHECKING:
    from tests.subjects.tiny_staging import PATIENCE_S, Stager
else:
    from tiny_staging import PATIENCE_S, Stager

BOUND = 9000
ATTEMPTS = 3
ANSWER_S = 0.3
"""A store that has not answered by then is asked again."""


class Uploads(Stager):
    """Five files. Room is reserved before one is made; an uploader that gets no answer ends it."""

    names = "abcde"
    size = 4000

    def __init__(self) -> None:
        self.turn = threading.Condition()
        self.waiting: deque[str] = deque()
        self.reserved = 0
        self.problem = ""
        self.no_more = False

    def run(self) -> None:
        self.begin()
        uploader = threading.Thread(target=self.take_away, daemon=True)
        uploader.start()
        for name in self.names:
            if not self.is_done(name):
                self.reserve()
                self.staged(name)
                self.hand_over(name)
        with self.turn:
            self.no_more = True
            self.turn.notify_all()
        uploader.join(PATIENCE_S)
        if self.problem or uploader.is_alive():
            sys.exit(self.problem or "the uploads do not end")

    def stored(self, name: str) -> bytes:
        body: bytes = Bucket("talks").get(f"files/{name}")
        return body

    def reserve(self) -> None:
        """Room for a file. SystemExit if none comes."""
        with self.turn:
            self.turn.wait_for(lambda: self.problem or self.has_room(), PATIENCE_S)
            if self.problem or not self.has_room():
                sys.exit(self.problem or "nothing is uploaded any more")
            self.reserved += self.size

    def has_room(self) -> bool:
        return self.reserved + self.size <= BOUND

    def hand_over(self, name: str) -> None:
        with self.turn:
            self.waiting.append(name)
            self.turn.notify_all()

    # --- the uploader's thread ---

    def take_away(self) -> None:
        """What is staged: uploaded, marked, removed."""
        store = Bucket("talks", timeout_s=ANSWER_S)
        try:
            while name := self.next():
                self.upload(store, name)
                self.mark(name)
                os.unlink(f"staging/{name}")
                with self.turn:
                    self.reserved -= self.size
                    self.turn.notify_all()
        except (SystemExit, OSError) as error:
            with self.turn:
                self.problem = str(error)
                self.turn.notify_all()

    def next(self) -> str:
        """Empty: there is no more."""
        with self.turn:
            self.turn.wait_for(lambda: self.waiting or self.no_more)
            return self.waiting.popleft() if self.waiting else ""

    def upload(self, store: Bucket, name: str) -> None:
        """Tried again, twice, unless it is refused."""
        with open(f"staging/{name}", "rb") as file:
            body = file.read()
        for attempt in range(ATTEMPTS):
            try:
                store.put(f"files/{name}", body)
                return
            except (OSError, StoreError) as error:
                refused = isinstance(error, StoreError) and error.status < 500
                if refused or attempt == ATTEMPTS - 1:
                    raise SystemExit(f"{name} was not uploaded: {error!r}") from error
            threading.Event().wait(0.02 * 2**attempt)
