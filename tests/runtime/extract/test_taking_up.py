"""What a killed worker had staged: taken up if it is whole, by its checksums; else made again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.data.digests import outline_of
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.file.header import Header
from checkpoint_runtime.extract.parts import Batch, Outline
from checkpoint_runtime.extract.staging.leftovers import Leftovers
from checkpoint_runtime.extract.staging.marks import Marks
from checkpoint_runtime.extract.staging.room import Room
from checkpoint_runtime.extract.staging.stage import Stage
from checkpoint_runtime.extract.worker import name_of
from tests.runtime.extract.fakes import DEADLINE_S, batches
from tests.runtime.extract.test_worker import Bench
from tests.runtime.support import in_time

pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")

ROOT = Path(__file__).parents[3]
IDENTITY = Identity("a" * 40, (2,), "fp32")


def written(batch: Batch) -> bytes:
    """Its file, as an extraction writes it."""
    header = Header(batch, IDENTITY, label="F32", element_size=4, hidden=64)
    data = bytes(range(256)) * (header.data_size // 256)
    return header.encoded(crc64nvme(data)) + data


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


ONE, OTHER = batches(2)
CONTENT = written(ONE)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (CONTENT[:-1], "its header tells of"),
        (CONTENT + b"\0", "its header tells of"),
        (CONTENT[:100], "it ends within its header"),
        (b"", "it ends within its header"),
        (bytes(len(CONTENT)), "its header is not ours"),
        (flipped(CONTENT, len(CONTENT) - 1), "its bytes do not fit the checksum in its header"),
        # Its model's digest: no longer the one that its name was made of.
        (flipped(CONTENT, CONTENT.index(b"aaaa")), "its header does not fit the checksum in it"),
        (written(OTHER), "it is that of another batch"),
        (written(replace(ONE, ids=("t", "u"))), "it holds other samples"),
        (written(replace(ONE, tokens=((7, 7), (0, 1)))), "its samples have other tokens now"),
        (None, "it cannot be read"),
    ],
)
def test_what_is_not_whole_is_removed_and_its_room_given_back(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    path = tmp_path / f"{ONE.key}.safetensors"
    path.symlink_to("/proc/self/mem") if content is None else path.write_bytes(content)
    stage = Stage(tmp_path, Room(tmp_path, Marks()))
    notes: list[str] = []
    assert list(Leftovers(stage, [outline_of(ONE)], notes.append)) == []
    (note,) = notes
    assert note.startswith(f"{path} is not taken up, and extracted again: ")
    assert problem in note
    assert (list(tmp_path.iterdir()), stage.room.held_bytes) == ([], 0)


def test_what_vanishes_meanwhile_is_none(tmp_path: Path) -> None:
    stage = Stage(tmp_path, Room(tmp_path, Marks()))
    (tmp_path / f"{ONE.key}.safetensors").write_bytes(CONTENT)
    notes: list[str] = []
    found = Leftovers(stage, [outline_of(ONE), outline_of(OTHER)], notes.append)
    (tmp_path / f"{ONE.key}.safetensors").unlink()
    assert list(found) == []
    assert len(notes) == 1
    assert notes[0].endswith("it cannot be read: No such file or directory")
    assert stage.room.held_bytes == 0


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        bench = Bench(tmp_path, stack)
        bench.extractor.made = written
        bench.extractor.checksum = bench.store.checksum = crc64nvme
        yield bench


def leftovers(bench: Bench, some: list[Batch], *broken: Batch) -> Leftovers:
    """These files, as an earlier start left them."""
    outlines: list[Outline] = []
    for batch in (*some, *broken):
        content = written(batch)
        path = bench.stage.folder / f"{batch.key}.safetensors"
        path.write_bytes(content[: len(content) // 2] if batch in broken else content)
        outlines.append(outline_of(batch))
    return Leftovers(bench.stage, outlines, bench.heard.note)


@pytest.mark.parametrize("uploads", [0, 2])
def test_what_is_whole_is_stored_and_marked_without_a_forward_pass(
    bench: Bench, uploads: int
) -> None:
    todo = batches(6)
    worker = bench.work(todo, uploads=uploads)
    worker.run(todo, leftovers(bench, [todo[1], todo[4]], todo[2]))
    assert bench.extractor.extracted == [0, 2, 3, 5]
    assert bench.store.objects == {f"{one.key}.safetensors": written(one) for one in todo}
    marker = bench.markers.found[todo[4].key]
    assert (marker.ids, marker.digests) == (todo[4].ids, outline_of(todo[4]).digests)
    verbs: dict[str, list[str]] = {name: [] for name in map(name_of, todo)}
    for line in bench.events:
        verb, name = line.split()
        verbs[name].append(verb)
    assert verbs == {
        name_of(one): ["done"] if one.number in (1, 4) else ["start", "done"] for one in todo
    }
    last = bench.heard.last
    assert last is not None
    assert (last.batches, last.samples, last.batches_taken_up) == (6, 12, 2)
    assert (last.batches_extracted, last.staging_bytes) == (4, 0)
    size = 2 * len(CONTENT)
    told = f"2 staged files of an earlier start taken up: {size:,} bytes that need no forward pass"
    assert told in bench.heard.notes
    assert [path.name for path in bench.stage.folder.iterdir()] == ["lock"]


def test_what_is_taken_up_counts_as_held_in_the_staging(bench: Bench) -> None:
    """Five blocks lie there, the high mark is at four: nothing is extracted until there is room."""
    paused = threading.Event()
    todo = batches(7)
    worker = bench.work(todo, uploads=1, marks=Marks(budget_bytes=5 * 4096, high=0.8, low=0.4))
    bench.store.before = lambda whole: paused.wait(DEADLINE_S)
    bench.heard.on_note = lambda text: paused.set() if "Paused: 5 files" in text else None
    worker.run(todo, leftovers(bench, todo[2:]))
    assert paused.is_set()
    assert bench.extractor.extracted == [0, 1]
    last = bench.heard.last
    assert last is not None
    assert last.staging_peak_bytes == 5 * 4096


PROGRAM = """
import sys, threading
sys.path[:0] = [{root!r}, {root!r} + "/runtime", {root!r} + "/tests/subjects"]
from pathlib import Path
import runtime_extracting as subject
from checkpoint_runtime.command.main import main
from checkpoint_runtime.extract import run as story
from checkpoint_runtime.extract.store.destination import StoreDestination

folder, shard, stuck = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "stuck"


class Extractor(subject.Extractor):
    def extract(self, batch, *, wait_s):
        print("forward", batch.number, flush=True)
        if stuck and batch.number == 5:
            threading.Event().wait()
        return super().extract(batch, wait_s=wait_s)


if stuck:
    StoreDestination.put = lambda *_: threading.Event().wait()
story.__dict__.update(required=lambda name, what: None, load_model=subject.no_model,
                      Tokenizer=subject.Letters, Extractor=Extractor)
sys.exit(main(["extract", f"--model={{folder}}", f"--dataset={{folder}}/d.txt", "--layers=0",
               "--dtype=fp32", "--batch-tokens=8", f"--destination=file://{{folder}}/objects",
               f"--staging={{folder}}/staging", f"--state={{folder}}/state", "--heartbeat=0",
               "--markers-anywhere", f"--shard={{shard}}", *sys.argv[4:]]))
"""


def worker_in(folder: Path, shard: str, manner: str, *more: str) -> subprocess.Popen[str]:
    program = PROGRAM.format(root=str(ROOT))
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder), shard, manner, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("CHECKPOI")},
    )


def killed_in(folder: Path) -> list[Path]:
    """What a worker of eight batches had staged when it was killed in the forward pass of the sixth
    one; nothing of it is stored.
    """
    (folder / "d.txt").write_text("".join(f"line {number:02}\n" for number in range(8)))
    with worker_in(folder, "0/1", "stuck") as worker, in_time(worker):
        assert worker.stdout is not None
        forward = [worker.stdout.readline() for _ in range(6)]
        assert forward == [f"forward {number}\n" for number in range(6)]
        worker.kill()
    return list((folder / "staging" / "shard-0-of-1").glob("*.safetensors"))


@pytest.mark.parametrize("shards", [1, 2])
def test_a_killed_worker_loses_its_forward_pass_alone(tmp_path: Path, shards: int) -> None:
    """At the default ``--uploads``; all that it staged is stored by whoever has those batches."""
    assert len(killed_in(tmp_path)) == 5
    forward: list[str] = []
    for shard in range(shards):
        with worker_in(tmp_path, f"{shard}/{shards}", "well") as again, in_time(again):
            out, err = again.communicate()
        assert again.returncode == 0, err
        forward += out.splitlines()
    assert sorted(forward) == ["forward 5", "forward 6", "forward 7"]
    assert len(list((tmp_path / "objects").glob("*.safetensors"))) == 8
    assert len(list((tmp_path / "state" / "markers").glob("*.done"))) == 8
    assert list((tmp_path / "staging").rglob("*.safetensors")) == []
    log = (tmp_path / "state" / "logs" / f"shard-0-of-{shards}.log").read_text()
    taken_up = 5 if shards == 1 else 3
    assert f"{taken_up} staged files of an earlier start taken up" in log
    assert f"batches, {taken_up} of them taken up from the staging) in" in log


def test_where_there_is_no_room_what_waits_for_another_shard_goes(tmp_path: Path) -> None:
    staged = killed_in(tmp_path)
    full = ("--staging-high=0.001", "--staging-low=0.001", "--staging-deadline=0")
    with worker_in(tmp_path, "0/2", "well", *full) as worker, in_time(worker):
        out, err = worker.communicate()
    assert (worker.returncode, out) == (5, "")
    assert "there is no room for the next batch" in err
    assert len(list((tmp_path / "objects").glob("*.safetensors"))) == 3
    folder = staged[0].parent
    assert f"{folder}: removed 2 staged files of a writer that is gone" in err
    assert list(folder.glob("*.safetensors")) == []
