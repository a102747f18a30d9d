"""The store against the markers: told as it is, and mended so that extract goes on."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.command.exit_codes import ExitCode
from checkpoint_runtime.command.main import main
from checkpoint_runtime.extract.markers.local import LocalMarkers
from checkpoint_runtime.extract.parts import Held
from checkpoint_runtime.extract.reconcile import applying
from checkpoint_runtime.extract.reconcile.applying import applied, looked
from checkpoint_runtime.extract.reconcile.findings import Kind
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.failures import TakenError
from checkpoint_runtime.extract.store.file_objects import FileObjects
from tests.runtime.extract.conftest import BUCKET, Opened
from tests.runtime.extract.faulty_store import FaultyStore
from tests.runtime.extract.objects import file_of, marker_of, staged, whole_of

BATCHES = {
    name: f"{number:032x}"
    for number, name in enumerate(
        ["confirmed", "lost", "cut", "flipped", "replaced", "orphan", "broken", "foreign"]
    )
}
CONTENTS = {name: file_of(batch) for name, batch in BATCHES.items()}
ANOTHER = file_of(BATCHES["replaced"], data=b"\x05" * 600)


def key_of(name: str) -> str:
    return f"{BATCHES[name]}.safetensors"


def disorder(folder: Path) -> dict[str, bytes]:
    """One object or marker of each kind; the objects by key."""
    flipped = bytearray(CONTENTS["flipped"])
    flipped[-5] ^= 1
    with LocalMarkers(folder, _url(folder), shard="3-of-4", note=print) as markers:
        for name in ("confirmed", "lost", "cut", "flipped", "replaced"):
            markers.add(marker_of(CONTENTS[name], key_of(name)))
    return {
        key_of("confirmed"): CONTENTS["confirmed"],
        key_of("cut"): CONTENTS["cut"][:-100],
        key_of("flipped"): bytes(flipped),
        key_of("replaced"): ANOTHER,
        key_of("orphan"): CONTENTS["orphan"],
        key_of("broken"): CONTENTS["broken"][:-1],
        key_of("foreign"): b"a file of somebody with such a name",
        "README.txt": b"mine",
        f"old/{key_of('lost')}": CONTENTS["lost"],
        f".{key_of('lost')}.7-0.half": b"a worker writes it, or was killed",
        "_probe/0123": b"left by a kill",
        "_markers/elsewhere.done": b"?",
    }


def _url(folder: Path) -> str:
    return f"file://{folder.parent}/store"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A directory in disorder; its markers are beside it."""
    pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")
    for key, content in disorder(tmp_path / "markers").items():
        path = tmp_path / "store" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "store"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def told(store: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    code = main(
        ["reconcile", "--destination", f"file://{store}", "--markers",
         str(store.parent / "markers"), "--json", *options]
    )  # fmt: skip
    return code, json.loads(capsys.readouterr().out)


def test_a_dry_run_tells_all_and_changes_nothing(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(store.parent)
    code, report = told(store, capsys, "--dry-run")
    assert code == 9
    assert report["counts"] == {
        "confirmed": 2, "lost": 1, "truncated": 1, "replaced": 1, "orphan": 1, "broken": 1,
        "foreign": 3,
    }  # fmt: skip
    assert {found["key"]: found["kind"] for found in report["to_do"]} == {
        key_of("lost"): "lost",
        key_of("cut"): "truncated",
        key_of("replaced"): "replaced",
        key_of("orphan"): "orphan",
        key_of("broken"): "broken",
    }
    foreign = [found["key"] for found in report["foreign"]]
    assert foreign == [key_of("foreign"), "README.txt", f"old/{key_of('lost')}"]
    assert files(store.parent) == before


def test_a_header_in_which_a_bit_was_flipped_is_never_adopted(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its samples would be taken for others."""
    whole = CONTENTS["orphan"]
    (store / key_of("orphan")).write_bytes(whole.replace(b'\\"a\\"', b'\\"c\\"'))
    counts = told(store, capsys, "--apply")[1]["counts"]
    assert (counts["orphan"], counts["broken"]) == (0, 2)
    assert not (store / key_of("orphan")).exists()


def test_a_whole_one_of_other_samples_than_its_marker_is_never_marked_as_it_is(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = file_of(BATCHES["replaced"], ids=("a", "another"))
    (store / key_of("replaced")).write_bytes(others)
    counts = told(store, capsys, "--dry-run")[1]["counts"]
    assert (counts["replaced"], counts["truncated"]) == (0, 2)


def test_a_deep_one_reads_what_is_marked(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = told(store, capsys, "--dry-run", "--deep")[1]
    assert report["counts"]["confirmed"] == 1
    assert report["counts"]["truncated"] == 2
    (flipped,) = [found for found in report["to_do"] if found["key"] == key_of("flipped")]
    assert flipped["problem"] == "its bytes do not fit the checksum in its header"


def test_what_is_applied_is_what_was_told_and_then_there_is_nothing_to_do(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(store)
    code, report = told(store, capsys, "--apply", "--deep")
    assert code == ExitCode.DONE
    assert report["applied"]
    after = files(store)
    gone = {key_of("cut"), key_of("flipped"), key_of("broken")}
    assert after == {key: content for key, content in before.items() if key not in gone}
    with LocalMarkers(store.parent / "markers", f"file://{store}", shard="1-of-3", note=print) as (
        markers
    ):
        assert markers.load() == {
            BATCHES["confirmed"]: marker_of(CONTENTS["confirmed"], key_of("confirmed")),
            BATCHES["orphan"]: marker_of(CONTENTS["orphan"], key_of("orphan")),
            BATCHES["replaced"]: marker_of(ANOTHER, key_of("replaced")),
        }
    code, report = told(store, capsys, "--dry-run", "--deep")
    assert (code, report["to_do"]) == (ExitCode.DONE, [])


def test_a_kill_while_it_is_applied_leaves_no_marker_without_its_object(
    store: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = opened(f"file://{store}")
    with LocalMarkers(store.parent / "markers", destination.url, shard="x", note=print) as markers:

        def killed(key: str, tag: str | None = None) -> None:
            # The marker of what is about to be removed is gone already.
            assert key.partition(".")[0] not in markers.load()
            raise KeyboardInterrupt

        monkeypatch.setattr(destination.objects, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            applied(destination, markers, deep=True)


def test_what_changed_since_it_was_looked_at_is_left(
    store: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = opened(f"file://{store}")
    place = store / key_of("broken")
    remove = destination.objects.remove

    def late(key: str, tag: str | None = None) -> None:
        if key == place.name:
            place.unlink()
            place.write_bytes(CONTENTS["broken"])  # a worker has put it again
        remove(key, tag)

    monkeypatch.setattr(destination.objects, "remove", late)
    with LocalMarkers(store.parent / "markers", destination.url, shard="x", note=print) as markers:
        report = applied(destination, markers, deep=False)
    assert list(report.left) == [place.name]
    assert place.read_bytes() == CONTENTS["broken"]


def test_what_was_left_is_told_by_the_exit_code(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(self: FileObjects, key: str, tag: str | None = None) -> None:
        raise TakenError("somebody was quicker")

    monkeypatch.setattr(FileObjects, "remove", late)
    code, report = told(store, capsys, "--apply")
    assert code == ExitCode.DIFFERS
    left = {found["key"] for found in report["to_do"] if found["left"] is not None}
    assert left == {key_of("cut"), key_of("broken")}


def test_an_empty_store_and_no_markers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = told(tmp_path / "none", capsys, "--dry-run")
    assert (code, report["to_do"]) == (ExitCode.DONE, [])
    assert list(tmp_path.iterdir()) == []


def test_the_table(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reconcile", "--destination", f"file://{store}", "--markers",
                 str(store.parent / "markers")]  # fmt: skip
    assert main([*arguments, "--dry-run"]) == ExitCode.DIFFERS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"file://{store} against the markers in {store.parent}/markers"
    assert lines[1].split()[:2] == ["confirmed", "2"]
    assert any(line.startswith("orphan") and "mark it" in line for line in lines)
    assert f"lost {key_of('lost')}, marked with {len(CONTENTS['lost']):,} bytes" in lines
    assert lines[-1] == "nothing was changed: --apply does it"
    assert main([*arguments, "--apply"]) == ExitCode.DONE
    assert capsys.readouterr().out.splitlines()[-1] == "all of that was done"
    assert main([*arguments, "--dry-run"]) == ExitCode.DONE
    assert capsys.readouterr().out.splitlines()[-1] == "there is nothing to do"


def test_markers_of_another_destination_are_never_taken_for_lost(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    for option in ("--dry-run", "--apply"):
        code = main(["reconcile", "--destination", f"file://{tmp_path}/other", "--markers",
                     str(tmp_path / "markers"), option])  # fmt: skip
        assert code == ExitCode.STATE_REFUSED
        assert "these markers speak of" in capsys.readouterr().err


def test_a_damaged_marker_ends_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (store.parent / "markers" / f"{BATCHES['lost']}.done").write_text("{")
    code = main(["reconcile", "--destination", f"file://{store}", "--markers",
                 str(store.parent / "markers"), "--apply"])  # fmt: skip
    assert code == ExitCode.STATE_REFUSED
    assert "the marker is damaged" in capsys.readouterr().err


def test_a_missing_bucket_is_a_sentence(
    moto_endpoint: str, s3_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["reconcile", "--destination", "s3://no-such-bucket/p", "--markers", str(tmp_path),
                 "--dry-run", "--endpoint-url", moto_endpoint])  # fmt: skip
    assert code == ExitCode.NOT_WRITTEN
    assert "there is no such bucket" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--store-deadline", "0"], "--store-deadline 0 is no time in seconds"),
        (["--store-deadline", "nan"], "--store-deadline nan is no time in seconds"),
        (["--destination", "gs://b"], "--destination 'gs://b' is not"),
        (["--destination", "file:///a%00b"], "--destination 'file:///a%00b' is not"),
        (["--markers", ""], "--markers is empty"),
    ],
)
def test_a_wrong_option_is_a_sentence(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["reconcile", "--destination", f"file://{tmp_path}", "--markers", str(tmp_path),
                 "--dry-run", *options])  # fmt: skip
    assert code == ExitCode.USAGE
    assert words in capsys.readouterr().err


class TestInABucket:
    @pytest.fixture
    def destination(
        self, opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
    ) -> StoreDestination:
        """In the same disorder."""
        prefix = s3_url.removeprefix(f"s3://{BUCKET}/")
        for key, content in disorder(tmp_path / "markers").items():
            s3_client.put_object(Bucket=BUCKET, Key=f"{prefix}/{key}", Body=content)
        (tmp_path / "markers/destination").write_text(s3_url)
        return opened(s3_url, faulty.url)

    def markers(self, destination: StoreDestination, tmp_path: Path) -> LocalMarkers:
        return LocalMarkers(tmp_path / "markers", destination.url, shard="x", note=print)

    def test_all_is_found_and_mended(self, destination: StoreDestination, tmp_path: Path) -> None:
        with self.markers(destination, tmp_path) as markers:
            report = applied(destination, markers, deep=True)
            assert {kind.value: number for kind, number in report.counts.items()} == {
                "confirmed": 1, "lost": 1, "truncated": 2, "replaced": 1, "orphan": 1, "broken": 1,
                "foreign": 3,
            }  # fmt: skip
            assert report.left == {}
            assert looked(destination, markers, deep=True).to_do == []
        for name in ("cut", "broken"):
            destination.put(
                staged(tmp_path, CONTENTS[name]), whole_of(CONTENTS[name], key_of(name))
            )
        assert destination.look(whole_of(CONTENTS["orphan"], key_of("orphan"))) is Held.WHOLE

    @pytest.mark.parametrize("changes", [False, True])
    def test_a_store_without_conditional_deletes(
        self, changes: bool, destination: StoreDestination, faulty: FaultyStore, s3_client: Any,
        s3_url: str, tmp_path: Path,
    ) -> None:  # fmt: skip
        faulty.fault("answer", method="DELETE", status=501, code="NotImplemented")
        prefix = s3_url.removeprefix(f"s3://{BUCKET}/")
        seen = destination.objects.seen(key_of("broken"))
        assert seen is not None
        if changes:
            content = CONTENTS["broken"]
            s3_client.put_object(Bucket=BUCKET, Key=f"{prefix}/{key_of('broken')}", Body=content)
            with pytest.raises(TakenError):
                destination.objects.remove(key_of("broken"), seen.tag)
        else:
            destination.objects.remove(key_of("broken"), seen.tag)
        assert (destination.objects.seen(key_of("broken")) is None) is not changes

    def test_a_store_that_does_not_heed_the_condition_of_a_delete(
        self, destination: StoreDestination, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[str | None] = []
        forwarded = faulty.forwarded

        def blind(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
            if method == "DELETE":
                told.append(headers.pop("if-match", None))
            return forwarded(method, path, headers, body)

        monkeypatch.setattr(faulty, "forwarded", blind)
        with pytest.raises(TakenError):
            destination.objects.remove(key_of("broken"), '"of another one"')
        seen = destination.objects.seen(key_of("broken"))
        assert seen is not None
        destination.objects.remove(key_of("broken"), seen.tag)
        assert told == [seen.tag]

    def test_one_sweep_however_many_there_are(
        self, destination: StoreDestination, faulty: FaultyStore, tmp_path: Path
    ) -> None:
        with self.markers(destination, tmp_path) as markers:
            looked(destination, markers, deep=False)
        assert faulty.count("GET", "list-type=2") == 1
        # Those that disagree are read, and what is not listed is looked for: nothing else.
        assert faulty.count("GET", ".safetensors") == 5
        assert faulty.count("HEAD") == 1

    def test_pages_and_a_page_that_fails(
        self, destination: StoreDestination, faulty: FaultyStore, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        forwarded = faulty.forwarded

        def small(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
            extra = "&max-keys=2" if "list-type=2" in path else ""
            return forwarded(method, path + extra, headers, body)

        monkeypatch.setattr(faulty, "forwarded", small)
        faulty.fault("answer", method="GET", within="continuation-token")
        with self.markers(destination, tmp_path) as markers:
            report = looked(destination, markers, deep=False)
        assert faulty.count("GET", "list-type=2") > 5
        assert report.counts.total() == 10
        assert report.counts[Kind.LOST] == 1
        assert destination.faults.total() == 1

    def test_a_list_that_is_older_than_the_objects_loses_nothing(
        self, destination: StoreDestination, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(destination.objects, "listed", lambda folder="", after="": iter(()))
        with self.markers(destination, tmp_path) as markers:
            report = looked(destination, markers, deep=False)
        assert report.counts[Kind.LOST] == 1
        assert report.counts[Kind.CONFIRMED] == 2


def test_a_sweep_that_takes_long_tells_how_far_it_is(
    store: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "_TELLS_EVERY_S", 0.0)
    notes: list[str] = []
    destination = opened(f"file://{store}", notes=notes)
    with LocalMarkers(store.parent / "markers", destination.url, shard="x", note=print) as markers:
        applied(destination, markers, deep=False)
    assert f"{destination.url}: 10 objects looked at so far" in notes
    assert f"{destination.url}: 5 of 5 things done" in notes


def test_memory_does_not_grow_with_the_size_of_objects(tmp_path: Path, opened: Opened) -> None:
    pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")
    (tmp_path / "store").mkdir()
    content = file_of(BATCHES["orphan"], data=b"\x07" * (24 << 20))
    (tmp_path / "store" / key_of("orphan")).write_bytes(content)
    destination = opened(f"file://{tmp_path}/store")
    with LocalMarkers(tmp_path / "markers", destination.url, shard="x", note=print) as markers:
        tracemalloc.start()
        try:
            report = looked(destination, markers, deep=True)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert report.counts[Kind.ORPHAN] == 1
    assert peak < 8 << 20


def test_another_store_is_not_taken_for_the_loss_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")
    folder, url = tmp_path / "markers", f"file://{tmp_path}/store"
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "README.txt").write_text("of somebody else")
    with LocalMarkers(folder, url, shard="0-of-1", note=print) as markers:
        for name in ("confirmed", "lost"):
            markers.add(marker_of(CONTENTS[name], key_of(name)))
    before = {path: path.read_bytes() for path in folder.rglob("*.done")}
    asked = ["reconcile", f"--destination={url}", f"--markers={folder}", "--apply"]
    assert main(asked) == ExitCode.NOT_WRITTEN
    said = capsys.readouterr().err
    assert "holds none of the 2 objects" in said
    assert "--all-lost" in said
    assert {path: path.read_bytes() for path in folder.rglob("*.done")} == before != {}
    assert main([*asked, "--all-lost"]) == ExitCode.DONE
    assert not list(folder.rglob("*.done"))
