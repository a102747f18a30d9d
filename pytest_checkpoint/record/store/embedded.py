"""The kit's own object store: moto's server, a process of the slot's server.

One serves all slots of an examination, one after the other: each empties it first. It ends with
whoever started it, also where that is killed: it lives as long as its standard input is open.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from pytest_checkpoint.errors import HarnessError, UserError

_PROGRAM: Final = Path(__file__).with_name("moto_program.py")
RESET: Final = "/moto-api/reset"
"""A path of its own: what POST to it does is that nothing is left."""


def require() -> None:
    """UserError with a sentence if it is not installed."""
    if find_spec("moto") is None or find_spec("flask") is None:
        raise UserError(
            "an object store is declared (s3=Bucket(…), --checkpoint-s3), but moto's server is not "
            "installed: install checkpoint-contracts[s3], or name a store by "
            "--checkpoint-s3-endpoint"
        )


@dataclass(slots=True)
class Embedded:
    """Runs from :meth:`start` to :meth:`close`."""

    server: subprocess.Popen[bytes]
    _port: int = 0

    @classmethod
    def start(cls) -> Self:
        """Returns at once: it gets ready while other things are done."""
        server = subprocess.Popen(
            [sys.executable, "-I", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return cls(server)

    @property
    def port(self) -> int:
        """Of 127.0.0.1; waited for the first time. HarnessError if there is none."""
        if not self._port:
            assert self.server.stdout is not None
            line = self.server.stdout.readline()
            if not line.strip().isdigit():
                raise HarnessError(
                    "moto's server, the kit's object store, does not start: try "
                    "`python -m moto.server`, and install checkpoint-contracts[s3] again"
                )
            self._port = int(line)
        return self._port

    @property
    def process(self) -> int:
        return self.server.pid

    def close(self) -> None:
        self.server.send_signal(signal.SIGKILL)  # it keeps nothing
        for stream in (self.server.stdin, self.server.stdout):
            if stream is not None:
                stream.close()
        self.server.wait()
