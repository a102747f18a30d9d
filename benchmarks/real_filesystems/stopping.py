"""Ctrl-C and the like, heeded only where nothing is half done.

An interrupt between a mount and the ``with`` block that undoes it would leave the mount behind. So
a signal is only noted, and whoever is at a good place asks.
"""

from __future__ import annotations

import signal
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_noted: list[int] = []


def note_signals() -> None:
    """From here on signals are noted; they no longer interrupt anything."""
    for number in _SIGNALS:
        signal.signal(number, lambda number, frame: _noted.append(number))


def stop_if_asked() -> None:
    """KeyboardInterrupt if a signal has come."""
    if _noted:
        raise KeyboardInterrupt
