"""The garbage collector, kept from looking through what is only just being made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """For a moment in which much is made and nothing of it is garbage, a state that is read say.

    Otherwise that is gone through again and again, and all that the program holds with it.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
