"""What a job under test may not do, because it will be run a thousand times.

Refused in the call itself: a connection to an address that is not loopback, and truncating,
unlinking or renaming over a file that existed before the run outside the recorded directory. What
the run itself created outside is its own; it is listed as a note.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_VIRTUAL: Final = (b"/proc/", b"/sys/", b"/dev/pts/")
_KEPT: Final = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)
"""What can hold something of the user's: not sockets, FIFOs, devices."""


class Refused(Exception):
    """The call is refused; the message is the sentence for the user."""


@dataclass(slots=True)
class Policy:
    """The rules of one run and what it created outside."""

    allow_network: bool = False
    allow_outside: tuple[Path, ...] = ()
    created: set[bytes] = field(default_factory=set)
    """Real paths of files and directories that this run created outside."""
    receivers: frozenset[int | None] = frozenset()
    """The ports at which the kit itself receives effects, and requests to the object store."""
    reaches_out: bool = False
    """It has tried to reach another process by a socket, or written into a file outside."""

    def written(self, status: os.stat_result) -> None:
        """Something that is not recorded is about to be changed: a file keeps what a run leaves."""
        if stat.S_ISREG(status.st_mode) and status.st_nlink:
            self.reaches_out = True

    def connect(self, host: str, port: int) -> None:
        """Raise :class:`Refused` if the address leaves this machine."""
        if self.allow_network:
            return
        address = ipaddress.ip_address(host.partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None)
        address = mapped or address
        if address.is_loopback or address.is_unspecified:
            return
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise Refused(
            f"the job tried to connect to {shown}, which is not this machine: it was refused, "
            "because the job is run many times; serve what it needs on 127.0.0.1, or allow it with "
            "--checkpoint-allow-network"
        )

    def overwrite(self, path: bytes, status: os.stat_result | None, deed: str) -> None:
        """Raise :class:`Refused` if ``deed`` (``truncate`` …) would harm a file of the user's."""
        if status is None or self._is_own(path) or path.startswith(_VIRTUAL):
            return
        if stat.S_IFMT(status.st_mode) not in _KEPT:
            return
        if any(_is_below(path, os.fsencode(allowed)) for allowed in self.allow_outside):
            return
        shown = os.fsdecode(path).encode("unicode_escape", "surrogateescape").decode()
        raise Refused(
            f"the job tried to {deed} {shown}, which existed before and lies outside the "
            "workspace: it was refused, because the job is run many times; keep such files in "
            "{workspace} or TMPDIR, or allow it with --checkpoint-allow-outside PATH"
        )

    def _is_own(self, path: bytes) -> bool:
        """The run made it, or a directory that it lies in."""
        while path not in self.created:
            above = os.path.dirname(path)
            if above == path or not above:
                return False
            path = above
        return True

    def note_created(self, path: bytes) -> None:
        if not path.startswith(_VIRTUAL):
            self.created.add(path)

    def note_renamed(self, source: bytes, target: bytes, *, arrives: bool) -> None:
        """``arrives``: ``target`` lies in the recorded tree."""
        below = source + b"/"
        moved = {path for path in self.created if path == source or path.startswith(below)}
        self.created -= moved
        if not arrives:
            self.created |= {target + path[len(source) :] for path in moved}

    def still_there(self) -> list[str]:
        """Files created outside that were left behind; Python's bytecode caches do not count."""
        return sorted(
            os.fsdecode(path)
            for path in self.created
            if b"/__pycache__/" not in path and os.path.lexists(path) and not os.path.isdir(path)
        )


def _is_below(path: bytes, directory: bytes) -> bool:
    directory = os.path.realpath(directory)
    return path == directory or path.startswith(directory.rstrip(b"/") + b"/")
