"""A quota that is only kept account of: what is refused, when, and what is told of it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.operations import Write
from tests.kit.record.rooms import PREAMBLE, start, virtually
from tests.kit.record.warm import QUICK, both, script

if TYPE_CHECKING:
    from tests.kit.record.conftest import Outcome, Runner

HELPERS = """
import errno
def tried(call, *arguments, **named):
    try:
        return call(*arguments, **named)
    except OSError as error:
        return errno.errorcode[error.errno]
def new(name, size=0):
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    if size:
        os.write(file, b"x" * size)
    return file
"""


def told(runner: Runner, source: str, room: Room, **options: Any) -> list[str]:
    """What the program printed, which must end well."""
    result = start(runner, room, HELPERS + source, **options)
    assert result.exit_code == 0, result.error_output
    return result.output.splitlines()


def recorded(runner: Runner, source: str, room: Room) -> Outcome:
    outcome = runner.run(*QUICK, "-c", PREAMBLE + HELPERS + source, room=room)
    assert outcome.result.exit_code == 0, outcome.result.error_output
    assert outcome.differences == []
    return outcome


def test_a_write_comes_up_to_the_boundary_and_the_next_one_fails(runner: Runner) -> None:
    outcome = recorded(
        runner,
        """
file = new("a", 5000)
assert os.write(file, b"y" * 9000) == 3 * 4096 - 5000
assert tried(os.write, file, b"z") == "ENOSPC"
assert tried(os.write, new("b"), b"z") == "ENOSPC"
assert os.pwrite(file, b"over", 0) == 4
""",
        Room(blocks=3),
    )
    sizes = [len(e.data) for o in outcome.operations for e in o.effects if isinstance(e, Write)]
    assert sizes == [5000, 3 * 4096 - 5000, 4]
    (short,) = [o.step for o in outcome.operations if o.effects and len_of(o.effects[0]) == 7288]
    assert outcome.result.fired_at == short
    assert outcome.errors() == [("write", errno.ENOSPC), ("write", errno.ENOSPC)]


def len_of(effect: object) -> int:
    return len(effect.data) if isinstance(effect, Write) else -1


@pytest.mark.parametrize(
    "call",
    [
        "os.write(os.open('a', os.O_WRONLY | os.O_APPEND), data)",
        "os.pwrite(file, data, 4096)",
        "os.writev(file, [data[:100], data[100:]])",
        "os.pwritev(file, [data[:6000], data[6000:]], 4096)",
        "os.sendfile(file, source, 0, 20000)",
        "os.copy_file_range(source, file, 20000)",
    ],
)
def test_every_way_of_writing_is_cut_at_the_boundary(runner: Runner, call: str) -> None:
    lines = told(
        runner,
        f"""
source = os.open(os.environ["TMPDIR"] + "/source", os.O_RDWR | os.O_CREAT)
data = b"d" * 20000
os.write(source, data)
os.lseek(source, 0, os.SEEK_SET)
file = new("a", 4096)
print({call})
print(tried(lambda: {call.replace("source, 0", "source, 8192").replace("4096)", "12288)")}))
print(os.stat("a").st_size)
""",
        Room(blocks=3),
    )
    assert lines == ["8192", "ENOSPC", "12288"]


def test_splice_is_refused_so_that_programs_write(runner: Runner) -> None:
    outcome = runner.shell(
        "head -c 3000 /dev/zero | tee a > /dev/null; head -c 9000 /dev/zero | cat > b || echo full",
        room=Room(blocks=2),
    )
    assert outcome.result.output == "full\n"
    assert outcome.differences == []


def test_room_comes_back_with_what_goes(runner: Runner) -> None:
    lines = told(
        runner,
        """
file = new("a", 4 * 4096)
print(tried(os.write, file, b"x"))
os.ftruncate(file, 2 * 4096 + 1)
print(os.pwrite(file, b"x" * 8192, 3 * 4096))
new("b")
os.rename("b", "a")
print(tried(os.write, new("c"), b"x"))  # the replaced file is still open
os.close(file)
print(os.write(new("c"), b"x" * 20000))
""",
        Room(blocks=4),
    )
    assert lines == ["ENOSPC", "4096", "ENOSPC", "16384"]


def test_a_file_that_another_process_has_open_or_mapped_keeps_its_room(runner: Runner) -> None:
    lines = told(
        runner,
        """
import mmap, sys
file = new("a", 2 * 4096)
held = mmap.mmap(file, 2 * 4096, mmap.MAP_SHARED, mmap.PROT_READ)
ours, theirs = os.pipe()
if not os.fork():
    os.close(theirs)
    held.close()
    os.read(ours, 1)
    os._exit(0)
os.unlink("a")
os.close(file)
print(tried(os.write, new("b"), b"x"))  # mapped here, open there
held.close()
print(tried(os.write, new("b"), b"x"))  # open there
os.close(theirs)
os.wait()
print(tried(os.write, new("b"), b"x"))
""",
        Room(blocks=2),
    )
    assert lines == ["ENOSPC", "ENOSPC", "1"]


def test_fallocate_gets_all_or_nothing(runner: Runner) -> None:
    lines = told(
        runner,
        """
file = new("a", 4096)
print(tried(os.posix_fallocate, file, 0, 5 * 4096))
print(os.statvfs(".").f_bfree, os.stat("a").st_size)
print(tried(os.posix_fallocate, file, 0, 4 * 4096))
print(os.statvfs(".").f_bfree, os.write(file, b"x" * 20000))
""",
        Room(blocks=4),
    )
    assert lines == ["ENOSPC", "3 4096", "None", "0 12288"]


def test_inodes(runner: Runner) -> None:
    lines = told(
        runner,
        """
import socket
print(os.statvfs(".").f_files, os.statvfs(".").f_ffree)
os.mkdir("d"), os.symlink("x", "s"), new("a")
print(os.statvfs("d").f_ffree)
os.link("a", "d/b")
full = "d/full"
print(tried(os.open, full, os.O_CREAT | os.O_WRONLY), tried(os.mkdir, full),
      tried(os.symlink, "x", full), tried(os.link, "a", full), tried(os.mkfifo, full),
      tried(socket.socket(socket.AF_UNIX).bind, full),
      tried(os.open, "d", os.O_TMPFILE | os.O_RDWR))
print(tried(os.mkdir, "d"), tried(os.link, "a", "d"), tried(os.rename, "a", "c"))
os.unlink("d/b")
print(tried(os.mkdir, full))
""",
        Room(inodes=5),
    )
    assert lines == ["5 4", "1", " ".join(["ENOSPC"] * 7), "EEXIST EEXIST None", "None"]


def test_the_border_is_that_of_a_file_system_and_is_not_the_fault(runner: Runner) -> None:
    room = Room(blocks=100)
    result = start(
        runner,
        room,
        HELPERS
        + """
outside = os.environ["TMPDIR"] + "/a"
new("a", 10), new(outside, 10)
print(tried(os.rename, outside, "b"), tried(os.link, outside, "b"))
print(tried(os.rename, "a", outside), tried(os.link, "a", outside + "2"))
print(tried(os.rmdir, os.getcwd()), tried(os.rename, os.getcwd(), os.getcwd() + "2"))
import shutil
shutil.move(outside, "b")
print(sorted(os.listdir()))
""",
    )
    assert result.output.splitlines() == [
        "EXDEV EXDEV",
        "EXDEV EXDEV",
        "EBUSY EBUSY",
        "['a', 'b']",
    ], result.error_output
    assert result.fired_at is None


def test_what_lay_there_before_counts_though_it_is_too_much(runner: Runner) -> None:
    def before() -> None:
        (runner.client.workspace / "old").write_bytes(b"o" * 9000)
        (runner.client.temporary / "old").write_bytes(b"o" * 90_000)

    source = """
print(os.statvfs(".").f_bfree, tried(os.write, new("a"), b"x"))
os.truncate("old", 4096)
print(os.statvfs(".").f_bfree, tried(os.write, new("a"), b"x" * 4097))
"""
    assert told(runner, source, Room(blocks=2), before=before) == ["0 ENOSPC", "1 4096"]


def test_another_error_and_bytes(runner: Runner) -> None:
    source = """
file = new("a", 5000)
print(os.write(file, b"y" * 9000), tried(os.write, file, b"z"), os.statvfs(".").f_blocks)
os.ftruncate(file, 5999)
print(os.write(new("b"), b"y" * 9000))
"""
    room = Room(bytes=6000, error=errno.EDQUOT)
    assert told(runner, source, room) == ["1000 EDQUOT 1", "1"]


def test_a_directory_of_the_workspace(runner: Runner) -> None:
    def before() -> None:
        (runner.client.workspace / "a" / "small").mkdir(parents=True)

    source = """
print(os.write(new("big"), b"x" * 90000), os.statvfs(".").f_blocks > 2)
print(os.write(new("a/small/f"), b"x" * 9000), os.statvfs("a/small/f").f_blocks)
print(tried(os.rename, "big", "a/small/big"), tried(os.rename, "a/small/f", "a/f"))
os.rename("a", "b")
print(tried(os.write, new("b/small/f"), b"x"), tried(os.write, new("b/small/g"), b"x"))
"""
    room = Room(blocks=2, under="a/small")
    lines = told(runner, source, room, before=before)
    assert lines == ["90000 True", "8192 2", "EXDEV EXDEV", "1 ENOSPC"]


@pytest.mark.parametrize(
    ("room", "sentence"),
    [
        (Room(blocks=1, under="none"), "none is to have little room, but there is no such"),
        (Room(blocks=1, under="none", real=True), "none is to have little room, but there is no"),
        (Room(blocks=1, under="../t"), "../t is not a directory below the workspace"),
        (Room(blocks=1, bytes=1), "counts in blocks or in bytes, not in both"),
    ],
)
def test_what_cannot_be_meant_is_said(runner: Runner, room: Room, sentence: str) -> None:
    with pytest.raises(HarnessError, match=sentence):
        start(runner, room, "")


def test_a_warm_start_has_no_more_room(runner: Runner) -> None:
    text = PREAMBLE + HELPERS + "print(os.statvfs('.').f_bfree, os.write(new('a'), b'x' * 9000))\n"
    path = script(runner, text)
    fresh, warm = both(runner, *QUICK, path, room=Room(blocks=2))
    assert fresh.output == warm.output == "2 8192\n"
    assert fresh.fired_at == warm.fired_at == 2
    _, roomy = both(runner, *QUICK, path)
    assert (roomy.output.split()[1], roomy.fired_at) == ("9000", None)


def test_stores_through_a_mapping_count_when_they_are_seen(runner: Runner) -> None:
    source = """
import mmap
file = new("a")
os.ftruncate(file, 5 * 4096)
mapped = mmap.mmap(file, 5 * 4096)
for page in range(5):
    mapped[page * 4096] = 1
print(os.statvfs(".").f_bfree, tried(os.write, new("b"), b"x"))
"""
    result, _ = virtually(runner, HELPERS + source, blocks=4)
    assert result.output == "0 ENOSPC\n", result.error_output
