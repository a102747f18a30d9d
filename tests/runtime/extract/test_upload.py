"""Uploads to a store that fails: what ``put`` returns from is held, or it is told."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.crc import as_base64
from checkpoint_runtime.extract.errors import StoppedError, StoreError
from checkpoint_runtime.extract.parts import Held
from checkpoint_runtime.extract.store.objects import Seen
from checkpoint_runtime.extract.store.options import Verify
from tests.runtime.extract.conftest import BUCKET, Opened
from tests.runtime.extract.faulty_store import FaultyStore
from tests.runtime.extract.objects import KEY, file_of, staged, whole_of

CONTENT = file_of()
WHOLE = whole_of(CONTENT)
OTHER_ID = CONTENT.replace(b'\\"b\\"', b'\\"c\\"')
FLIPPED = CONTENT[:-9] + bytes([CONTENT[-9] ^ 4]) + CONTENT[-8:]


def held(client: Any, url: str) -> bytes:
    key = url.removeprefix(f"s3://{BUCKET}/") + f"/{KEY}"
    content: bytes = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    return content


def put_by_somebody(client: Any, url: str, content: bytes) -> None:
    key = url.removeprefix(f"s3://{BUCKET}/") + f"/{KEY}"
    client.put_object(Bucket=BUCKET, Key=key, Body=content)


def test_what_is_put_is_held_and_verified_by_its_bytes(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    assert not destination.computes_checksums
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert held(s3_client, s3_url) == CONTENT
    assert faulty.count("GET", KEY) == 1
    assert destination.sent_bytes == len(CONTENT)
    assert destination.look(WHOLE) is Held.WHOLE
    assert not destination.faults


def test_a_store_that_computes_checksums_is_asked_for_them_and_for_no_bytes(
    opened: Opened, computing: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, computing.url)
    destination.prepare()
    assert destination.computes_checksums
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert computing.count("GET", KEY) == 0
    assert computing.count("HEAD", KEY) == 1


@pytest.mark.parametrize(("which", "objects"), [("faulty", 2), ("computing", 1)])
def test_a_second_probe_writes_nothing(
    which: str, objects: int, opened: Opened, s3_client: Any, s3_url: str,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    store: FaultyStore = request.getfixturevalue(which)
    given: dict[str, str] = {"Bucket": BUCKET, "Prefix": s3_url.removeprefix(f"s3://{BUCKET}/")}
    found = []
    for _ in range(2):
        destination = opened(s3_url, store.url)
        destination.prepare()
        assert destination.computes_checksums is (which == "computing")
        found.append(s3_client.list_objects_v2(**given)["Contents"])
    assert found[0] == found[1]
    assert [entry["Key"].partition("/")[2] for entry in found[0]] == [
        "_probe/right",
        "_probe/wrong",
    ][:objects]


@pytest.mark.parametrize("which", ["faulty", "computing"])
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("silent", {}),
        ("altered", {"body": lambda body: body[:5]}),
        ("altered", {"body": lambda body: b"?" * len(body)}),
        ("lost reply", {}),
    ],
)
@pytest.mark.parametrize("key", ["_probe/right", "_probe/wrong"])
def test_a_fault_of_the_probe_never_makes_it_trust_what_is_repeated(
    which: str, kind: str, given: dict[str, Any], key: str,
    opened: Opened, s3_url: str, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    store: FaultyStore = request.getfixturevalue(which)
    destination = opened(s3_url, store.url)
    store.fault(kind, within=key, **given)
    destination.prepare()
    assert which == "computing" or not destination.computes_checksums
    if key == "_probe/right":
        # What was damaged there is put again: it would hide for ever what the store can do.
        assert destination.computes_checksums is (which == "computing")


@pytest.mark.parametrize(
    ("which", "kind", "given", "counted"),
    [
        ("computing", "silent", {}, {"not held": 1}),
        ("faulty", "silent", {}, {"not held": 1}),
        ("faulty", "altered", {"body": lambda body: body[:-100]}, {"held otherwise": 1}),
        ("faulty", "altered", {"body": lambda body: body[:3]}, {"held otherwise": 1}),
        ("faulty", "altered", {"body": lambda body: FLIPPED}, {"held otherwise": 1}),
        ("faulty", "altered", {"body": lambda body: b"\xff" * len(body)}, {"held otherwise": 1}),
        ("computing", "altered", {"body": lambda body: body[:3]}, {"held otherwise": 1}),
        ("computing", "altered", {"body": lambda body: FLIPPED}, {"held otherwise": 1}),
        ("computing", "lost reply", {}, {"reset": 1}),
        ("faulty", "lost reply", {}, {"reset": 1}),
        ("faulty", "answer", {}, {"503 SlowDown": 1}),
        ("faulty", "answer", {"times": 3}, {"503 SlowDown": 3}),
        ("faulty", "answer", {"status": 500, "code": "InternalError"}, {"500 InternalError": 1}),
        (
            "faulty",
            "answer",
            {"status": 409, "code": "ConditionalRequestConflict"},
            {"409 ConditionalRequestConflict": 1},
        ),
        ("faulty", "answer", {"status": 400, "code": "BadDigest"}, {"400 BadDigest": 1}),
        ("faulty", "reset", {}, {"reset": 1}),
        ("faulty", "answer", {"method": "HEAD", "status": 500, "code": ""}, {"500": 1}),
        ("faulty", "answer", {"method": "HEAD", "status": 404, "code": ""}, {"not held": 1}),
    ],
)
def test_a_fault_is_survived(
    which: str, kind: str, given: dict[str, Any], counted: dict[str, int],
    opened: Opened, s3_client: Any, s3_url: str, tmp_path: Path, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    store: FaultyStore = request.getfixturevalue(which)
    notes: list[str] = []
    destination = opened(s3_url, store.url, notes=notes)
    destination.prepare()
    fault = store.fault(kind, within=KEY, **given)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert fault.times == 0
    assert held(s3_client, s3_url) == CONTENT
    assert dict(destination.faults) == counted
    assert len(notes) == (kind == "altered")


def test_a_download_that_breaks_off_is_read_again(
    opened: Opened, faulty: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    faulty.fault("cut", method="GET", within=KEY)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert dict(destination.faults) == {"reset": 1}


def test_a_server_that_hangs_is_left_after_the_time_out(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url, read_timeout_s=0.3)
    destination.prepare()
    faulty.fault("hang", within=KEY)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert dict(destination.faults) == {"timeout": 1}
    assert held(s3_client, s3_url) == CONTENT


def test_botocore_tries_again_by_itself_and_meets_its_own_object(
    opened: Opened, faulty: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url, attempts=3)
    destination.prepare()
    faulty.fault("lost reply", within=KEY)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert faulty.count("PUT", KEY) == 2
    assert not destination.faults


def test_a_store_that_never_keeps_it_is_given_up(
    opened: Opened, faulty: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url, budget_s=0.3)
    destination.prepare()
    faulty.fault("silent", within=KEY, times=100_000)
    with pytest.raises(StoreError, match=r"does not hold it\. Given up after 0"):
        destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert faulty.count("PUT", KEY) > 1
    assert destination.sent_bytes == 0


def test_a_pause_ends_at_once_when_the_run_is_to_stop(
    opened: Opened, faulty: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    stop = threading.Event()
    destination = opened(s3_url, faulty.url, stop=stop, first_pause_s=60.0, longest_pause_s=60.0)
    destination.prepare()
    faulty.fault("answer", within=KEY, times=100_000)
    ended: list[BaseException] = []

    def put() -> None:
        with pytest.raises(StoppedError) as raised:
            destination.put(staged(tmp_path, CONTENT), WHOLE)
        ended.append(raised.value)

    thread = threading.Thread(target=put)
    thread.start()
    stop.set()
    thread.join(timeout=20)
    assert len(ended) == 1


def test_an_equal_object_is_left_alone_and_read_whatever_is_asked_for(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    put_by_somebody(s3_client, s3_url, CONTENT)
    destination = opened(s3_url, faulty.url, verify=Verify.PROBE)
    destination.prepare()
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert faulty.count("GET", KEY) == 1
    assert not destination.faults


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a user's own file", "something else under this key"),
        (file_of(data=b"\x03\x04" * 500, digests='["1", "2"]'), "other texts under the same"),
        (b"u" * len(CONTENT), "something else under this key"),
    ],
)
def test_other_bytes_under_the_key_are_never_overwritten(
    content: bytes, words: str,
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path,
) -> None:  # fmt: skip
    put_by_somebody(s3_client, s3_url, content)
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    assert destination.look(WHOLE) is Held.OTHER
    mine = file_of(digests='["1", "3"]')
    with pytest.raises(StoreError, match=words) as raised:
        destination.put(staged(tmp_path, mine), whole_of(mine))
    assert f"{s3_url}/{KEY}" in str(raised.value)
    assert held(s3_client, s3_url) == content


def test_other_bits_of_the_same_samples_stand_for_them(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    earlier = file_of(data=b"\x03\x04" * 500)
    put_by_somebody(s3_client, s3_url, earlier)
    notes: list[str] = []
    destination = opened(s3_url, faulty.url, notes=notes)
    destination.prepare()
    assert destination.put(staged(tmp_path, CONTENT), WHOLE) == whole_of(earlier)
    assert held(s3_client, s3_url) == earlier
    assert any("is whole and is kept" in note for note in notes)


@pytest.mark.parametrize("content", [CONTENT[:30], CONTENT[:-1], b"", FLIPPED, OTHER_ID])
def test_what_a_killed_run_left_damaged_is_put_again(
    content: bytes, opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    put_by_somebody(s3_client, s3_url, content)
    notes: list[str] = []
    destination = opened(s3_url, faulty.url, notes=notes)
    destination.prepare()
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert held(s3_client, s3_url) == CONTENT
    assert "a damaged part of this object" in notes[0]


def test_what_came_meanwhile_in_place_of_the_damaged_one_is_not_overwritten(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    put_by_somebody(s3_client, s3_url, CONTENT[:-1])
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    objects = destination.objects
    put = objects.put

    def late(path: Path, whole: Any, *, instead_of: str | None) -> None:
        if instead_of is not None:
            put_by_somebody(s3_client, s3_url, b"somebody was quicker")
        put(path, whole, instead_of=instead_of)

    monkeypatch.setattr(objects, "put", late)
    with pytest.raises(StoreError, match="something else under this key"):
        destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert held(s3_client, s3_url) == b"somebody was quicker"


def test_what_was_told_of_wrongly_and_is_there_is_done(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Another worker of the shard has just put it, say."""
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    seen = Seen(size=WHOLE.size - 1, tag="of what was there before")
    monkeypatch.setattr(destination.objects, "seen", lambda key: seen)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert faulty.count("PUT", KEY) == 1
    assert held(s3_client, s3_url) == CONTENT


def test_a_checksum_that_is_only_repeated_proves_nothing(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    """moto tells the checksum that it was told, whatever it holds."""
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    key = s3_url.removeprefix(f"s3://{BUCKET}/") + f"/{KEY}"
    s3_client.put_object(
        Bucket=BUCKET, Key=key, Body=FLIPPED,
        ChecksumAlgorithm="CRC64NVME", ChecksumCRC64NVME=as_base64(WHOLE.crc64nvme),
    )  # fmt: skip
    seen = destination.objects.seen(KEY)
    assert seen is not None
    assert (seen.size, seen.crc64nvme) == (WHOLE.size, WHOLE.crc64nvme)
    assert destination.look(WHOLE) is Held.OTHER


@pytest.mark.parametrize(
    ("verify", "reads"), [(Verify.ALWAYS, 8), (Verify.SAMPLE, 4), (Verify.PROBE, 0)]
)
def test_how_many_are_read_back(
    verify: Verify, reads: int, opened: Opened, faulty: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    notes: list[str] = []
    destination = opened(s3_url, faulty.url, verify=verify, sample_every=2, notes=notes)
    destination.prepare()
    for number in range(8):
        content = b"%d" % number
        destination.put(staged(tmp_path, content), whole_of(content, f"{number:04}.safetensors"))
    read = faulty.count("GET", ".safetensors")
    assert abs(read - reads) <= (2 if verify is Verify.SAMPLE else 0)
    assert len(notes) == (verify is not Verify.ALWAYS)
    if notes:
        assert "would not be noticed" in notes[0]


@pytest.mark.parametrize("which", ["faulty", "computing"])
def test_a_staged_file_that_was_changed_is_told(
    which: str, opened: Opened, s3_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store: FaultyStore = request.getfixturevalue(which)
    destination = opened(s3_url, store.url, budget_s=0.5)
    destination.prepare()
    with pytest.raises(StoreError, match="the staged file is not what was made"):
        destination.put(staged(tmp_path, FLIPPED), WHOLE)
    with pytest.raises(StoreError, match="was made with"):
        destination.put(staged(tmp_path, FLIPPED[:-1]), WHOLE)
    with pytest.raises(StoreError, match="cannot be read"):
        destination.put(tmp_path / "none", WHOLE)
