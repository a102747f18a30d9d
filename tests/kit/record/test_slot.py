"""Slots: one at a time, always the same path, and nothing left at the end, however it comes."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import slot as slot_module
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.request import Request

_DEADLINE_S = 30.0


def request(client: SlotClient, script: str) -> Request:
    return Request(
        command=("/bin/sh", "-ec", f'cd "$CHECKPOINT_WORKSPACE"\n{script}'),
        working_directory="/",
        environment=environment(client, keep_tmpdir=False),
        deadline_s=60,
        recording=str(client.scratch / "recording"),
    )


def test_two_clients_of_one_base(tmp_path: Path) -> None:
    base = tmp_path / "root" / "b"
    with SlotClient(base) as first:
        assert (first.number, first.path) == (0, base / "0")
        assert stat.S_IMODE(first.workspace.stat().st_mode) == 0o700
        with SlotClient(base) as second:
            assert second.number == 1
            first.run(request(first, "echo > x"))
            assert os.listdir(second.workspace) == []
        assert not (base / "1").exists()
    assert os.listdir(tmp_path) == []


def test_one_slot_is_given_back_for_another(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    with SlotClient(root / "b", receives=True) as client:
        client.run(request(client, "sleep 60 & echo > x"))
        before = client.port
        client.move(elsewhere / "c")
        assert (client.path, os.listdir(tmp_path)) == (elsewhere / "c" / "0", ["elsewhere"])
        assert os.listdir(client.workspace) == []
        assert client.run(request(client, "echo > x")).exit_code == 0
        with socket.create_connection(("127.0.0.1", client.port), timeout=_DEADLINE_S):
            pass
        if client.port != before:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", before), timeout=_DEADLINE_S)
        (tmp_path / "file").write_text("")
        with pytest.raises(HarnessError):
            client.move(tmp_path / "file" / "b")
    assert os.listdir(tmp_path) == ["file"]


def test_a_numbered_slot_is_waited_for(tmp_path: Path) -> None:
    entered = threading.Event()

    def wait() -> None:
        with SlotClient(tmp_path / "root" / "b", 0) as waiting:
            assert waiting.number == 0
            entered.set()

    with SlotClient(tmp_path / "root" / "b", 0) as holder:
        thread = threading.Thread(target=wait)
        thread.start()
        holder.run(request(holder, "echo > x"))
        assert not entered.is_set()
        assert (holder.workspace / "x").exists()
    thread.join(_DEADLINE_S)
    assert entered.is_set()


def test_a_slot_that_stays_in_use_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_module, "_WAIT_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        held = slot_module.acquire(tmp_path / "root" / "b", 3, ours)
        with pytest.raises(HarnessError, match=r"slot 3 under .* is in use by another pytest"):
            slot_module.acquire(tmp_path / "root" / "b", 3, ours)
        held.release()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_server_left_is_removed_first(tmp_path: Path) -> None:
    stale = tmp_path / "root" / "b" / "0" / "w" / "old"
    stale.mkdir(parents=True)
    (tmp_path / "root" / "b" / "0.lock").touch()
    with SlotClient(tmp_path / "root" / "b") as client:
        assert client.number == 0
        assert os.listdir(client.workspace) == []


def test_unreadable_deep_and_odd_trees_are_removed(tmp_path: Path) -> None:
    with SlotClient(tmp_path / "root" / "b") as client:
        client.run(
            request(
                client,
                """
                mkdir -p closed/inner/most; echo > closed/inner/most/file; mkfifo closed/pipe
                ln -s /etc closed/link; ln -s nowhere dangling
                chmod 0 closed/inner/most closed/inner closed
                name=$(printf 'n%.0s' $(seq 200))
                for i in $(seq 60); do mkdir $name; cd $name; done
                chmod 500 .
                """,
            )
        )
    assert os.listdir(tmp_path) == []
    assert Path("/etc/passwd").exists()


_CLIENT = """
import sys
from pathlib import Path
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.request import Request
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.restore import restore
base, what = Path(sys.argv[1]), sys.argv[2]
print("client", flush=True)
with SlotClient(base) as client:
    script = "cd $CHECKPOINT_WORKSPACE; mkdir closed; (setsid sleep 300 &); chmod 0 closed; "
    if what == "run":
        script += 'echo running >> $FIFO; sleep 300'
    request = Request(
        command=("/bin/sh", "-c", script),
        working_directory="/",
        environment=environment(client, keep_tmpdir=False) | {"FIFO": sys.argv[3]},
        deadline_s=2 if what == "restore" else 600,
        recording=str(client.scratch / "r"),
    )
    if what == "run":
        client.run(request)
    for i in range(3000):
        (client.workspace / f"f{i}").write_bytes(b"x" * 100)
    image = capture(client.path, exclude=BESIDE).image
    print("restoring", flush=True)
    while True:
        restore(image, client.path, exclude=BESIDE)
"""


def _members(marker: str) -> list[int]:
    """Living processes whose environment names this test's folder."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            about = Path(f"/proc/{name}/environ").read_bytes()
            about += Path(f"/proc/{name}/cmdline").read_bytes()
            state = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in about and state != "Z":
            found.append(int(name))
    return found


def _wait_for_the_end(base: Path, marker: str) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    pause = select.poll()
    while base.exists() or _members(marker):
        assert time.monotonic() < deadline, (list(base.rglob("*")), _members(marker))
        pause.poll(20)


@pytest.mark.parametrize("what", ["start", "run", "restore"])
def test_a_killed_client_leaves_nothing(tmp_path: Path, what: str) -> None:
    base = tmp_path / "root" / "base"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR)
    root = str(Path(slot_module.__file__).parents[2])
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, str(base), what, str(fifo)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": root, "MARKER": str(tmp_path)},
    )
    assert client.stdout is not None
    with client.stdout as lines:
        assert lines.readline() == b"client\n"
        if what == "run":
            assert os.read(held, 8) == b"running\n"
        elif what == "restore":
            assert lines.readline() == b"restoring\n"
        client.send_signal(signal.SIGKILL)
    client.wait()
    os.close(held)
    _wait_for_the_end(base, str(tmp_path))


def test_a_server_that_dies_is_told(tmp_path: Path) -> None:
    with SlotClient(tmp_path / "root" / "b") as client:
        client._server.kill()
        with pytest.raises(HarnessError, match="the recording server ended unexpectedly"):
            client.run(request(client, "echo > x"))


def test_where_no_slot_can_be_made_there_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(HarnessError, match=r"file/base cannot be made: Not a directory$"),
        SlotClient(tmp_path / "file" / "base"),
    ):
        pass


def test_half_a_slot_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(slot: slot_module.Slot) -> None:
        slot.path.mkdir()
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(slot_module, "_make_fresh", fail)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(OSError, match="no room"):
        slot_module.acquire(tmp_path / "above" / "base", None, theirs)
    assert os.listdir(tmp_path) == []
