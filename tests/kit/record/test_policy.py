"""What a job under test may not do, and what happens to it and to the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_checkpoint.record.policy import Policy, Refused

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

_CONNECT = """
import socket
kind, host = {kind}, {host!r}
s = socket.socket(getattr(socket, kind), socket.SOCK_STREAM)
s.settimeout(5)
try:
    s.connect((host, 9))
except OSError as error:
    print(errno.errorcode.get(error.errno, error))
"""


def connect(kind: str, host: str) -> str:
    return _CONNECT.format(kind=repr(kind), host=host)


def test_connections_that_leave_the_machine_are_refused(runner: Runner) -> None:
    """TEST-NET and documentation addresses; refused in the call itself, nothing is sent."""
    for kind, host in (
        ("AF_INET", "198.51.100.1"),
        ("AF_INET6", "2001:db8::1"),
        ("AF_INET6", "::ffff:198.51.100.1"),
    ):
        outcome = runner.python(connect(kind, host) + "put('after')")
        assert outcome.result.refusal is not None
        assert host in outcome.result.refusal
        assert "--checkpoint-allow-network" in outcome.result.refusal
        assert os.listdir(runner.client.workspace) == []
        assert outcome.result.exit_code is None


def test_connections_within_the_machine_are_not(runner: Runner) -> None:
    outcome = runner.ok(
        """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"x")
assert client.recv(1) == b"x"
local = socket.socket(socket.AF_UNIX); local.bind("sock"); local.listen()
socket.socket(socket.AF_UNIX).connect("sock")
raises(errno.ENOENT, socket.socket(socket.AF_UNIX).connect, "none")
for host in ("::1", "::ffff:127.0.0.1"):
    try:
        socket.socket(socket.AF_INET6).connect((host, server.getsockname()[1]))
    except OSError as error:
        print(error)
"""
    )
    assert outcome.result.refusal is None


def test_the_network_can_be_allowed() -> None:
    Policy(allow_network=True).connect("198.51.100.1", 80)
    with pytest.raises(Refused, match=r"connect to 198\.51\.100\.1:80"):
        Policy().connect("198.51.100.1", 80)
    with pytest.raises(Refused, match=r"connect to \[2001:db8::1\]:80"):
        Policy().connect("2001:db8::1", 80)


@pytest.mark.parametrize(
    ("deed", "word"),
    [
        ("put(VICTIM)", "truncate"),
        ("os.truncate(VICTIM, 1)", "truncate"),
        ("os.ftruncate(os.open(VICTIM, os.O_RDWR), 1)", "truncate"),
        ("os.symlink(VICTIM, 'link'); put('link')", "truncate"),
        ("fd = os.open(VICTIM, os.O_RDONLY); open(f'/proc/self/fd/{fd}', 'w')", "truncate"),
        ("os.unlink(VICTIM)", "remove"),
        ("put(OUT + '/new'); os.rename(OUT + '/new', VICTIM)", "rename over"),
        ("put('new'); os.rename('new', VICTIM)", "rename over"),
        ("os.rename(VICTIM, OUT + '/away')", "rename away"),
        ("os.rename(VICTIM, 'away')", "rename away"),
        ("import shutil; os.rmdir(OUT + '/empty')", "remove"),
        ("os.chdir(OUT); os.remove('victim')", "remove"),
    ],
)
def test_files_that_were_there_before_are_not_harmed(
    runner: Runner, deed: str, word: str, tmp_path: Path
) -> None:
    outside = tmp_path
    victim = outside / "victim"
    victim.write_bytes(b"precious")
    (outside / "empty").mkdir()
    source = f"OUT = {str(outside)!r}; VICTIM = OUT + '/victim'\n{deed}\nput('after')"
    outcome = runner.python(source)
    assert outcome.result.refusal is not None
    assert outcome.result.refusal.startswith(f"the job tried to {word} {outside}")
    assert "--checkpoint-allow-outside" in outcome.result.refusal
    assert victim.read_bytes() == b"precious"
    assert (outside / "empty").exists()
    assert not (runner.client.workspace / "after").exists()
    assert outcome.differences == []


def test_what_harms_nobody_is_let_through(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    outcome = runner.ok(
        f"""
OUT = {str(tmp_path)!r}
put("/dev/null")
with open(OUT + "/victim", "ab") as file:
    file.write(b"!")
put(OUT + "/empty", b"")  # a lock file, opened with "w": nothing to lose
os.ftruncate(os.open(OUT + "/victim", os.O_RDWR), 100)
raises(errno.ENOTEMPTY, os.rmdir, OUT + "/full")
raises(errno.ENOENT, os.unlink, OUT + "/none")
raises(errno.EEXIST, os.link, OUT + "/empty", OUT + "/victim")
open("/proc/self/comm", "w").write("name")
"""
    )
    assert outcome.result.created_outside == ()


def test_what_the_run_made_itself_it_may_change(runner: Runner, tmp_path: Path) -> None:
    outcome = runner.ok(
        f"""
OUT = {str(tmp_path)!r}
os.makedirs(OUT + "/d/e"); put(OUT + "/d/e/f"); put(OUT + "/d/e/f"); os.truncate(OUT + "/d/e/f", 1)
os.rename(OUT + "/d", OUT + "/moved")
put(OUT + "/moved/e/g"); os.unlink(OUT + "/moved/e/g"); os.unlink(OUT + "/moved/e/f")
os.rename(OUT + "/moved", "inside"); put("inside/e/h"); os.rename("inside", OUT + "/again")
import shutil
shutil.rmtree(OUT + "/again")
put(OUT + "/left"); os.makedirs(OUT + "/__pycache__"); put(OUT + "/__pycache__/x.pyc")
import socket
s = socket.socket(socket.AF_UNIX); s.bind(OUT + "/s"); os.unlink(OUT + "/s")
os.symlink("x", OUT + "/link"); os.unlink(OUT + "/link")
os.mkfifo(OUT + "/fifo"); os.unlink(OUT + "/fifo")
import multiprocessing.shared_memory as memory
shared = memory.SharedMemory(create=True, size=10); shared.close(); shared.unlink()
"""
    )
    assert outcome.result.created_outside == (str(tmp_path / "left"),)


def test_paths_can_be_allowed(runner: Runner, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    outcome = runner.python(
        f"put({str(victim)!r}, b'x'); os.unlink({str(victim)!r})", allow_outside=(str(tmp_path),)
    )
    assert (outcome.result.exit_code, outcome.result.refusal) == (0, None)
    assert not victim.exists()


def test_what_reaches_out_of_the_recorded_tree_is_told(runner: Runner) -> None:
    inside = runner.python("put('f', b'x')")
    assert not inside.result.reaches_out
    elsewhere = runner.outside / "kept"
    elsewhere.write_text("before\n")
    added = runner.python(f"open({str(elsewhere)!r}, 'a').write('more')")
    assert added.result.exit_code == 0
    assert added.result.reaches_out
    assert runner.python(connect("AF_INET", "127.0.0.1")).result.reaches_out


BOTH = (
    "import mmap; here = os.open('f', os.O_RDWR | os.O_CREAT); os.write(here, b'xx'); "
    "os.lseek(here, 0, 0); there = os.open({!r}, os.O_RDWR)"
)
INTO = {
    "mmap": "mmap.mmap(there, 7).write(b'another')",
    "sendfile": "os.sendfile(there, here, 0, 2)",
    "copy_file_range": "os.copy_file_range(here, there, 2)",
    "splice": "ends = os.pipe(); os.write(ends[1], b'x'); os.splice(ends[0], there, 1)",
    "ftruncate": "os.ftruncate(there, 100)",
    "fallocate": "os.posix_fallocate(there, 0, 100)",
}


@pytest.mark.parametrize("call", INTO)
def test_whatever_call_writes_elsewhere(runner: Runner, call: str) -> None:
    elsewhere = runner.outside / "kept"
    elsewhere.write_text("before\n")
    outcome = runner.python(f"{BOTH.format(str(elsewhere))}; {INTO[call]}")
    assert (outcome.result.exit_code, outcome.result.error_output) == (0, "")
    assert elsewhere.read_text() != "before\n"
    assert outcome.result.reaches_out


def test_what_nobody_can_find_again_is_not_elsewhere(runner: Runner) -> None:
    code = "import mmap; there = os.memfd_create('page'); os.ftruncate(there, 7); "
    outcome = runner.python(code + "mmap.mmap(there, 7).write(b'another')")
    assert (outcome.result.exit_code, outcome.result.reaches_out) == (0, False)
