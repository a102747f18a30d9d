"""What to do when nobody reads any more what is written: ``| head``, a terminal that was closed."""

from __future__ import annotations

import os
from typing import TextIO


def hush(stream: TextIO) -> None:
    """Let what is written to a stream go nowhere from now on, what it still holds too.

    Otherwise the interpreter would fail at its end to write that, and exit with a code of its own.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
