"""The processes below this one: who they are, what they use, and how all of them are ended.

This process is a subreaper, so whoever loses its parent becomes its child. A *spared* child, and
what is below it, is none of the subject's: the interpreter from which warm starts are forked, and
the supervisor that owns it.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Final

NOBODY: Final[frozenset[int]] = frozenset()


def end_descendants(spared: Set[int] = NOBODY) -> None:
    """SIGKILL every descendant but the spared, until none is left, and reap them."""
    while children(spared):
        below = descendants(spared)
        family = {os.getpid(), *below}
        for process in below:
            _kill(process, family)
        for process in children(spared):
            if process in family:
                _reap(process)


def _reap(process: int) -> None:
    try:
        os.waitpid(process, 0)
    except ChildProcessError:
        return  # somebody was quicker: nobody's child any more


def children(spared: Set[int] = NOBODY) -> list[int]:
    """Children of this process, ended ones that nobody has waited for among them.

    None is missed: only waiting for a child takes it off the kernel's list, and only we wait.
    """
    try:
        with open("/proc/thread-self/children", "rb") as file:
            names = file.read().split()
    except FileNotFoundError:  # a kernel built without it
        parent = os.getpid()
        return [one for one in descendants(spared) if _parent_of(one) == parent]
    return [process for process in map(int, names) if process not in spared]


def _kill(process: int, family: set[int]) -> None:
    """SIGKILL, unless the number belongs to somebody else by now."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        if _parent_of(process) in family:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def descendants(spared: Set[int] = NOBODY) -> list[int]:
    """All processes below this one, by /proc; not the spared ones, nor those below them."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = _parent_of(int(name))
            if parent is not None:
                parents.setdefault(parent, []).append(int(name))
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        born = [process for process in parents.get(queue.pop(), []) if process not in spared]
        found += born
        queue += born
    return found


def is_below(process: int, spared: Set[int] = NOBODY) -> bool:
    """Whether it (or the process of this thread) descends from this one, by none of the spared.

    Not if it has gone.
    """
    us = os.getpid()
    if process == us:
        return False
    above = process
    while above and above not in spared:
        if above == us:
            return True
        parent = _parent_of(above)
        if parent is None and above == process:
            return False
        above = process if parent is None else parent  # one between has ended: ask again
    return False


def is_member(process: int, number: int) -> bool:
    """Whether it is there, and in that process group."""
    try:
        return os.getpgid(process) == number
    except ProcessLookupError:
        return False


def group(number: int) -> list[int]:
    """All processes of a process group, whoever they belong to."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _stat(int(name))
            if fields and int(fields[2]) == number:
                found.append(int(name))
    return found


def names(processes: Iterable[int]) -> list[str]:
    """Number and command line of each that still lives."""
    found = []
    for process in processes:
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue  # it ended just now
        found.append(f"{process} ({command.decode(errors='replace').strip()[:80]})")
    return found


def is_mapped(identity: tuple[int, int]) -> bool:
    """Whether a descendant maps the file with these (st_dev, st_ino), or may do so."""
    device, inode = identity
    wanted = b" %02x:%02x %d " % (os.major(device), os.minor(device), inode)
    below = descendants()
    for process in below:
        try:
            with open(f"/proc/{process}/maps", "rb") as file:
                if wanted in file.read():
                    return True
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError:
            return True
    return descendants() != below  # somebody was born, or died, meanwhile: next time


def held(identities: Set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those files without a name, by (st_dev, st_ino), that a descendant has open or mapped."""
    found: set[tuple[int, int]] = set()
    for process in descendants():
        if identities <= found:
            break
        try:
            found |= identities & (_opened(process) | _mapped(process))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError:
            return set(identities)  # it cannot be asked: it may hold all of them
    return found


def is_held(identity: tuple[int, int]) -> bool:
    """Whether a descendant has this deleted file open or mapped."""
    return bool(held({identity}))


def _opened(process: int) -> set[tuple[int, int]]:
    """Files without a name that it has open."""
    found = set()
    folder = f"/proc/{process}/fd"
    for name in os.listdir(folder):
        try:
            status = os.stat(f"{folder}/{name}")
        except FileNotFoundError:
            continue  # closed meanwhile
        if not status.st_nlink:
            found.add((status.st_dev, status.st_ino))
    return found


def _mapped(process: int) -> set[tuple[int, int]]:
    """Files that it maps and that have been deleted."""
    found = set()
    with open(f"/proc/{process}/maps", "rb") as lines:
        for line in lines:
            if line.rstrip().endswith(b" (deleted)"):
                fields = line.split(None, 5)
                major, minor = (int(part, 16) for part in fields[3].split(b":"))
                found.add((os.makedev(major, minor), int(fields[4])))
    return found


def _stat(process: int) -> list[bytes] | None:
    """Fields of /proc/PID/stat after the name, the state first; None if it has gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _parent_of(process: int) -> int | None:
    fields = _stat(process)
    return int(fields[1]) if fields else None


def _is_childless(process: int) -> bool:
    """Whether it surely has no children.

    That can be asked of a running one; which they are cannot, when some of them end meanwhile.
    """
    folder = f"/proc/{process}/task"
    try:
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/children", "rb", buffering=0) as file:
                if file.read(1):
                    return False
    except OSError:  # it has ended, or the kernel was built without it
        return False
    return True


def user_cpu(spared: Set[int] = NOBODY) -> float:
    """User CPU seconds of all descendants but the spared so far, those waited for among them."""
    ticks = 0
    below = children(spared)
    if not all(map(_is_childless, below)):
        below = descendants(spared)
    for process in below:
        fields = _stat(process)
        if fields:
            ticks += int(fields[11]) + int(fields[13])
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    return waited_for + ticks / os.sysconf("SC_CLK_TCK")
