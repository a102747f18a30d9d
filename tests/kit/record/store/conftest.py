"""A slot with an object store, and what programs in it know of that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.store.wanted import WantedStore
from tests.kit.record.conftest import Runner
from tests.subjects.matrix import FOLDER

BUCKET = "things"
CLIENT = f"""
sys.dont_write_bytecode = True
sys.path.insert(0, {str(FOLDER)!r})
from tiny_s3 import Bucket, StoreError
S3 = Bucket({BUCKET!r})
def refused(status, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except StoreError as error:
        assert error.status == status, error
    else:
        raise AssertionError("it was done")
"""
WITH_PACKAGES = """
import site
site.main()  # the interpreter starts without
sys.dont_write_bytecode = True
"""


@pytest.fixture(scope="module")
def module_runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    pytest.importorskip("moto", reason="the kit's object store: extra s3")
    folder = tmp_path_factory.mktemp("store")
    outside = folder / "outside"
    outside.mkdir()
    with SlotClient(folder / "base", store=WantedStore(bucket=BUCKET)) as client:
        yield Runner(client, folder, outside)
