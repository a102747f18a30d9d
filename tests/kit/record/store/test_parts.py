"""The pieces of the proxy alone: HTTP, checksums, what lines come to, signatures."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.store import checksums
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.contents import (
    Contents,
    Part,
    StoredObject,
    Upload,
    digests_of,
    fold,
    gone_line,
    object_line,
    part_line,
    upload_gone_line,
    upload_line,
)
from pytest_checkpoint.record.store.http import (
    Answer,
    Head,
    Malformed,
    TooLarge,
    take_body,
    take_head,
)
from pytest_checkpoint.record.store.signing import Credentials, signed, target

_NINE = b"123456789"
_CHUNKED = b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "body", "left"),
    [
        (b"GET / HTTP/1.1\r\n\r\nGET", b"", b"GET"),
        (b"PUT /b/k HTTP/1.1\r\ncontent-length: 2\r\n\r\nabc", b"ab", b"c"),
        (b"PUT /b/k HTTP/1.1\r\ncontent-length: 2\r\n\r\na", None, b"a"),
        (
            _CHUNKED + b"2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\nG",
            b"abc",
            b"G",
        ),
        (_CHUNKED + b"2\r\nab\r\n0\r\n", None, None),
    ],
)
def test_requests_are_taken_one_by_one(data: bytes, body: bytes | None, left: bytes | None) -> None:
    received = bytearray(data)
    head = take_head(received)
    assert head is not None
    assert take_body(head, received) == body
    assert left is None or received == left


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"hello\r\n\r\n", Malformed),
        (b"x" * 70_000, Malformed),
        (b"PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n", Malformed),
        (b"PUT / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", TooLarge),
        (_CHUNKED + b"zz\r\n", Malformed),
        (_CHUNKED + b"-1\r\n", Malformed),
    ],
)
def test_what_is_no_request(data: bytes, problem: type[Malformed]) -> None:
    received = bytearray(data)
    with pytest.raises(problem):
        take_body(take_head(received) or Head("", "", {}), received)


def test_an_answer_to_head_tells_the_length_and_has_no_body() -> None:
    answer = Answer(200, (("Content-Length", "9"), ("ETag", '"x"')))
    assert answer.dump(is_head=True) == (
        b'HTTP/1.1 200 OK\r\nETag: "x"\r\nContent-Length: 9\r\nConnection: keep-alive\r\n\r\n'
    )


@pytest.mark.parametrize(
    ("line", "operation", "path"),
    [
        ("GET /", "ListBuckets", "GET s3://"),
        ("GET /b?list-type=2&prefix=a%2Fb", "ListObjectsV2", "GET s3://b/a/b?list"),
        ("GET /b/", "ListObjects", "GET s3://b/?list"),
        ("HEAD /b", "HeadBucket", "HEAD s3://b"),
        ("PUT /b", "CreateBucket", "PUT s3://b"),
        ("PUT /b?versioning", "unkept", "PUT s3://b?versioning"),
        ("POST /b?delete", "DeleteObjects", "POST s3://b?delete"),
        ("GET /b?uploads", "ListMultipartUploads", "GET s3://b?uploads"),
        ("PUT /b/a%20b/%C3%A4?X-Amz-Signature=x", "PutObject", "PUT s3://b/a b/ä"),
        ("PUT /b/k?tagging", "unkept", "PUT s3://b/k?tagging"),
        ("POST /b/k?uploads", "CreateMultipartUpload", "POST s3://b/k?uploads"),
        ("PUT /b/k?partNumber=3&uploadId=u", "UploadPart", "PUT s3://b/k?partNumber=3"),
        ("POST /b/k?uploadId=u", "CompleteMultipartUpload", "POST s3://b/k?complete"),
        ("DELETE /b/k?uploadId=u", "AbortMultipartUpload", "DELETE s3://b/k?abort"),
        ("GET /b/k?uploadId=u", "ListParts", "GET s3://b/k?parts"),
        ("GET /b/k?tagging", "GetObject", "GET s3://b/k?tagging"),
        ("DELETE /b/k", "DeleteObject", "DELETE s3://b/k"),
        ("POST /b/k?restore", "unkept", "POST s3://b/k?restore"),
    ],
)
def test_what_is_asked(line: str, operation: str, path: str) -> None:
    method, _, where = line.partition(" ")
    asked = Asked.of(Head(method, where, {}))
    assert (asked.operation, asked.path.decode()) == (operation, path)


@pytest.mark.parametrize(
    ("name", "value"),  # check values of the catalogue of CRCs, and of hashlib
    [
        ("crc32", 0xCBF43926.to_bytes(4, "big")),
        ("crc32c", 0xE3069283.to_bytes(4, "big")),
        ("crc64nvme", 0xAE8B14860A799888.to_bytes(8, "big")),
        ("sha1", hashlib.sha1(_NINE, usedforsecurity=False).digest()),
        ("sha256", hashlib.sha256(_NINE).digest()),
    ],
)
def test_a_checksum_is_looked_at(name: str, value: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {f"x-amz-checksum-{name}": base64.b64encode(value).decode()}
    for fast in (checksums._fast, lambda _: None):  # with awscrt, where it is, and without
        monkeypatch.setattr(checksums, "_fast", fast)
        assert checksums.wrong(told, _NINE) == ""
        assert checksums.wrong(told, _NINE + b"0") == f"x-amz-checksum-{name}"
        assert checksums.sums_of(told, _NINE) == told


def test_other_declarations_are_looked_at() -> None:
    md5 = base64.b64encode(hashlib.md5(b"x", usedforsecurity=False).digest()).decode()
    sha = hashlib.sha256(b"x").hexdigest()
    assert checksums.wrong({"content-md5": md5, "x-amz-content-sha256": sha}, b"x") == ""
    assert checksums.wrong({"content-md5": md5}, b"y") == "content-md5"
    assert checksums.wrong({"x-amz-content-sha256": sha}, b"y") == "x-amz-content-sha256"
    assert checksums.wrong({"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, b"y") == ""


def test_a_body_wrapped_in_chunks_of_its_own() -> None:
    told = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "content-encoding": "aws-chunked,gzip",
        "x-amz-decoded-content-length": "9",
        "x-amz-trailer": "x-amz-checksum-crc32",
    }
    wrapped = (
        b"5\r\n12345\r\n4;chunk-signature=ab\r\n6789\r\n0\r\nx-amz-checksum-crc32:AA==\r\n\r\n"
    )
    body, headers = checksums.decoded(told, wrapped)
    assert (body, headers["content-encoding"]) == (_NINE, "gzip")
    assert checksums.wrong(headers, body) == "x-amz-checksum-crc32"
    for broken in (wrapped[:-20], wrapped.replace(b"6789", b"67"), b""):
        with pytest.raises(Malformed):
            checksums.decoded(told, broken)
    assert checksums.decoded({}, wrapped) == (wrapped, {})


_ONE = StoredObject(key="a", size=1, sha256="1" * 64, headers={"content-type": "a/b"})
_PART = Part(number=1, size=3, sha256="3" * 64)
_UPLOAD = Upload(id="u", key="b", headers={}, parts={1: _PART})


def test_what_counts_is_what_the_lines_come_to() -> None:
    begun = upload_line(Upload(id="u", key="b")) + part_line("u", _PART)
    log = gone_line("a") + object_line(_ONE) + begun
    assert fold(log).objects == {"a": _ONE}
    assert fold(log).uploads == {"u": _UPLOAD}
    other = begun + object_line(StoredObject(key="a", size=2, sha256="2" * 64)) + object_line(_ONE)
    assert fold(log).digest == fold(other).digest == fold(fold(log).dump()).digest
    assert fold(log + upload_gone_line("u")).digest == fold(object_line(_ONE)).digest
    assert fold(log + upload_gone_line("u") + gone_line("a")).digest == Contents().digest
    assert len({fold(part).digest for part in (log, begun, object_line(_ONE), b"")}) == 4
    assert digests_of(other) == {"1" * 64, "2" * 64, "3" * 64}


def test_bytes_are_found_under_their_digest(tmp_path: Path) -> None:
    bodies = Bodies(tmp_path / "bodies")
    assert bodies.digests() == []
    digest = bodies.put(b"x")
    assert (bodies.put(b"x"), bodies.digests()) == (digest, [digest])
    other = Bodies(tmp_path / "other")
    bodies.copy_to(other, [digest, "0" * 64])
    assert (other.digests(), other.read(digest)) == ([digest], b"x")
    with pytest.raises(HarnessError, match="record again"):
        other.read("0" * 64)


def test_the_signature_of_the_documentation() -> None:
    # "GET Object" of the signature's own documentation.
    credentials = Credentials(
        "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1"
    )
    empty = hashlib.sha256(b"").hexdigest()
    now = datetime(2013, 5, 24, tzinfo=UTC)
    host = {"host": "examplebucket.s3.amazonaws.com"}
    told = signed(credentials, "GET", target("/", {"lifecycle": ""}), host, empty, now)
    assert told["authorization"].endswith(
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    )
