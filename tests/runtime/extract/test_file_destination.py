"""A directory as a destination: whole, durable, nothing overwritten."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.parts import Held
from checkpoint_runtime.extract.store.failures import TakenError, TransientStoreError
from tests.runtime.disk import Disk, failing, on
from tests.runtime.extract.conftest import Opened
from tests.runtime.extract.objects import BATCH, KEY, OTHER_BATCH, file_of, staged, whole_of

CONTENT = file_of()
WHOLE = whole_of(CONTENT)

pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")


def test_what_is_put_is_there_and_nothing_else(opened: Opened, tmp_path: Path) -> None:
    destination = opened(f"file://{tmp_path}/a/store")
    destination.prepare()
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert [path.name for path in (tmp_path / "a/store").iterdir() if path.is_file()] == [KEY]
    assert (tmp_path / "a/store" / KEY).read_bytes() == CONTENT
    assert destination.look(WHOLE) is Held.WHOLE
    assert destination.look(whole_of(CONTENT, "other.safetensors")) is Held.ABSENT


def test_the_data_is_synced_before_the_name_and_the_name_before_the_return(
    opened: Opened, tmp_path: Path
) -> None:
    destination = opened(f"file://{tmp_path}/store")
    destination.prepare()
    path = staged(tmp_path, CONTENT)
    order: list[str] = []
    link, disk = os.link, Disk()

    def linked(source: Path, target: Path) -> None:
        order.extend(["link"])
        disk.order.append("link")
        link(source, target)

    with pytest.MonkeyPatch.context() as patch, on(disk):
        patch.setattr(os, "link", linked)
        destination.objects.put(path, WHOLE, instead_of=None)
    steps = [call for call in disk.order if call in ("write", "fsync", "link", "unlink")]
    assert steps == ["write", "fsync", "link", "unlink", "fsync"]


def test_a_kill_anywhere_leaves_the_whole_object_or_none(opened: Opened, tmp_path: Path) -> None:
    path = staged(tmp_path, CONTENT)
    for number in range(1, 30):
        folder = tmp_path / f"store-{number}"
        folder.mkdir()
        destination = opened(f"file://{folder}")
        with on(Disk(crash_before=number)) as disk:
            destination.objects.put(path, WHOLE, instead_of=None)
        place = folder / KEY
        assert not place.exists() or place.read_bytes() == CONTENT
        destination.abandon_uploads([KEY])
        destination.put(path, WHOLE)
        assert [found.name for found in folder.iterdir()] == [KEY]
        if disk.count < number - 1:
            break
    else:
        raise AssertionError("there are more calls than were tried")
    assert number > 4


def test_halves_of_another_shard_are_left(opened: Opened, tmp_path: Path) -> None:
    others = tmp_path / f".{OTHER_BATCH}.safetensors.7-0.half"
    for name in (others.name, f".{KEY}.7-0.half", f"{KEY}.half"):
        (tmp_path / name).touch()
    assert opened(f"file://{tmp_path}").abandon_uploads([KEY]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [others.name, f"{KEY}.half"]


@pytest.mark.parametrize("content", [CONTENT[:40], CONTENT[:-3] + b"abc"])
def test_a_damaged_one_is_put_again(content: bytes, opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    place = tmp_path / "store" / KEY
    place.write_bytes(content)
    opened(f"file://{tmp_path}/store").put(staged(tmp_path, CONTENT), WHOLE)
    assert place.read_bytes() == CONTENT


def test_one_that_came_meanwhile_is_not_overwritten(opened: Opened, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / KEY).write_bytes(CONTENT[:40])
    objects = opened(f"file://{store}").objects
    seen = objects.seen(KEY)
    assert seen is not None
    (store / KEY).unlink()
    (store / KEY).write_bytes(b"somebody was quicker")
    with pytest.raises(TakenError):
        objects.put(staged(tmp_path, CONTENT), WHOLE, instead_of=seen.tag)
    assert {path.name: path.read_bytes() for path in store.iterdir()} == {
        KEY: b"somebody was quicker"
    }


def test_what_takes_the_place_of_another_and_what_goes_is_so_for_good(
    opened: Opened, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / KEY).write_bytes(CONTENT[:40])
    objects = opened(f"file://{store}").objects
    seen, path = objects.seen(KEY), staged(tmp_path, CONTENT)
    assert seen is not None
    with on(Disk()) as disk:
        objects.put(path, WHOLE, instead_of=seen.tag)
        objects.remove(KEY)
    steps = [call for call in disk.order if call in ("write", "fsync", "replace", "unlink")]
    assert steps == ["write", "fsync", "replace", "fsync", "unlink", "fsync"]


def test_another_one_is_left(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    place = tmp_path / "store" / KEY
    place.write_bytes(b"mine")
    with pytest.raises(StoreError, match="something else under this key"):
        opened(f"file://{tmp_path}/store").put(staged(tmp_path, CONTENT), WHOLE)
    assert place.read_bytes() == b"mine"


def test_a_full_disk_is_tried_again_and_a_forbidden_one_is_not(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = staged(tmp_path, CONTENT)
    destination = opened(f"file://{tmp_path}/store", budget_s=0.1)
    destination.prepare()
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    with pytest.raises(StoreError, match=r"No space left on device\. Given up after") as raised:
        destination.put(path, WHOLE)
    assert isinstance(raised.value.__cause__, TransientStoreError)
    assert destination.faults["ENOSPC"] > 1
    monkeypatch.setattr(os, "write", failing(errno.EROFS))
    with pytest.raises(StoreError, match="Read-only file system: the destination cannot be used"):
        destination.put(path, WHOLE)
    monkeypatch.undo()
    assert destination.look(WHOLE) is Held.ABSENT


def test_a_file_system_without_links_is_told(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = opened(f"file://{tmp_path}/store")
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    with pytest.raises(StoreError, match="has no hard links"):
        destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert list((tmp_path / "store").iterdir()) == []


def test_a_file_is_no_directory(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is no directory"):
        opened(f"file://{tmp_path}/file").prepare()


def test_what_goes_while_it_is_listed_is_not_there(opened: Opened, tmp_path: Path) -> None:
    """A worker beside gives its halves their own names."""
    for name in ("a", "b", "c/d"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    listing = opened(f"file://{tmp_path}").listed()
    assert next(listing).key == "a"
    (tmp_path / "b").unlink()
    (tmp_path / "c/d").unlink()
    (tmp_path / "c").rmdir()
    assert list(listing) == []


def test_a_folder_of_somebody_else_is_no_reason_to_see_nothing(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lost+found", "_markers"):
        (tmp_path / name).mkdir()
    (tmp_path / "z").touch()
    scandir = os.scandir

    def forbidden(folder: Path) -> object:
        if Path(folder) != tmp_path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", forbidden)
    destination = opened(f"file://{tmp_path}")
    assert [found.key for found in destination.listed()] == ["z"]
    # What was asked for itself is never taken for empty.
    with pytest.raises(StoreError, match="Permission denied"):
        list(destination.listed("_markers/"))


def test_what_is_listed_is_in_the_order_of_keys(opened: Opened, tmp_path: Path) -> None:
    for name in ("a.b", "a/c", "ab", f"{BATCH}/x", "_markers/m"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"12")
    destination = opened(f"file://{tmp_path}")
    keys = [found.key for found in destination.listed()]
    assert keys == sorted(keys) == [f"{BATCH}/x", "_markers/m", "a.b", "a/c", "ab"]
    assert [found.key for found in destination.objects.listed(after="a.b")] == ["a/c", "ab"]
    assert [found.key for found in destination.listed("_markers/")] == ["_markers/m"]
