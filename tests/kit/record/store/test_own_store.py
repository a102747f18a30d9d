"""The user's own store: here one that answers 200 to whoever makes a bucket again, as S3 does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from pytest_checkpoint.record.store.access import Access
from pytest_checkpoint.record.store.embedded import Embedded
from pytest_checkpoint.record.store.store import Store
from pytest_checkpoint.record.store.upstream import Upstream
from pytest_checkpoint.record.store.wanted import WantedStore

WANTED = WantedStore(bucket="things", prefix="ours/")


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    pytest.importorskip("moto", reason="the kit's object store: extra s3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "ours")
    server = Embedded.start()
    there = Upstream(
        Access(listener=-1, host="127.0.0.1", port=server.port, bucket="things", embedded=False)
    )
    yield there
    there.close()
    server.close()


def _use(upstream: Upstream) -> None:
    endpoint = f"http://127.0.0.1:{upstream.access.port}"
    store = Store.open(dataclasses.asdict(WANTED) | {"endpoint": endpoint}, None)
    assert upstream.ask("PUT", "ours/a", body=b"x").status == 200
    store.close()


def test_a_bucket_that_was_there_stays(upstream: Upstream) -> None:
    assert upstream.ask("PUT").status == 200
    _use(upstream)
    assert upstream.ask("HEAD").status == 200
    assert upstream.ask("HEAD", "ours/a").status == 404


def test_one_that_was_made_is_removed(upstream: Upstream) -> None:
    _use(upstream)
    assert upstream.ask("HEAD").status == 404
