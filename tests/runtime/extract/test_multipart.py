"""Large files go in parts, with one checksum; what is not completed does not stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from checkpoint_runtime.extract.crc import as_base64
from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.store.options import MIB
from checkpoint_runtime.extract.store.s3_multipart import put_in_parts
from tests.runtime.extract.conftest import BUCKET, Opened
from tests.runtime.extract.faulty_store import FaultyStore
from tests.runtime.extract.objects import KEY, OTHER_BATCH, file_of, staged, whole_of

CONTENT = file_of(data=bytes(range(256)) * (4096 * 6))
WHOLE = whole_of(CONTENT)
OPTIONS = {"multipart_threshold_bytes": MIB, "part_bytes": 5 * MIB}


def key_of(url: str) -> str:
    return url.removeprefix(f"s3://{BUCKET}/") + f"/{KEY}"


def uploads(client: Any, url: str) -> list[str]:
    found = client.list_multipart_uploads(Bucket=BUCKET, Prefix=url.removeprefix(f"s3://{BUCKET}/"))
    return [upload["Key"] for upload in found.get("Uploads", ())]


@pytest.mark.parametrize(
    ("method", "within", "kind", "status"),
    [
        ("", "", "", 0),
        ("POST", "?uploads", "answer", 503),
        ("PUT", "partNumber=2", "answer", 500),
        ("PUT", "partNumber=1", "reset", 0),
        ("POST", "uploadId=", "answer", 503),
        ("POST", "uploadId=", "lost reply", 0),
        ("PUT", "partNumber=2", "altered", 0),
    ],
)
def test_a_large_file(
    method: str, within: str, kind: str, status: int,
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path,
) -> None:  # fmt: skip
    destination = opened(s3_url, faulty.url, **OPTIONS)
    destination.prepare()
    if kind:
        given: dict[str, Any] = {"status": status, "code": "InternalError"} if status else {}
        if kind == "altered":
            given["body"] = lambda body: b"\xff" * len(body)
        faulty.fault(kind, method=method, within=within, **given)
    destination.put(staged(tmp_path, CONTENT), WHOLE)
    found = s3_client.get_object(Bucket=BUCKET, Key=key_of(s3_url))
    assert found["Body"].read() == CONTENT
    assert found["ETag"].endswith('-2"')
    assert destination.faults.total() == bool(kind)
    assert uploads(s3_client, s3_url) == []


def test_there_are_no_more_parts_than_a_store_takes_and_the_whole_has_its_checksum() -> None:
    """moto does not mind either."""
    client = Mock()
    client.create_multipart_upload.return_value = {"UploadId": "u"}
    client.upload_part.return_value = {"ETag": "e"}
    content = bytes(range(256)) * 40
    whole = whole_of(content)
    put_in_parts(
        client, {"Key": KEY}, memoryview(content), whole, part_bytes=1, condition={"IfMatch": "t"}
    )
    done = client.complete_multipart_upload.call_args.kwargs
    assert len(done["MultipartUpload"]["Parts"]) == client.upload_part.call_count <= 10_000
    assert done["ChecksumCRC64NVME"] == as_base64(whole.crc64nvme)
    assert (done["ChecksumType"], done["IfMatch"]) == ("FULL_OBJECT", "t")
    client.abort_multipart_upload.assert_not_called()


def test_an_upload_that_fails_for_good_is_aborted(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url, **OPTIONS)
    destination.prepare()
    faulty.fault("answer", within="partNumber=2", status=403, code="AccessDenied")
    with pytest.raises(StoreError, match="access is denied"):
        destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert uploads(s3_client, s3_url) == []


def test_what_is_there_is_not_overwritten_by_parts(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    s3_client.put_object(Bucket=BUCKET, Key=key_of(s3_url), Body=b"somebody's")
    destination = opened(s3_url, faulty.url, **OPTIONS)
    destination.prepare()
    with pytest.raises(StoreError, match="something else under this key"):
        destination.put(staged(tmp_path, CONTENT), WHOLE)
    assert uploads(s3_client, s3_url) == []


def test_uploads_of_killed_runs_are_aborted_ours_only(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str
) -> None:
    ours = key_of(s3_url)
    others = [ours.replace(KEY, f"{OTHER_BATCH}.safetensors"), f"{ours}.bak"]
    for key in [ours, ours, *others]:
        s3_client.create_multipart_upload(Bucket=BUCKET, Key=key)
    notes: list[str] = []
    assert opened(s3_url, faulty.url, notes=notes).abandon_uploads([KEY]) == 2
    assert sorted(uploads(s3_client, s3_url)) == sorted(others)
    assert "2 killed uploads" in notes[0]
