"""A store in this process, and objects as a worker makes them."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checkpoint_runtime.extract.store import s3_objects
from checkpoint_runtime.extract.store.destination import StoreDestination
from checkpoint_runtime.extract.store.opening import destination_of
from checkpoint_runtime.extract.store.options import StoreOptions
from checkpoint_runtime.extract.store.s3_client import s3_client as s3_client_of
from tests.runtime.extract.faulty_store import FaultyStore

BUCKET = "hidden-states"
_prefixes = itertools.count()


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    """The URL of moto's server, with a bucket in it."""
    pytest.importorskip("moto.server", reason="needs moto: extra s3")
    pytest.importorskip("awscrt", reason="needs awscrt: extra extractor")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def s3_client(moto_endpoint: str) -> Any:
    """As another program uses the store."""
    import boto3

    client = boto3.client(
        "s3", endpoint_url=moto_endpoint, region_name="us-east-1",
        aws_access_key_id="somebody", aws_secret_access_key="else",
    )  # fmt: skip
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of this test, whatever this machine has."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "us")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "no-such-file"))


@pytest.fixture
def s3_url(s3_client: Any, credentials: None) -> str:
    """A prefix that no other test has."""
    return f"s3://{BUCKET}/test-{next(_prefixes)}"


@pytest.fixture(scope="session")
def _faulty(moto_endpoint: str) -> Iterator[FaultyStore]:
    with FaultyStore(moto_endpoint) as store:
        yield store


@pytest.fixture(scope="session")
def _computing(moto_endpoint: str) -> Iterator[FaultyStore]:
    with FaultyStore(moto_endpoint, computes=True) as store:
        yield store


@pytest.fixture
def faulty(_faulty: FaultyStore) -> FaultyStore:
    """A server before the store. It only repeats checksums, as moto does."""
    return _faulty.again()


@pytest.fixture
def computing(_computing: FaultyStore) -> FaultyStore:
    """A server before the store that computes checksums."""
    return _computing.again()


_one_client = functools.cache(s3_client_of)
"""For all tests with the same options: to make one takes longer than all that it is asked for."""


Opened = Callable[..., StoreDestination]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Opens a destination whose pauses are short; ``notes`` takes what is noted."""
    monkeypatch.setattr(s3_objects, "s3_client", _one_client)

    def opened(
        url: str,
        endpoint: str | None = None,
        *,
        notes: list[str] | None = None,
        stop: threading.Event | None = None,
        **given: Any,
    ) -> StoreDestination:
        options = {
            "attempts": 1, "first_pause_s": 0.01, "longest_pause_s": 0.02, "budget_s": 10.0,
            "read_timeout_s": 10.0,
        } | given  # fmt: skip
        return destination_of(
            url,
            StoreOptions(endpoint_url=endpoint, **options),
            note=(notes if notes is not None else []).append,
            random=Random(1),
            stop=stop,
        )

    return opened
