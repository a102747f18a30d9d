"""Beats for a worker, in a process of its own: what a held GIL or a slow write cannot hold up.

Run as ``python -I -S -E beater.py PID START_TICKS INTERVAL_S FIRST_AT_S TURN PATH``. A program,
and what the worker itself needs of it. It has to start fast: it imports nothing but modules in C.

Descriptor 3 is the page it shares with its worker (:mod:`checkpoint_runtime.liveness.page`), 4 its
tie to it: readable once the worker is gone. Before each beat it looks at the worker in ``/proc``,
and does not beat for one that is stopped, traced, a zombie, or gone.
"""

import posix
import sys
import time

PAGE = 3
TIE = 4

PAGE_BYTES = 4096
NUMBER_AT = 8
"""The number of the last beat."""
PROBLEM_AT = 16
"""The error number of the last beat, if that could not be written."""
TURN_AT = 24
"""Which of the beaters of this worker it is that beats; 0: none any more."""
COUNTS_AT = 32
"""Progress, done and total; -1: there is no such number."""
TEXTS_AT = 56
"""Who beats, and at which stage it is: two pieces of JSON, a NUL behind each."""

_STATE, _START = 0, 19
"""Fields of ``/proc/PID/stat``, counted from behind the name, which may hold spaces."""
SUSPENDED = "Tt"
ENDED = "ZXx"


def look(pid: int) -> tuple[str, int] | None:
    """The state of a process, a letter as in proc(5), and its start in clock ticks since boot.

    None: there is no such process, or it is hidden.

    :raises OSError: there is no ``/proc``, say.
    """
    try:
        descriptor = posix.open(f"/proc/{pid}/stat", posix.O_RDONLY | posix.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        stat = posix.read(descriptor, 4096)
    except ProcessLookupError:
        return None
    finally:
        posix.close(descriptor)
    fields = stat[stat.rfind(b")") + 2 :].split()
    return fields[_STATE].decode(), int(fields[_START])


def line_of(who: bytes, number: int, state: str, counts: list[int], stage: bytes) -> bytes:
    """One beat, as it stands in the file.

    :param who: who beats, as far as that stays the same.
    :param counts: as on the page.
    """
    progress, done, total = ["null" if count < 0 else str(count) for count in counts]
    beat = (
        f'"beat": {number}, "monotonic_s": {time.monotonic():.3f}, "state": "{state}", '
        f'"progress": {progress}, "done": {done}, "total": {total}, "stage": '
    )
    return b"{%s, %s%s}\n" % (who, beat.encode(), stage)


def replace(path: str, content: bytes) -> None:
    """Replace a small file whole, without a sync. The name beside it is this one's own.

    :raises OSError: it could not be; the file is as before, and nothing is left beside it.
    """
    aside = spare_of(path)
    # What a process left that was killed half way is written over.
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW | posix.O_CLOEXEC
    descriptor = posix.open(aside, flags, 0o644)
    try:
        try:
            written = posix.write(descriptor, content)
        finally:
            posix.close(descriptor)
        if written != len(content):
            raise OSError(28, posix.strerror(28), aside)  # ENOSPC: the rest would have said so
        posix.rename(aside, path)
    except OSError:
        _remove(aside)
        raise


def spare_of(path: str) -> str:
    """Where the next content of a file is written before it gets its name."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.spare"


def texts_in(page: bytes) -> tuple[bytes, bytes] | None:
    """Who beats, and at which stage; None: the worker is only just writing that."""
    if page[0] & 1:
        return None
    parts = page[TEXTS_AT:].split(b"\0", 2)
    return parts[0], parts[1]


def counts_in(page: bytes) -> list[int]:
    """Progress, done and total. Each is written at once, without regard to the others."""
    places = [COUNTS_AT, COUNTS_AT + 8, COUNTS_AT + 16]
    return [int.from_bytes(page[at : at + 8], "little", signed=True) for at in places]


def _remove(path: str) -> None:
    try:
        posix.unlink(path)
    except OSError:
        return  # it is not there, or a later beat writes over it


class _Beats:
    def __init__(self, turn: int, path: str) -> None:
        self._turn = turn
        self._number = _number_at(NUMBER_AT)
        self._path = path
        self._texts = (b"", b"")
        self._counts = [0, -1, -1]

    @property
    def are_over(self) -> bool:
        """Whether the worker has had another beater started, or none is to beat any more."""
        return _number_at(TURN_AT) != self._turn

    def beat(self) -> None:
        self._read()
        problem = 0
        who, stage = self._texts
        try:
            replace(self._path, line_of(who, self._number + 1, "running", self._counts, stage))
            self._number += 1
        except OSError as error:
            problem = error.errno or 5
        posix.pwrite(PAGE, self._number.to_bytes(8, "little"), NUMBER_AT)
        posix.pwrite(PAGE, problem.to_bytes(8, "little"), PROBLEM_AT)

    def _read(self) -> None:
        # Twice the same counter around a whole reading: nobody wrote meanwhile. A worker that was
        # stopped while it wrote is not beaten for; one that is being pushed aside just then has
        # what it was at before told once more.
        for _ in range(50):
            page = posix.pread(PAGE, PAGE_BYTES, 0)
            self._counts = counts_in(page)
            texts = texts_in(page)
            if texts is not None and posix.pread(PAGE, 8, 0) == page[:8]:
                self._texts = texts
                return


def _number_at(place: int) -> int:
    return int.from_bytes(posix.pread(PAGE, 8, place), "little")


def _is_gone(pid: int, start: int) -> bool | None:
    """Whether the worker is gone for good; None: it is there, and suspended."""
    found = look(pid)
    if found is None or found[1] != start or found[0] in ENDED:
        return True
    return None if found[0] in SUSPENDED else False


def main(arguments: list[str]) -> None:
    import select

    pid, start = int(arguments[0]), int(arguments[1])
    interval_s = float(arguments[2])
    ahead_s = max(0.0, float(arguments[3]) - time.monotonic())
    beats = _Beats(int(arguments[4]), arguments[5])
    poll = select.poll()
    poll.register(TIE, select.POLLIN)
    while not poll.poll(ahead_s * 1000):
        begun_s = time.monotonic()
        gone = _is_gone(pid, start)
        if gone or beats.are_over:
            return
        if gone is False:
            beats.beat()
        ahead_s = max(0.0, interval_s - (time.monotonic() - begun_s))


if __name__ == "__main__":
    main(sys.argv[1:])
