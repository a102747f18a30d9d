"""A folder as a store: each object a file that appears whole, is durable, and overwrites none."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.parts import Whole
from checkpoint_runtime.extract.store.body import mapped
from checkpoint_runtime.extract.store.failures import TakenError, TransientStoreError
from checkpoint_runtime.extract.store.objects import CHUNK_BYTES, Listed, Seen
from checkpoint_runtime.state.durable import (
    make_directory,
    remove_half,
    sync_directory,
    write_new_file,
)

_PASSING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, errno.ESTALE})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})
_HALF: Final = ".half"


class FileObjects:
    """:class:`~checkpoint_runtime.extract.store.objects.Objects` of a directory.

    A file is written beside its place under another name, synced, and linked to its own: so nobody
    sees a part of it, and what has the name already is never overwritten.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"file://{folder}"
        self._count = itertools.count()

    def check(self) -> None:
        with _translated(self._folder):
            if not self._folder.exists():
                return
            if not self._folder.is_dir():
                raise StoreError(f"{self.url} is no directory.")
            os.listdir(self._folder)

    def probe(self) -> bool:
        """Nothing is written to try it: what a kill leaves of that would be more each time."""
        with _translated(self._folder):
            make_directory(self._folder)
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise StoreError(f"{self.url}: this process may not write there.")
        return False

    def put(self, path: Path, whole: Whole, *, instead_of: str | None) -> None:
        with mapped(path, whole) as content:
            self._put(whole.key, content, instead_of)

    def put_bytes(self, key: str, content: bytes) -> None:
        place = self._folder / key
        half = self._half(place)
        with _translated(place):
            make_directory(place.parent)
            write_new_file(half, [content])
            _renamed(half, place)

    def _put(self, key: str, content: memoryview, instead_of: str | None) -> None:
        place = self._folder / key
        half = self._half(place)
        with _translated(place):
            make_directory(place.parent)
            if instead_of is None and place.exists():
                raise _taken(place)  # before all that is written for nothing
            write_new_file(half, [content])
            if instead_of is not None:
                found = self.seen(key)
                if found is None or found.tag != instead_of:
                    os.unlink(half)
                    raise _taken(place)
                _renamed(half, place)
                return
            try:
                os.link(half, place)
            except FileExistsError as error:
                raise _taken(place) from error
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                raise StoreError(
                    f"{self.url}: the file system has no hard links, without which one worker "
                    "could overwrite the object of another: take another directory."
                ) from error
            finally:
                os.unlink(half)
            sync_directory(place.parent)

    def seen(self, key: str) -> Seen | None:
        place = self._folder / key
        with _translated(place):
            try:
                found = os.stat(place)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return Seen(found.st_size, _tag(found))

    def chunks(self, key: str) -> Iterator[bytes]:
        place = self._folder / key
        with _translated(place):
            try:
                file = place.open("rb", buffering=0)
            except (FileNotFoundError, NotADirectoryError):
                return
            with file:
                # What is clean in the cache goes: it is the disk that is asked.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk

    def listed(self, folder: str = "", *, after: str = "") -> Iterator[Listed]:
        with _translated(self._folder):
            for found in self._walked(self._folder / folder, folder):
                if found.key > after:
                    yield found

    def _walked(self, folder: Path, before: str) -> Iterator[Listed]:
        try:
            entries = sorted(os.scandir(folder), key=_order)
        except FileNotFoundError:
            return
        for entry in entries:
            key = before + entry.name
            if entry.is_dir(follow_symlinks=False):
                with suppress(PermissionError):  # somebody else's: `lost+found`, say
                    yield from self._walked(Path(entry.path), f"{key}/")
            elif entry.is_file(follow_symlinks=False):
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # a worker has just given it its own name, or taken it away
                yield Listed(key, found.st_size, _tag(found))

    def remove(self, key: str, tag: str | None = None) -> None:
        place = self._folder / key
        with _translated(place):
            found = self.seen(key)
            if found is None:
                return
            if tag is not None and found.tag != tag:
                raise _taken(place)
            place.unlink(missing_ok=True)
            sync_directory(place.parent)

    def abandon(self, keys: Iterable[str]) -> int:
        count = 0
        ours = frozenset(keys)
        with _translated(self._folder):
            if not self._folder.is_dir():
                return 0
            for name in os.listdir(self._folder):
                if is_half(name) and _whole_name(name) in ours:
                    (self._folder / name).unlink(missing_ok=True)
                    count += 1
        return count

    def _half(self, place: Path) -> Path:
        return place.with_name(f".{place.name}.{os.getpid()}-{next(self._count)}{_HALF}")


def is_half(name: str) -> bool:
    """Whether a file is one that has not got its own name yet."""
    return name.startswith(".") and name.endswith(_HALF)


def _whole_name(half: str) -> str:
    return half.removeprefix(".").removesuffix(_HALF).rpartition(".")[0]


def _renamed(half: Path, place: Path) -> None:
    try:
        os.replace(half, place)
    except BaseException as error:
        remove_half(half, error)
        raise
    sync_directory(place.parent)


def _order(entry: os.DirEntry[str]) -> str:
    """As a store has it: by the whole key, in which a slash stands behind a folder's name."""
    return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name


def _tag(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"


def _taken(place: Path) -> TakenError:
    return TakenError(f"{place}: there is something else under this name.")


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        words = f"{place}: {error.strerror or error}"
        if error.errno in _PASSING:
            name = errno.errorcode.get(error.errno or 0, "OSError")
            raise TransientStoreError(name, f"{words}.") from error
        raise StoreError(f"{words}: the destination cannot be used.") from error
