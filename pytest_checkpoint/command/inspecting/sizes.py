"""Numbers of bytes, files and seconds as people read them."""

from __future__ import annotations


def size(count: int) -> str:
    """``1 byte``, ``532 bytes``, ``3.1 MiB``."""
    if count < 1024:
        return "1 byte" if count == 1 else f"{count} bytes"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} TiB"


def files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 min``."""
    if seconds >= 120:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds:.0f} s"
