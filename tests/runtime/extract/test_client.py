"""The client is pinned, and signs a body where nothing else protects it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.store.options import StoreOptions
from checkpoint_runtime.extract.store.s3_client import s3_client
from tests.runtime.extract.conftest import BUCKET, Opened
from tests.runtime.extract.faulty_store import FaultyStore
from tests.runtime.extract.objects import file_of, staged, whole_of


@pytest.mark.parametrize(
    ("endpoint", "signed"),
    [
        (None, False),
        ("https://store.example", False),
        ("http://127.0.0.1:9000", False),
        ("http://[::1]:9000", False),
        ("http://localhost", False),
        ("http://store.example", True),
        ("http://10.0.0.1:9000", True),
    ],
)
def test_a_body_is_signed_where_it_could_be_changed_on_its_way(
    endpoint: str | None, signed: bool, credentials: None
) -> None:
    pytest.importorskip("boto3", reason="needs boto3: extra s3")
    config: Any = s3_client(StoreOptions(endpoint_url=endpoint)).meta.config
    assert config.s3["payload_signing_enabled"] is signed
    assert config.retries == {"mode": "standard", "total_max_attempts": 3}
    assert (config.connect_timeout, config.read_timeout) == (10.0, 60.0)


def test_one_client_for_all_threads(
    opened: Opened, faulty: FaultyStore, s3_client: Any, s3_url: str, tmp_path: Path
) -> None:
    destination = opened(s3_url, faulty.url)
    destination.prepare()
    for kind in ("silent", "answer", "lost reply"):
        faulty.fault(kind, within=".safetensors", times=2)
    faulty.fault("altered", within=".safetensors", times=2, body=lambda body: body[:-1])
    contents = {f"{number:032x}.safetensors": file_of(f"{number:032x}") for number in range(12)}

    def put(item: tuple[str, bytes]) -> None:
        folder = tmp_path / item[0]
        folder.mkdir()
        destination.put(staged(folder, item[1]), whole_of(item[1], item[0]))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put, contents.items()))
    prefix = s3_url.removeprefix(f"s3://{BUCKET}/")
    for key, content in contents.items():
        found = s3_client.get_object(Bucket=BUCKET, Key=f"{prefix}/{key}")["Body"].read()
        assert found == content
    assert all(fault.times == 0 for fault in faulty.faults)
    # One or another altered body met what was there already, and changed nothing.
    assert 6 <= destination.faults.total() <= 8
    assert destination.sent_bytes == sum(map(len, contents.values()))
