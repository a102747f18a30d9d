"""Markers: durable, whole or told to be damaged, one worker each, and not beside the staging."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.errors import WorkspaceInUseError
from checkpoint_runtime.extract.errors import (
    ExtractInputError,
    MarkerError,
    MarkerNotWrittenError,
    StoreError,
)
from checkpoint_runtime.extract.markers.bucket import BucketMarkers
from checkpoint_runtime.extract.markers.local import LocalMarkers
from checkpoint_runtime.extract.markers.opening import open_markers
from checkpoint_runtime.extract.parts import Marker, Whole
from checkpoint_runtime.extract.store.objects import Listed
from tests.runtime.disk import Disk, failing, on
from tests.runtime.extract.conftest import BUCKET, Opened
from tests.runtime.extract.faulty_store import FaultyStore

KEYS = [f"{number:032x}" for number in range(9)]
URL = "s3://bucket/prefix"


def marker(number: int) -> Marker:
    return Marker(
        Whole(f"{KEYS[number]}.safetensors", 1000 + number, 2**63 + number), ("é", "b"),
        (f"{number:016x}", "f" * 16),
    )  # fmt: skip


def local(folder: Path, shard: str = "1-of-1", url: str = URL) -> LocalMarkers:
    return LocalMarkers(folder, url, shard=shard, note=lambda text: None)


def marker_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if "half" in path.name) + sorted(
        path.name for path in folder.glob("*.done")
    )


def test_what_is_added_is_there_for_the_next_one(tmp_path: Path) -> None:
    folder = tmp_path / "a/markers"
    with local(folder) as markers:
        assert markers.load() == {}
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda number: markers.add(marker(number)), range(9)))
        markers.remove(KEYS[3])
        markers.remove(KEYS[3])
    with local(folder, "2-of-3") as markers:
        found = markers.load()
    assert found == {KEYS[number]: marker(number) for number in range(9) if number != 3}
    assert all(key == one.key for key, one in found.items())


def test_one_is_synced_before_it_has_its_name_and_the_name_before_the_return(
    tmp_path: Path,
) -> None:
    with local(tmp_path) as markers, on(Disk()) as disk:
        markers.add(marker(0))
    steps = [call for call in disk.order if call in ("write", "fsync", "replace")]
    assert steps[:4] == ["write", "fsync", "replace", "fsync"]


def test_a_kill_anywhere_leaves_a_whole_marker_or_none_and_no_half_for_long(
    tmp_path: Path,
) -> None:
    for number in range(1, 40):
        folder = tmp_path / str(number)
        with local(folder):
            """The directory is there."""
        with on(Disk(crash_before=number)) as disk, local(folder) as markers:
            markers.add(marker(0))
        with local(folder) as markers:
            assert list(markers.load().values()) in ([], [marker(0)])
            assert not [name for name in marker_files(folder) if "half" in name]
        if disk.count < number - 1:
            break
    else:
        raise AssertionError("there are more calls than were tried")
    assert number > 6


def test_one_is_gone_for_good_before_its_object_may_go(tmp_path: Path) -> None:
    with local(tmp_path) as markers:
        markers.add(marker(0))
        with on(Disk()) as disk:
            markers.remove(KEYS[0])
    assert [call for call in disk.order if call in ("unlink", "fsync")] == ["unlink", "fsync"]


def test_one_that_reconcile_takes_while_they_are_read_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local(tmp_path) as markers:
        markers.add(marker(0))
        names = [*os.listdir(tmp_path), f"{KEYS[1]}.done"]
        monkeypatch.setattr(os, "listdir", lambda folder: names)
        assert list(markers.load()) == [KEYS[0]]


def changed(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps(json.loads(content) | fields).encode()


def sealed(**fields: Any) -> Callable[[bytes], bytes]:
    """As whoever writes such a marker would: with a checksum that fits."""

    def other(content: bytes) -> bytes:
        told = json.loads(content) | fields
        del told["sha256"]
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        return json.dumps(told | {"sha256": digest}).encode()

    return other


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"", "it is no record"),
        (lambda content: content[:-20], "it is no record"),
        (lambda content: b"\0" * len(content), "it is no record"),
        (lambda content: b"[]", "it is no record"),
        (changed(size=5), "its checksum does not fit"),
        (changed(ids=["a"]), "its checksum does not fit"),
        (sealed(digests=["a"]), "a digest for some of its samples only"),
        (sealed(format=2), "written by a newer version"),
    ],
)
def test_a_damaged_one_is_told_and_never_a_gap(
    damage: Callable[[bytes], bytes], words: str, tmp_path: Path
) -> None:
    with local(tmp_path) as markers:
        markers.add(marker(0))
        markers.add(marker(1))
        path = tmp_path / f"{KEYS[1]}.done"
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(MarkerError, match=words) as raised:
            markers.load()
    assert str(path) in str(raised.value)


def test_one_under_the_name_of_another(tmp_path: Path) -> None:
    with local(tmp_path) as markers:
        markers.add(marker(0))
        (tmp_path / f"{KEYS[0]}.done").rename(tmp_path / f"{KEYS[1]}.done")
        with pytest.raises(MarkerError, match="it is that of"):
            markers.load()


def test_what_is_no_marker_is_left_alone(tmp_path: Path) -> None:
    names = ["notes.txt", "x.done", f"{KEYS[0]}.done~", f".{KEYS[0]}.done.half"]
    for name in names:
        (tmp_path / name).write_text("mine")
    with local(tmp_path) as markers:
        assert markers.load() == {}
    assert all((tmp_path / name).read_text() == "mine" for name in names)


def test_those_of_another_destination_are_refused(tmp_path: Path) -> None:
    with local(tmp_path) as markers:
        markers.add(marker(0))
    with pytest.raises(MarkerError, match="speak of s3://bucket/prefix, not of s3://bucket/other"):
        local(tmp_path, url="s3://bucket/other").__enter__()


SECOND = """
import sys
from pathlib import Path
from checkpoint_runtime.errors import WorkspaceInUseError
from checkpoint_runtime.extract.markers.local import LocalMarkers
for shard in sys.argv[2:]:
    try:
        with LocalMarkers(Path(sys.argv[1]), "s3://bucket/prefix", shard=shard, note=print):
            print("in")
    except WorkspaceInUseError as error:
        print(error)
"""


def test_a_shard_that_is_started_twice_is_refused_with_who_holds_it(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with local(tmp_path, "1-of-2"):
        second = subprocess.run(
            [sys.executable, "-c", SECOND, str(tmp_path), "1-of-2", "2-of-2"],
            env=environment, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        with pytest.raises(WorkspaceInUseError):
            local(tmp_path, "1-of-2").__enter__()
    refused, let_in = second.stdout.splitlines()
    assert f"in use by process {os.getpid()}" in refused
    assert let_in == "in"


def test_a_full_disk_is_told_and_what_is_marked_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local(tmp_path) as markers:
        markers.add(marker(0))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", failing(errno.ENOSPC))
            with pytest.raises(MarkerNotWrittenError, match="No space left on device"):
                markers.add(marker(1))
        assert list(markers.load()) == [KEYS[0]]
    assert marker_files(tmp_path) == [f"{KEYS[0]}.done"]


def test_a_place_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MarkerError, match="the markers cannot be kept there"):
        local(tmp_path / "file").__enter__()


def test_not_on_the_file_system_of_the_staging(opened: Opened, tmp_path: Path) -> None:
    destination = opened(f"file://{tmp_path}/store")
    given: dict[str, Any] = {"shard": "1-of-1", "note": print, "staging": tmp_path / "a/staging"}
    with pytest.raises(ExtractInputError, match="same file system as the staging"):
        open_markers(str(tmp_path / "b/markers"), destination, **given)
    with open_markers(str(tmp_path / "b/markers"), destination, anywhere=True, **given) as markers:
        assert markers.load() == {}
    apart = Path("/dev/shm")
    if os.stat(apart).st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("/dev/shm and the temporary directory are on one file system here")
    given["staging"] = apart / "no-such-directory"
    with open_markers(str(tmp_path / "b/markers"), destination, **given) as markers:
        assert markers.load() == {}


class TestInTheBucket:
    def markers(self, opened: Opened, url: str, store: FaultyStore, **given: Any) -> BucketMarkers:
        found = open_markers("bucket", opened(url, store.url, **given), shard="1-of-1", note=print)
        assert isinstance(found, BucketMarkers)
        return found

    def test_what_is_added_is_there_for_another_host(
        self, opened: Opened, faulty: FaultyStore, s3_url: str, s3_client: Any
    ) -> None:
        with self.markers(opened, s3_url, faulty) as markers:
            assert markers.load() == {}
            for number in range(9):
                markers.add(marker(number))
            markers.remove(KEYS[3])
        prefix = s3_url.removeprefix(f"s3://{BUCKET}/")
        s3_client.put_object(Bucket=BUCKET, Key=f"{prefix}/_markers/note.txt", Body=b"mine")
        found = self.markers(opened, s3_url, faulty).load()
        assert found == {KEYS[number]: marker(number) for number in range(9) if number != 3}

    @pytest.mark.parametrize("kind", ["silent", "altered", "lost reply", "answer", "reset"])
    def test_what_add_returns_from_is_held(
        self, kind: str, opened: Opened, faulty: FaultyStore, s3_url: str
    ) -> None:
        markers = self.markers(opened, s3_url, faulty)
        fault = faulty.fault(kind, within="_markers", body=lambda body: body[:-4])
        markers.add(marker(0))
        assert fault.times == 0
        assert markers.load() == {KEYS[0]: marker(0)}

    def test_one_that_is_never_held_is_told(
        self, opened: Opened, faulty: FaultyStore, s3_url: str
    ) -> None:
        markers = self.markers(opened, s3_url, faulty, budget_s=0.1)
        faulty.fault("silent", within="_markers", times=10_000)
        with pytest.raises(StoreError, match="acknowledged the marker"):
            markers.add(marker(0))

    def test_one_that_is_damaged_on_its_way_is_read_again_and_one_that_went_is_none(
        self, opened: Opened, faulty: FaultyStore, s3_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        destination = opened(s3_url, faulty.url)
        markers = BucketMarkers(destination)
        markers.add(marker(0))
        listed, chunks = destination.listed, destination.objects.chunks
        ways = [lambda content: content[:-9], lambda content: content]
        gone = Listed(f"_markers/{KEYS[1]}.done", 9, "t")
        monkeypatch.setattr(destination, "listed", lambda folder: [*listed(folder), gone])

        def damaged(key: str) -> Iterator[bytes]:
            content = b"".join(chunks(key))
            yield ways.pop(0)(content) if content else content

        monkeypatch.setattr(destination.objects, "chunks", damaged)
        assert markers.load() == {KEYS[0]: marker(0)}
        assert ways == []

    def test_a_damaged_one_is_told(
        self, opened: Opened, faulty: FaultyStore, s3_url: str, s3_client: Any
    ) -> None:
        key = f"{s3_url.removeprefix(f's3://{BUCKET}/')}/_markers/{KEYS[0]}.done"
        s3_client.put_object(Bucket=BUCKET, Key=key, Body=b"")
        with pytest.raises(MarkerError, match=f"_markers/{KEYS[0]}.done: the marker is damaged"):
            self.markers(opened, s3_url, faulty).load()
