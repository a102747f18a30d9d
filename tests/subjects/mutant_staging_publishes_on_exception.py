"""Planted fault: when the staging is full, what was written is uploaded on the way out."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque

from tiny_s3 import Bucket, StoreError

NAMES = "abcde"
SIZE = 4000
BOUND = 9000
ATTEMPTS = 3
PATIENCE_S = 20.0


def upload(store: Bucket, name: str) -> None:
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


class Uploader(threading.Thread):
    """Takes what is staged away, and marks it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.turn = threading.Condition()
        self.staged: deque[str] = deque()
        self.reserved = 0
        self.problem = ""
        self.no_more = False

    def reserve(self) -> None:
        """Room for a file, before it is made. SystemExit if none comes."""
        with self.turn:
            self.turn.wait_for(lambda: self.problem or self.has_room(), PATIENCE_S)
            if self.problem or not self.has_room():
                sys.exit(self.problem or "nothing is uploaded any more")
            self.reserved += SIZE

    def has_room(self) -> bool:
        return self.reserved + SIZE <= BOUND

    def hand_over(self, name: str) -> None:
        with self.turn:
            self.staged.append(name)
            self.turn.notify_all()

    def run(self) -> None:
        store = Bucket("talks", timeout_s=0.6)
        try:
            while True:
                with self.turn:
                    self.turn.wait_for(lambda: self.staged or self.no_more)
                    if not self.staged:
                        return
                    name = self.staged.popleft()
                upload(store, name)
                os.close(os.open(f"done/{name}", os.O_WRONLY | os.O_CREAT, 0o600))
                os.unlink(f"staging/{name}")
                with self.turn:
                    self.reserved -= SIZE
                    self.turn.notify_all()
        except (SystemExit, OSError) as error:
            with self.turn:
                self.problem = str(error)
                self.turn.notify_all()


def stage(name: str) -> None:
    """Under its own name only when it is whole."""
    with open(f"staging/{name}.part", "wb") as file:
        file.write(name.encode() * SIZE)
    os.rename(file.name, f"staging/{name}")


def run() -> None:
    os.makedirs("done", exist_ok=True)
    for left in os.listdir("staging"):
        os.unlink(f"staging/{left}")
    uploader = Uploader()
    uploader.start()
    for name in NAMES:
        if os.path.exists(f"done/{name}"):
            continue
        uploader.reserve()
        try:
            stage(name)
        except OSError as error:
            os.rename(f"staging/{name}.part", f"staging/{name}")
            upload(Bucket("talks"), name)
            sys.exit(f"{name} cannot be staged: {error}")
        uploader.hand_over(name)
    with uploader.turn:
        uploader.no_more = True
        uploader.turn.notify_all()
    uploader.join(PATIENCE_S)
    if uploader.problem or uploader.is_alive():
        sys.exit(uploader.problem or "the uploads do not end")


def check() -> None:
    store = Bucket("talks")
    for name in NAMES:
        os.stat(f"done/{name}")
        print(name, store.get(f"files/{name}") == name.encode() * SIZE)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    {"run": run, "check": check}[sys.argv[1]]()
