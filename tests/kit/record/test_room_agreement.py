"""The virtual quota and a tmpfs of Linux, asked the same things at random: they answer alike.

The tmpfs is asked by the program itself, without the filter: nothing of the kit stands between.
"""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.tree.compare import differences
from tests.kit.record.rooms import start

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

SEEDS = (3, 107, 147)
"""Some hundreds were tried. With these, mistakes that were made would show."""
STEPS = 150

AT_RANDOM = r"""
import ctypes, errno, random, sys
libc = ctypes.CDLL(None, use_errno=True)
draw = random.Random(int(sys.argv[1]))
names = [f"n{number}" for number in range(6)] + ["d/a", "d/b", "d/c"]
files = []
elsewhere = os.environ["TMPDIR"] + "/source"
source = os.open(elsewhere, os.O_RDWR | os.O_CREAT)
os.write(source, b"s" * 40000)


def place():
    return draw.choice([0, 1, 4095, 4096, 4097, 8192, 20000, draw.randrange(60000)])


def length():
    return draw.choice([1, 100, 4096, 5000, 12288, 30000])


def file():
    if not files:
        files.append(os.open("n0" if os.path.isfile("n0") else ".", os.O_RDONLY))
    return draw.choice(files)


def opened(flags):
    name = draw.choice(names)
    if os.path.exists(name) and not os.path.isfile(name):
        return "cannot be opened"  # a FIFO would keep us waiting
    if os.path.exists(name) and not os.path.getsize(name):
        flags &= ~os.O_TRUNC  # nothing is recorded of it, though what was set aside would go
    files.append(os.open(name, os.O_RDWR | flags, 0o600))


def unnamed():
    files.append(os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600))


def allocate(mode):
    if libc.fallocate(file(), mode, ctypes.c_int64(place()), ctypes.c_int64(length())):
        raise OSError(ctypes.get_errno(), "")


def close():
    if files:
        os.close(files.pop(draw.randrange(len(files))))


def name():
    return draw.choice(names)


DEEDS = (
    lambda: opened(os.O_CREAT),
    lambda: opened(os.O_CREAT | os.O_TRUNC),
    lambda: opened(os.O_CREAT | os.O_EXCL),
    lambda: opened(os.O_CREAT | os.O_APPEND),
    lambda: os.write(file(), b"x" * length()),
    lambda: os.write(file(), b"x" * length()),
    lambda: os.pwrite(file(), b"y" * length(), place()),
    lambda: os.writev(file(), [b"1" * 100, b"2" * 5000, b"3" * 3000]),
    lambda: os.sendfile(file(), source, draw.randrange(30000), 12000),
    lambda: os.lseek(file(), place(), os.SEEK_SET),
    lambda: os.ftruncate(file(), place()),
    lambda: os.truncate(name(), draw.choice([0, 10, 4096])),
    lambda: allocate(0),
    lambda: allocate(1),
    lambda: allocate(3),
    lambda: os.unlink(name()),
    lambda: os.mkdir("d"),
    lambda: os.rmdir("d"),
    lambda: os.link(name(), name()),
    lambda: os.link(elsewhere, name()),
    lambda: os.link(name(), elsewhere + str(draw.random())),
    lambda: os.symlink("q" * draw.choice([5, 127, 128, 3000]), name()),
    lambda: os.rename(name(), name()),
    lambda: os.rename(name(), elsewhere + "2"),
    lambda: os.mkfifo(name()),
    lambda: os.setxattr(name(), "user." + draw.choice("ab"), b"v" * draw.choice([1, 100, 2000])),
    lambda: os.removexattr(name(), "user." + draw.choice("ab")),
    unnamed,
    close,
    close,
)
for step in range(int(sys.argv[2])):
    number = draw.randrange(len(DEEDS))
    try:
        said = DEEDS[number]()
    except OSError as error:
        said = errno.errorcode[error.errno]
    room = os.statvfs(".")
    free = room.f_blocks, room.f_bfree, room.f_bavail, room.f_files, room.f_ffree
    print(step, number, said, *free)
"""


FINE_PRINT = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
def free(*what):
    room = os.statvfs(".")
    print(*what, room.f_bfree, room.f_ffree)
os.symlink("q" * 127, "short"), free("a short link")
os.symlink("q" * 128, "long"), free("a long link")
os.unlink("long"), free("no long link")
file = os.open("a", os.O_RDWR | os.O_CREAT)
libc.fallocate(file, 1, ctypes.c_int64(0), ctypes.c_int64(12288)), free("set aside behind the end")
os.ftruncate(file, 1), free("grown")
os.ftruncate(file, 1), free("left as it is")
os.close(file)
os.mkdir("d")
file = os.open("d/b", os.O_RDWR | os.O_CREAT)
os.write(file, b"x" * 5000), os.unlink("d/b"), os.rmdir("d"), free("a folder with an open file")
address = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(8192), 1, 1, file, ctypes.c_long(0)))
os.close(file), free("a mapped file")
libc.munmap(address, ctypes.c_size_t(8192)), free("nothing")
"""


def test_the_fine_print(runner: Runner) -> None:
    real = Room(blocks=10, inodes=10, real=True)
    wanted = start(runner, real, FINE_PRINT, filtered=False)
    told = start(runner, dataclasses.replace(real, real=False), FINE_PRINT)

    assert (wanted.exit_code, told.exit_code) == (0, 0), told.error_output
    assert told.output.splitlines() == wanted.output.splitlines()
    assert len(told.output.splitlines()) == 9


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_refused_what_is_left_and_how_much_room_there_is(runner: Runner, seed: int) -> None:
    draw = random.Random(seed)
    blocks, inodes = draw.randrange(5, 25), draw.randrange(6, 16)

    def before() -> None:
        folder = runner.client.workspace
        (folder / "old").write_bytes(b"o" * 9000)
        (folder / "hard").hardlink_to(folder / "old")
        (folder / "soft").symlink_to("z" * 200)
        with (folder / "holes").open("wb") as file:
            file.seek(50_000)
            file.write(b"end")

    def run(room: Room, *, filtered: bool = True) -> str:
        arguments = (str(seed), str(STEPS))
        result = start(runner, room, AT_RANDOM, *arguments, before=before, filtered=filtered)
        assert result.exit_code == 0, result.error_output
        assert bool(result.real_room) == room.real
        return result.output

    wanted = run(Room(blocks=blocks, inodes=inodes, real=True), filtered=False)
    left = runner.look()
    told = run(Room(blocks=blocks, inodes=inodes))

    assert told.splitlines() == wanted.splitlines()
    assert differences(left, runner.look()) == []
    assert "ENOSPC" in told
