"""What is wrong with a destination is told before any work, in a sentence, and at once."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.errors import ExtractInputError, StoreError
from checkpoint_runtime.extract.store.failures import TransientStoreError
from checkpoint_runtime.extract.store.opening import destination_of
from checkpoint_runtime.extract.store.options import StoreOptions
from tests.runtime.extract.conftest import BUCKET, Opened
from tests.runtime.extract.faulty_store import FaultyStore
from tests.runtime.extract.objects import KEY, file_of, staged, whole_of


@pytest.mark.parametrize(
    "url", ["", "s3://", "s3:///prefix", "gs://bucket", "/tmp/x", "file://host/x", "file://x", "s3"]
)
def test_what_is_no_destination(url: str) -> None:
    with pytest.raises(ExtractInputError, match="is not s3://bucket/prefix or file:///directory"):
        destination_of(url)


def test_a_bucket_that_is_not_there(opened: Opened, moto_endpoint: str, s3_url: str) -> None:
    with pytest.raises(StoreError, match="s3://no-such-bucket/p: there is no such bucket"):
        opened("s3://no-such-bucket/p", moto_endpoint).prepare()


def test_a_bucket_that_is_listed_and_not_there(
    opened: Opened, faulty: FaultyStore, s3_url: str
) -> None:
    """A server that makes a bucket when something is put into it would hide a slip of the pen."""
    faulty.fault("answer", method="HEAD", within=BUCKET, status=404, code="")
    with pytest.raises(StoreError, match="there is no such bucket"):
        opened(s3_url, faulty.url).prepare()
    assert faulty.count("PUT") == 0


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "access is denied: s3:PutObject"),
        (403, "InvalidAccessKeyId", "does not know the access key"),
        (403, "SignatureDoesNotMatch", "the secret does not fit"),
        (400, "ExpiredToken", "the credentials have expired"),
        (403, "SomethingNew", "access is denied"),
        (418, "Teapot", "the store refuses it: 418 Teapot: injected"),
        (501, "NotImplemented", "the store refuses it: 501"),
    ],
)
def test_a_refusal_is_not_tried_again(
    status: int, code: str, words: str, opened: Opened, faulty: FaultyStore, s3_url: str
) -> None:
    method = "PUT" if code in ("AccessDenied", "NotImplemented") else "GET"
    faulty.fault("answer", method=method, within="_probe" * (method == "PUT"),
                 status=status, code=code, times=100)  # fmt: skip
    with pytest.raises(StoreError, match=words) as raised:
        opened(s3_url, faulty.url).prepare()
    assert not isinstance(raised.value, TransientStoreError)
    assert faulty.count(method) == 1


def test_a_refusal_between_two_uploads_ends_the_second_at_once(
    opened: Opened, faulty: FaultyStore, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    faulty.fault("answer", within=KEY, status=403, code="AccessDenied")
    content = file_of()
    with pytest.raises(StoreError, match="access is denied"):
        destination.put(staged(tmp_path, content), whole_of(content))
    assert faulty.count("PUT", KEY) == 1


def test_no_credentials(moto_endpoint: str, s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StoreError, match="there are no credentials"):
        destination_of(s3_url, StoreOptions(endpoint_url=moto_endpoint)).prepare()


def test_a_profile_that_is_not_there(
    moto_endpoint: str, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(StoreError, match="configuration of boto3 cannot be used"):
        destination_of(s3_url, StoreOptions(endpoint_url=moto_endpoint)).prepare()


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "http://[::1", "http://"])
def test_an_endpoint_that_is_no_url(endpoint: str, s3_url: str) -> None:
    with pytest.raises(StoreError, match="configuration of boto3 cannot be used"):
        destination_of(s3_url, StoreOptions(endpoint_url=endpoint)).prepare()


def test_nobody_answers(opened: Opened, s3_url: str) -> None:
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        begun = time.monotonic()
        with pytest.raises(StoreError, match=r"cannot be reached: .* Nothing was done"):
            opened(s3_url, f"http://127.0.0.1:{nobody.getsockname()[1]}", budget_s=60).prepare()
        assert time.monotonic() - begun < 30


def test_an_overloaded_store_is_waited_for(
    opened: Opened, faulty: FaultyStore, s3_url: str
) -> None:
    faulty.fault("answer", method="GET", times=2)
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    assert destination.faults["503 SlowDown"] == 2


def test_a_store_that_overwrites_is_refused(
    opened: Opened, faulty: FaultyStore, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forwarded = faulty.forwarded

    def blind(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        headers.pop("if-none-match", None)
        return forwarded(method, path, headers, body)

    monkeypatch.setattr(faulty, "forwarded", blind)
    with pytest.raises(StoreError, match="ignores If-None-Match"):
        opened(s3_url, faulty.url).prepare()


def test_what_is_no_answer_of_s3(opened: Opened, faulty: FaultyStore, s3_url: str) -> None:
    """A captive portal, say: 200, and a page."""
    faulty.fault("page", method="GET", times=1000)
    with pytest.raises(StoreError, match="the store answered 500"):
        opened(s3_url, faulty.url, budget_s=0.1).prepare()


def test_the_endpoint_of_the_environment(
    opened: Opened, faulty: FaultyStore, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.url)
    destination_of(s3_url).prepare()
    assert faulty.count("PUT", "_probe") == 3  # the right one twice, a wrong one
