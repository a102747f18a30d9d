"""The real thing: nothing of it is left, whatever dies when, and it is said where there is none."""

from __future__ import annotations

import dataclasses
import errno
import os
import select
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.room import mounted, system
from pytest_checkpoint.tree.compare import differences
from tests.kit.record.rooms import PREAMBLE, really, start
from tests.kit.record.warm import QUICK

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

FILL = """
file = os.open("a", os.O_WRONLY | os.O_CREAT)
print(os.write(file, b"x" * 20000))
try:
    os.write(file, b"x")
except OSError as error:
    print(error.strerror)
"""


def test_what_lay_there_goes_in_and_what_lies_there_comes_out(runner: Runner) -> None:
    def before() -> None:
        folder = runner.client.workspace
        (folder / "d").mkdir(mode=0o750)
        (folder / "d" / "old").write_bytes(b"o" * 5000)
        (folder / "hard").hardlink_to(folder / "d" / "old")
        (folder / "soft").symlink_to("d")
        (runner.client.temporary / "t").write_text("not in it")
        folder.chmod(0o711)

    source = """
print(os.stat(".").st_dev != os.stat("..").st_dev, oct(os.stat(".").st_mode))
print(os.statvfs(".").f_bfree, os.statvfs(".").f_ffree, os.listdir(os.environ["TMPDIR"]))
os.rename("d/old", "d/new")
open("hard", "a").write("more")
"""
    result, left = really(runner, source, blocks=4, inodes=20, before=before)

    assert result.output.splitlines() == ["True 0o40711", "2 15 ['t']"], result.error_output
    assert (
        result.real_room == "a tmpfs of 4 blocks of 4 KiB and 20 inodes in a namespace of its own"
    )
    assert runner.client.path not in mounted_in(os.getpid())
    workspace = runner.client.workspace
    assert sorted(path.name for path in workspace.rglob("*")) == ["d", "hard", "new", "soft"]
    assert (workspace / "d" / "new").samefile(workspace / "hard")
    assert (workspace / "hard").read_bytes() == b"o" * 5000 + b"more"
    assert (workspace.stat().st_mode & 0o777, (workspace / "d").stat().st_mode & 0o777) == (
        0o711,
        0o750,
    )
    assert differences(left, runner.look()) == []


def test_it_is_recorded_as_usual(runner: Runner) -> None:
    really(runner, "")  # skips where there is none
    outcome = runner.run(*QUICK, "-c", PREAMBLE + FILL, room=Room(blocks=2, real=True))

    assert outcome.result.output == "8192\nNo space left on device\n"
    assert outcome.differences == []
    assert outcome.calls == ["openat", "write", "write"]
    assert outcome.errors() == [("write", errno.ENOSPC)]
    assert outcome.result.fired_at == 2


def test_a_deleted_mapped_file_gives_its_room_back(runner: Runner) -> None:
    source = """
import mmap
file = os.open("a", os.O_RDWR | os.O_CREAT)
os.write(file, b"x" * 8192)
mapped = mmap.mmap(file, 8192)
mapped[0] = 1
os.unlink("a")
mapped.close()
os.close(file)
print(os.write(os.open("b", os.O_WRONLY | os.O_CREAT), b"x" * 8192))
"""
    result, _ = really(runner, source, blocks=2)
    assert (result.output, result.fired_at) == ("8192\n", None), result.error_output


def test_only_a_directory_of_the_workspace(runner: Runner) -> None:
    def before() -> None:
        (runner.client.workspace / "small").mkdir()

    source = "os.chdir('small')\n" + FILL + "print(os.statvfs('..').f_blocks > 2)"
    room = Room(blocks=2, under="small", real=True)
    result = start(runner, room, source, before=before)
    assert result.output == "8192\nNo space left on device\nTrue\n"
    assert (runner.client.workspace / "small" / "a").stat().st_size == 8192


@pytest.mark.parametrize(
    ("room", "why"),
    [
        (Room(bytes=8192, real=True), "a tmpfs counts in blocks, and this is a number of bytes"),
        (Room(blocks=2, error=errno.EDQUOT, real=True), "a full tmpfs says ENOSPC, not EDQUOT"),
        (Room(blocks=0, real=True), "for a tmpfs, nothing at all means: as much as is wanted"),
    ],
)
def test_what_a_tmpfs_cannot_be_is_a_quota(runner: Runner, room: Room, why: str) -> None:
    result = start(runner, room, "print(os.statvfs('.').f_bfree)")
    expected = (f"{room.blocks if room.bytes is None else 2}\n", why, None)
    assert (result.output, result.no_real_room, result.real_room) == expected


def test_what_does_not_fit_in_at_the_beginning_is_a_quota(runner: Runner) -> None:
    def before() -> None:
        (runner.client.workspace / "old").write_bytes(b"o" * 9000)

    result = start(runner, Room(blocks=2, real=True), FILL, before=before)
    assert (result.no_real_room or "").startswith("what lies there at the beginning does not fit")
    assert result.exit_code == 1
    assert "No space left on device" in result.error_output
    assert sorted(os.listdir(runner.client.workspace)) == ["a", "old"]


def test_a_file_with_a_name_elsewhere_keeps_it(runner: Runner) -> None:
    def before() -> None:
        (runner.client.workspace / "a").write_text("one file")
        (runner.client.temporary / "a").hardlink_to(runner.client.workspace / "a")

    result = start(runner, Room(blocks=2, real=True), "print(os.stat('a').st_nlink)", before=before)
    assert result.no_real_room == "a has another name elsewhere, a hard link"
    assert result.output == "2\n"


def test_where_nothing_may_be_mounted_a_sentence_says_so(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(system, "unshare", refused)
    request = runner.request(("true",), room=Room(blocks=2, real=True))
    lifeline, other = socket.socketpair()
    with lifeline, other:
        result = mounted.supervise_mounted(
            request, Room(blocks=2, real=True), str(runner.client.path), lifeline
        )
    assert result.no_real_room == (
        "no file system may be mounted here (Operation not permitted): a container needs "
        "--cap-add SYS_ADMIN, or a kernel that lets users make namespaces"
    )


DEADLY = """
import signal
supervisor = os.getppid()
with open(f"/proc/{supervisor}/stat") as file:
    server = int(file.read().rpartition(")")[2].split()[1])
open("new", "w").write("x")
with open(os.environ["TMPDIR"] + "/told", "w") as file:
    file.write(f"{supervisor} {server} {os.getpid()}")
signal.pause()
"""


@pytest.mark.parametrize("victim", ["supervisor", "server"])
def test_whoever_is_killed_nothing_stays_mounted(
    runner: Runner, tmp_path: Path, victim: str
) -> None:
    """While the job writes into the small file system."""
    really(runner, "")  # skips where there is none
    with SlotClient(tmp_path / "base") as client:
        slot = client.path
        (client.workspace / "old").write_text("as it was")
        request = Request(
            command=(*QUICK, "-c", PREAMBLE + DEADLY),
            working_directory="/",
            environment=environment(client, keep_tmpdir=False),
            deadline_s=60,
            room=Room(blocks=10, real=True),
        )
        told = client.temporary / "told"
        os.mkfifo(told)

        def kill() -> tuple[int, int]:
            supervisor, server, job = map(int, told.read_text().split())
            os.kill({"supervisor": supervisor, "server": server}[victim], signal.SIGKILL)
            return supervisor, job

        with ThreadPoolExecutor(1) as other:
            killed = other.submit(kill)
            with pytest.raises(HarnessError, match=r"ended (without an answer|unexpectedly)"):
                client.run(request)
            for process in killed.result(60):
                wait_for_end(process)

        assert [process for process in all_processes() if slot in mounted_in(process)] == []
        assert [path.name for path in client.workspace.iterdir()] == ["old"]
        if victim == "supervisor":
            again = client.run(
                dataclasses.replace(request, command=(*QUICK, "-c", PREAMBLE + FILL))
            )
            assert again.output.startswith("20000")
            assert sorted(os.listdir(client.workspace)) == ["a", "old"]


def wait_for_end(process: int) -> None:
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    ended = poller.poll(10_000)
    os.close(handle)
    assert ended, f"{process} still lives"


def all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def mounted_in(process: int) -> set[Path]:
    """Where something is mounted, or the directory above, for a process; nothing if it ended."""
    try:
        lines = Path(f"/proc/{process}/mountinfo").read_text().splitlines()
    except OSError:
        return set()
    places = {Path(line.split()[4]) for line in lines}
    return places | {place.parent for place in places}
