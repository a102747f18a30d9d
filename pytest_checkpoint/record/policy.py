"""What a job under test may not do, because it will be run a thousand times.

Refused in the call itself: a connection to an address that is not loopback, and truncating,
unlinking or renaming over a file that existed before the run outside the recorded directory. What
the run itself created outside is its own; it is listed as a note.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import Image, Symlink

_VIRTUAL: Final = (b"/proc/", b"/sys/", b"/dev/pts/")
_KEPT: Final = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)
"""What can hold something of the user's: not sockets, FIFOs, devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A directory of which the workspace is a copy: nothing in it may be changed, or added."""

    path: bytes
    """Its real path."""
    nodes: frozenset[tuple[int, int]]
    """(st_dev, st_ino) of all in it, and of itself: it may be reached by other paths too."""
    hidden: bool
    """The copy stands under its path."""
    linked: frozenset[bytes] = frozenset()
    """Real paths outside to which symbolic links in it lead: what lies there is the job's too."""

    @classmethod
    def of(cls, path: str, *, hidden: bool) -> Original:
        """Of a directory, as it stands now; before anything hides it."""
        top = os.fsencode(path)
        captured = capture(Path(path), content=False)
        linked = frozenset(_leading_out(captured.image, top))
        return cls(path=top, nodes=frozenset(captured.identities), hidden=hidden, linked=linked)

    def guard(self, path: bytes, status: os.stat_result | None, deed: str) -> None:
        """Raise :class:`Refused` if ``deed`` would change it; ``status``: of what stands there."""
        if self.hidden:
            if path == self.path:
                raise Refused(
                    f"the job tried to {deed} {_shown(path)} itself, which is mounted here and "
                    "cannot go: it was refused; look again with --no-mount, where the copy can"
                )
        elif _is_below(path, self.path):
            self._refuse(deed, _shown(path))
        if status is not None and (status.st_dev, status.st_ino) in self.nodes:
            self._refuse(deed, _shown(path))

    def guard_file(self, status: os.stat_result) -> None:
        """The same of a change of what is open, whatever its name is."""
        if (status.st_dev, status.st_ino) in self.nodes:
            self._refuse("change something in", _shown(self.path))

    def _refuse(self, deed: str, shown: str) -> None:
        raise Refused(
            f"the job tried to {deed} {shown}, which is not the copy but what was copied: it was "
            "refused, because nothing there may change; the job has that path from its command "
            "line or from its state, so it can be looked at only where the copy may be mounted in "
            "the place of the directory"
        )


class Refused(Exception):
    """The call is refused; the message is the sentence for the user."""


@dataclass(slots=True)
class Policy:
    """The rules of one run and what it created outside."""

    allow_network: bool = False
    allow_outside: tuple[Path, ...] = ()
    created: set[bytes] = field(default_factory=set)
    """Real paths of files and directories that this run created outside."""
    original: Original | None = None
    """It is only looked at what a resume would do to a copy of this."""
    receivers: frozenset[int | None] = frozenset()
    """The ports at which the kit itself receives effects, and requests to the object store."""
    reaches_out: bool = False
    """It has tried to reach another process by a socket, or written into a file outside."""

    def written(self, status: os.stat_result, path: bytes | None) -> None:
        """Something that is not recorded is about to be changed: a file keeps what a run leaves.

        ``path``, below /proc, leads to it; None: its bytes stay as they are, as those of an empty
        lock file that is cut. Raises :class:`Refused` where it is only looked at what a run
        would do: that is run once, on what somebody still needs.
        """
        self.changed(status)
        if stat.S_ISREG(status.st_mode) and status.st_nlink:
            self.reaches_out = True
            if self.original is not None and path is not None:
                self.overwrite(os.readlink(path), status, "write into")

    def changed(self, status: os.stat_result) -> None:
        """The mode, owner, times or attributes of something that is not recorded will change."""
        if self.original is not None:
            self.original.guard_file(status)

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
            f"because {self._reason}; serve what it needs on 127.0.0.1, or allow it with "
            f"{self._options}allow-network"
        )

    def overwrite(self, path: bytes, status: os.stat_result | None, deed: str) -> None:
        """Raise :class:`Refused` if ``deed`` (``truncate`` …) would harm a file of the user's."""
        if self.original is not None:
            self.original.guard(path, status, deed)
        if status is None or self._is_own(path) or path.startswith(_VIRTUAL):
            return
        if stat.S_IFMT(status.st_mode) not in _KEPT:
            return
        if self._is_allowed(path):
            return
        raise Refused(
            f"the job tried to {deed} {_shown(path)}, which existed before and lies outside the "
            f"workspace: it was refused, because {self._reason}; keep such files in "
            f"{{workspace}} or TMPDIR, or allow it with {self._options}allow-outside PATH"
        )

    @property
    def _reason(self) -> str:
        return "the job is run many times" if self.original is None else "it is only looked at"

    @property
    def _options(self) -> str:
        """How the options of the one who asked begin."""
        return "--checkpoint-" if self.original is None else "--"

    def _is_allowed(self, path: bytes) -> bool:
        return any(_is_below(path, os.fsencode(allowed)) for allowed in self.allow_outside)

    def _is_own(self, path: bytes) -> bool:
        """The run made it, or a directory that it lies in."""
        while path not in self.created:
            above = os.path.dirname(path)
            if above == path or not above:
                return False
            path = above
        return True

    def creates(self, path: bytes) -> None:
        """Raise :class:`Refused` if nothing may be made there."""
        if self.original is None:
            return
        self.original.guard(path, None, "create")
        linked = any(_is_below(path, place) for place in self.original.linked)
        if linked and not self._is_own(path) and not self._is_allowed(path):
            raise Refused(
                f"the job tried to create {_shown(path)}, where a symbolic link leads out of the "
                f"directory: it was refused, because no copy is made of what lies there; allow it "
                f"with {self._options}allow-outside PATH, and it will stay"
            )

    def note_created(self, path: bytes) -> None:
        self.creates(path)
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


def _leading_out(image: Image, top: bytes) -> Iterator[bytes]:
    """Where its symbolic links lead; not those that lead to what it lies in, as all else may."""
    for path, _, node in walk(image):
        if isinstance(node, Symlink):
            target = os.path.realpath(os.path.join(top, path))
            if not _is_below(target, top) and not _is_below(top, target):
                yield target


def _shown(path: bytes) -> str:
    return os.fsdecode(path).encode("unicode_escape", "surrogateescape").decode()


def _is_below(path: bytes, directory: bytes) -> bool:
    directory = os.path.realpath(directory)
    return path == directory or path.startswith(directory.rstrip(b"/") + b"/")
