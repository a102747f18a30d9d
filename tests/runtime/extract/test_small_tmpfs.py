"""A real tmpfs of 8 MB for a staging, in a mount namespace of a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
NO_MOUNT = 77
PROGRAM = """
import errno, json, os, sys, threading
from contextlib import ExitStack
from pathlib import Path

sys.path[:0] = [{root!r}, {root!r} + "/runtime"]
from pytest_checkpoint.record.room import system
from tests.runtime.extract.fakes import batches
from tests.runtime.extract.test_worker import Bench
from checkpoint_runtime.extract.errors import StagingError
from checkpoint_runtime.extract.staging.marks import Marks

folder = Path(sys.argv[1])
staging = folder / "staging"
staging.mkdir()
user, group = os.geteuid(), os.getegid()
try:
    try:
        system.unshare(system.NEW_MOUNTS)
    except PermissionError:
        system.unshare(system.NEW_USER | system.NEW_MOUNTS)
        system.keep_ids(user, group)
    system.make_mounts_private()
    system.mount_tmpfs(os.fsencode(staging), "size=8m,mode=0700,huge=never")
except OSError as error:
    print(f"no file system may be mounted here: {{error.strerror}}")
    sys.exit({no_mount})


def used():
    room = os.statvfs(staging)
    return (room.f_blocks - room.f_bfree) * room.f_frsize


peak, found = 0, {{}}
with ExitStack() as stack:
    bench = Bench(folder, stack)
    bench.extractor.size = 300_000
    def look(_):
        global peak
        peak = max(peak, used())
    bench.extractor.before = look
{scene}
    last = bench.heard.last
    found |= {{"peak": peak, "stored": len(bench.store.objects), "notes": bench.heard.notes,
              "pauses": last.pauses, "left": used(), "paused_s": last.paused_s}}
print(json.dumps(found))
"""
SLOW_STORE = """
    paused, slow = threading.Event(), threading.Event()
    bench.heard.on_note = lambda text: paused.set() if "Paused" in text else None
    bench.store.before = lambda whole: (paused.wait(20), look(whole), slow.wait(0.004))
    bench.do(batches(120), uploads=2)
"""
"""It takes nothing before it is waited for, and little then: nobody sets the other event."""
TENANT = """
    other = staging / "other"
    filler = open(other, "wb", buffering=0)
    {fill}
    bench.heard.on_note = lambda text: os.truncate(other, 0) if "Paused" in text else None
    bench.do(batches(30), uploads=1, marks=Marks(high=1.0, low=0.9))
"""
NO_ROOM = """
    with open(staging / "other", "wb") as filler:
        filler.write(bytes(8_200_000))
    try:
        bench.do(batches(30), uploads=1, marks=Marks(deadline_s=0.2))
    except StagingError as error:
        found["error"] = str(error)
"""


def run(tmp_path: Path, scene: str) -> dict[str, Any]:
    program = PROGRAM.format(root=str(ROOT), no_mount=NO_MOUNT, scene=scene)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode == NO_MOUNT:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_slow_store_fills_it_to_the_high_mark_and_no_further(tmp_path: Path) -> None:
    found = run(tmp_path, SLOW_STORE)
    assert found["stored"] == 120
    assert 0.6 * (8 << 20) < found["peak"] <= 0.8 * (8 << 20)
    assert found["pauses"] >= 1
    assert not [note for note in found["notes"] if "seemed to be room" in note]  # no ENOSPC
    assert found["left"] <= 8192  # the lock


@pytest.mark.parametrize("room", [0, 4096, 150_000, 400_000])
def test_another_tenant_is_waited_for_at_any_byte(tmp_path: Path, room: int) -> None:
    fill = f"os.posix_fallocate(filler.fileno(), 0, os.statvfs(staging).f_bavail * 4096 - {room})"
    found = run(tmp_path, TENANT.format(fill=fill))
    assert found["stored"] == 30
    assert found["pauses"] >= 1


def test_what_nobody_frees_is_an_error_at_the_deadline(tmp_path: Path) -> None:
    found = run(tmp_path, NO_ROOM)
    assert "there is no room for the next batch: 303,104 bytes are needed" in found["error"]
    assert found["stored"] == 0
