"""A copy stands in the place of what it is a copy of, which nothing may change by any way."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences
from pytest_checkpoint.tree.image import Image

_MV = "open({0}, 'w').close(); os.spawnlp(os.P_WAIT, 'mv', 'mv', {0}, new)"
"""It renames with RENAME_NOREPLACE first."""
_DEEDS = {
    "delete": "os.unlink(old)",
    "cut": "open(old, 'w')",
    "append": "open(old, 'a').write('more')",
    "write within": "f = open(old, 'r+'); f.write('x'); f.flush()",
    "map": "import mmap; f = open(old, 'r+'); mmap.mmap(f.fileno(), 0)[0:1] = b'x'",
    "replace": "open('mine', 'w').close(); os.replace('mine', old)",
    "move away": "os.rename(old, 'mine')",
    "mode": "os.chmod(old, 0o600)",
    "time": "os.utime(old, (1, 1))",
    "mode of a folder": "os.chmod(folder, 0o700)",
    "new file": "open(new, 'w')",
    "new folder": "os.mkdir(new)",
    "new link": "os.link(__file__, new)",
    "new name": "os.symlink('x', new)",
    "arrival": "open('mine', 'w').close(); os.rename('mine', new)",
    "arrival by mv": _MV.format("'mine'"),
    "arrival from outside": _MV.format("__file__ + '.mine'"),
}


@dataclasses.dataclass
class Place:
    client: SlotClient
    original: Path
    script: Path

    def run(self, source: str, *, in_place: bool, folder: str | None = None) -> Result:
        self.script.write_text(source)
        where = folder or str(self.original)
        return self.client.run(
            Request(
                command=("python3", "-SE", str(self.script), where),
                working_directory=str(self.client.workspace),
                environment=environment(self.client, keep_tmpdir=False),
                deadline_s=60,
                copy_of=str(self.original),
                in_place=in_place,
            )
        )

    def look(self) -> Image:
        return capture(self.original).image


_BEGIN = """
import os, sys
folder = sys.argv[1]
old, new = f"{folder}/d/old", f"{folder}/d/new"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    original = folder / "original"
    (original / "d").mkdir(parents=True)
    (original / "d" / "old").write_text("as it was")
    with SlotClient(folder / "slots") as client:
        (client.workspace / "d").mkdir()
        (client.workspace / "d" / "old").write_text("a copy")
        yield Place(client, original, folder / "script.py")


@pytest.mark.parametrize("deed", _DEEDS)
def test_what_was_copied_is_not_changed_by_its_own_path(place: Place, deed: str) -> None:
    before = place.look()
    result = place.run(_BEGIN + _DEEDS[deed], in_place=False)
    assert result.refusal is not None, result
    assert "because nothing there may change" in result.refusal
    assert str(place.original) in result.refusal
    assert differences(before, place.look()) == []
    assert (place.original / "d" / "old").stat().st_mtime_ns == _mtime_ns(before)


def _mtime_ns(image: Image) -> int:
    return next(node.mtime_ns for node in image.nodes.values() if hasattr(node, "content"))


def test_it_can_be_read_by_its_own_path(place: Place) -> None:
    result = place.run(_BEGIN + "print(open(old).read(), os.listdir(folder))", in_place=False)
    assert (result.refusal, result.output) == (None, "as it was ['d']\n")


def mounted(place: Place, source: str, folder: str | None = None) -> Result:
    result = place.run(_BEGIN + source, in_place=True, folder=folder)
    if result.not_in_place is not None:
        pytest.skip(result.not_in_place)
    return result


def test_under_its_path_stands_the_copy(place: Place) -> None:
    before = place.look()
    source = "print(open(old).read()); open(new, 'w').write('x'); os.rename(new, old + '2')"
    result = mounted(place, source)
    assert (result.refusal, result.exit_code, result.output) == (None, 0, "a copy\n")
    assert (place.client.workspace / "d" / "old2").read_text() == "x"
    assert result.workspace_bytes == 1
    assert differences(before, place.look()) == []
    os.unlink(place.client.workspace / "d" / "old2")


@pytest.mark.parametrize("deed", ["delete", "append", "mode", "replace"])
def test_beside_the_copy_it_is_not_changed_by_another_path(
    place: Place, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a process that stands in it, which sees no mount of ours."""
    monkeypatch.chdir(place.original)
    before = place.look()
    result = mounted(place, _DEEDS[deed], f"/proc/{os.getpid()}/cwd")
    assert result.refusal is not None, result
    assert "because nothing there may change" in result.refusal
    assert differences(before, place.look()) == []


def test_the_mount_itself_cannot_go_and_is_told(place: Place) -> None:
    result = mounted(place, "os.rename(folder, folder + '.old')")
    assert result.refusal is not None
    assert "itself, which is mounted here and cannot go" in result.refusal
    assert place.original.is_dir()


def test_what_is_refused_besides_names_the_options_of_the_one_who_asked(place: Place) -> None:
    outside = place.script.with_name("outside")
    outside.write_text("x")
    result = place.run(f"import os; os.unlink({str(outside)!r})", in_place=False)
    assert result.refusal is not None
    assert "because it is only looked at" in result.refusal
    assert "allow it with --allow-outside PATH" in result.refusal


@pytest.mark.parametrize(
    "deed",
    [
        "open(old, 'r+b').write(b'x')",
        "open(old, 'a').write('x')",
        "os.truncate(old, 100)",
        "import mmap; mmap.mmap(os.open(old, os.O_RDWR), 0)[0] = 1",
        "os.sendfile(os.open(old, os.O_RDWR), os.open(__file__, 0), 0, 1)",
    ],
)
def test_what_exists_outside_is_not_written_into(place: Place, deed: str) -> None:
    """Unlike in a recording: it is looked at on a machine where somebody needs that file."""
    outside = place.script.with_name("outside")
    outside.write_text("as it was")
    before = outside.stat().st_mtime_ns
    result = place.run(f"import os; old = {str(outside)!r}; {deed}", in_place=False)
    assert result.refusal is not None, result
    assert f"write into {outside}, which existed before" in result.refusal
    assert (outside.read_text(), outside.stat().st_mtime_ns) == ("as it was", before)


def test_its_own_files_outside_are_written_into(place: Place) -> None:
    """And a lock file may be opened as most are, by cutting it: it is empty."""
    new, lock = place.script.with_name("made"), place.script.with_name("lock")
    lock.touch()
    source = f"open({str(lock)!r}, 'w'); [open({str(new)!r}, 'a').write('x') for _ in 'ab']"
    result = place.run(source, in_place=False)
    assert (result.refusal, new.read_text()) == (None, "xx")
    assert result.created_outside == (str(new),)


def test_nothing_is_made_where_a_symbolic_link_leads_out(place: Place) -> None:
    """A directory of checkpoints on another disk: it is the job's as much as the rest."""
    far = place.script.with_name("far")
    far.mkdir()
    link, dangling = place.original / "far", place.original / "dangling"
    link.symlink_to("../far")
    dangling.symlink_to(far.with_name("later"))
    try:
        for deed in ("open('far/new', 'w')", "os.mkdir('far/d')", "open('dangling', 'w')"):
            result = place.run(
                f"import os; os.chdir({str(place.original)!r}); {deed}", in_place=False
            )
            assert result.refusal is not None, result
            assert "where a symbolic link leads out of the directory" in result.refusal, deed
        assert os.listdir(far) == []
    finally:
        link.unlink()
        dangling.unlink()
