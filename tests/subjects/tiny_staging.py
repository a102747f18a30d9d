"""What the stagers here have in common: files are made in a staging, stored, and marked elsewhere.

Each differs in one thing, and has that itself: another method of :class:`Copier`, or of ``Uploads``
in ``tiny_staged_uploads.py``.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time

PATIENCE_S = 20.0
_LOOK_S = 0.02


class Stager:
    """What every one does. A full staging ends it, with a word."""

    names: str
    size: int
    markers = "done"
    """A folder."""

    @classmethod
    def main(cls, **own: object) -> None:
        """``own``: what this one does, or has, otherwise."""
        os.chdir(sys.argv[2])
        job: Stager = type("Job", (cls,), own)()
        {"run": job.run, "check": job.check}[sys.argv[1]]()

    def run(self) -> None:
        raise NotImplementedError

    def check(self) -> None:
        """Every file as it is stored, and its marker."""
        for name in self.names:
            os.stat(f"{self.markers}/{name}")
            print(name, self.stored(name) == self.content(name))

    def content(self, name: str) -> bytes:
        return name.encode() * self.size

    def stored(self, name: str) -> bytes:
        raise NotImplementedError

    def begin(self) -> None:
        os.makedirs(self.markers, exist_ok=True)
        self.sweep()

    def sweep(self, *kept: str) -> None:
        """What an earlier start has left in the staging, but what is to stay."""
        for left in set(os.listdir("staging")) - set(kept):
            os.unlink(f"staging/{left}")

    def is_done(self, name: str) -> bool:
        return os.path.exists(f"{self.markers}/{name}")

    def mark(self, name: str) -> None:
        touch(f"{self.markers}/{name}")

    def stage(self, name: str) -> None:
        """Under its own name only when it is whole."""
        with open(f"staging/{name}.part", "wb") as file:
            file.write(self.content(name))
        os.rename(file.name, f"staging/{name}")

    def staged(self, name: str) -> None:
        try:
            self.stage(name)
        except OSError as error:
            sys.exit(f"{name} cannot be staged: {error}")


class Copier(Stager):
    """Four files, each copied to where it is to stay before the next is made. A full staging is
    waited for, with a deadline.
    """

    names = "abcd"
    size = 5000

    def run(self) -> None:
        os.makedirs("stored", exist_ok=True)
        self.begin()
        for name in self.names:
            if self.is_done(name):
                continue
            event(f"start {name}")
            self.staged(name)
            self.store(name)
            self.mark(name)
            event(f"done {name}")
            os.unlink(f"staging/{name}")

    def staged(self, name: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.stage(name)
            except OSError as error:
                if error.errno != errno.ENOSPC or time.monotonic() > until:
                    sys.exit(f"{name} cannot be staged: {error}")
            if os.path.exists(f"staging/{name}.part"):
                os.unlink(f"staging/{name}.part")
            while not self.has_room() and time.monotonic() < until:
                threading.Event().wait(_LOOK_S)

    def has_room(self) -> bool:
        told = os.statvfs("staging")
        inodes = told.f_favail > 0 or told.f_files == 0
        return inodes and told.f_bavail * told.f_frsize > self.size

    def store(self, name: str) -> None:
        with open(f"staging/{name}", "rb") as made, open(f"stored/{name}.part", "wb") as kept:
            kept.write(made.read())
        os.rename(kept.name, f"stored/{name}")

    def stored(self, name: str) -> bytes:
        with open(f"stored/{name}", "rb") as file:
            return file.read()


def event(line: str) -> None:
    with open(os.environ["CHECKPOINT_EVENTS"], "ab", buffering=0) as events:
        events.write(f"{line}\n".encode())


def touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
