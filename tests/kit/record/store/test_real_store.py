"""Before a real store, SeaweedFS: what is stored comes back, and nothing is left behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
if not (ROOT / "benchmarks" / "extract.py").is_file():
    pytest.skip("there are no benchmarks beside these tests", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.extracting.sinks import CREDENTIALS  # noqa: E402 - the path first
from benchmarks.extracting.stores import Store, StoreMissingError, store  # noqa: E402
from pytest_checkpoint.errors import HarnessError  # noqa: E402
from pytest_checkpoint.record.client import SlotClient  # noqa: E402
from pytest_checkpoint.record.store.faults import Kind, StoreFault  # noqa: E402
from pytest_checkpoint.record.store.wanted import WantedStore  # noqa: E402
from tests.kit.record.conftest import Runner  # noqa: E402
from tests.kit.record.store.test_boto3 import CLIENT_OF_BOTO3, the_same_comes_back  # noqa: E402
from tests.kit.record.store.test_recorded import held  # noqa: E402


@pytest.fixture(scope="module")
def real_store() -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        try:
            with store("seaweedfs") as found:
                yield found
        except StoreMissingError as missing:
            pytest.skip(f"{missing}: tox -e real-s3")


def _runner(folder: Path, wanted: WantedStore) -> Iterator[Runner]:
    outside = folder / "outside"
    outside.mkdir(parents=True)
    with SlotClient(folder / "base", store=wanted) as client:
        yield Runner(client, folder, outside)


def test_it_all_comes_back_and_nothing_is_left(real_store: Store, tmp_path: Path) -> None:
    wanted = WantedStore(bucket="things", endpoint=real_store.url)
    for runner in _runner(tmp_path, wanted):
        the_same_comes_back(runner)
        fault = StoreFault(kind=Kind.TRUNCATED_BODY, method="PUT")
        source = CLIENT_OF_BOTO3 + 'S3.put_object(Bucket=B, Key="cut", Body=b"0123456789")'
        outcome = runner.ok(source, store_faults=(fault,))
        assert (outcome.result.fired_at, held(runner)) == (1, {"cut": b"01234"})
    assert "things" not in {one["Name"] for one in real_store.client().list_buckets()["Buckets"]}


def test_what_is_not_ours_is_left_alone(real_store: Store, tmp_path: Path) -> None:
    client = real_store.client()
    client.create_bucket(Bucket="shared")
    client.put_object(Bucket="shared", Key="theirs", Body=b"x")
    wanted = WantedStore(bucket="shared", prefix="ours/", endpoint=real_store.url)
    for runner in _runner(tmp_path, wanted):
        runner.ok(
            CLIENT_OF_BOTO3
            + """
B = "shared"
assert code(S3.delete_object, Key="theirs") == "AccessDenied"
assert code(S3.put_object, Key="ours/a", Body=b"x") is None
"""
        )
    with pytest.raises(HarnessError, match="holds 'theirs'"):
        next(_runner(tmp_path / "again", WantedStore(bucket="shared", endpoint=real_store.url)))
    listed = client.list_objects_v2(Bucket="shared")["Contents"]
    assert [one["Key"] for one in listed] == ["theirs"]
