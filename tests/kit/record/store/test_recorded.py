"""Requests to the object store are operations, in order with the others; states restore it."""

from __future__ import annotations

import pytest

from pytest_checkpoint.record.client import environment
from pytest_checkpoint.record.describe import describe
from pytest_checkpoint.record.operations import Stored
from pytest_checkpoint.record.store.contents import fold
from tests.kit.record.conftest import Outcome, Runner
from tests.kit.record.store.conftest import CLIENT


def held(runner: Runner) -> dict[str, bytes]:
    """What the log says that the store holds."""
    objects = fold(runner.client.objects.read_bytes()).objects
    return {key: runner.client.bodies.read(one.sha256) for key, one in objects.items()}


def told(outcome: Outcome) -> list[str]:
    return [describe(operation) for operation in outcome.operations]


def test_requests_stand_between_operations(runner: Runner) -> None:
    outcome = runner.ok(
        CLIENT
        + """
os.mkdir("a"); S3.put("one", b"first")
os.mkdir("b"); assert S3.get("one") == b"first"
S3.put("two", b"second"); S3.delete("one"); os.mkdir("c")
assert S3.list() == {"two": 6}
refused(404, S3.get, "one")
"""
    )
    assert told(outcome) == [
        "mkdir a",
        "PUT s3://things/one (5 bytes) → 200",
        "mkdir b",
        "GET s3://things/one → 200",
        "PUT s3://things/two (6 bytes) → 200",
        "DELETE s3://things/one → 204",
        "mkdir c",
        "GET s3://things/?list → 200",
        "GET s3://things/one → 404",
    ]
    assert held(runner) == {"two": b"second"}
    assert (outcome.result.operations, outcome.result.steps) == (3, 9)
    assert not outcome.result.reaches_out
    asked = [(one.step, one.operation, one.key, one.status) for one in outcome.result.requests]
    assert asked == [
        (2, "PutObject", "one", 200),
        (4, "GetObject", "one", 200),
        (5, "PutObject", "two", 200),
        (6, "DeleteObject", "one", 204),
        (8, "ListObjectsV2", "", 200),
        (9, "GetObject", "one", 404),
    ]


def test_what_was_stored_through_a_mapping_before_comes_before(runner: Runner) -> None:
    outcome = runner.ok(
        CLIENT
        + """
import mmap
file = open("m", "w+b"); file.truncate(8); mapped = mmap.mmap(file.fileno(), 8)
mapped[:1] = b"x"; S3.put("one", b"first"); mapped[:1] = b"y"
"""
    )
    assert told(outcome)[-3:] == [
        "store through mmap m (1 byte at 0)",
        "PUT s3://things/one (5 bytes) → 200",
        "store through mmap m (1 byte at 0)",
    ]


def test_every_state_holds_the_bucket_of_its_moment(runner: Runner) -> None:
    runner.ok(CLIENT + 'S3.put("one", b"first"); S3.put("one", b"other"); S3.put("two", b"2")')
    log = runner.client.objects.read_bytes()
    lines = log.splitlines(keepends=True)
    look = CLIENT + "print(sorted((key, S3.get(key)) for key in S3.list()))"
    for count, expected in (
        (1, [("one", b"first")]),
        (3, [("one", b"other"), ("two", b"2")]),
        (0, []),
        (2, [("one", b"other")]),
    ):
        runner.client.objects.write_bytes(b"".join(lines[:count]))
        outcome = runner.python(look, fresh=False)
        assert outcome.result.output == f"{expected}\n", outcome.result.error_output


def test_a_kill_right_after_a_request(runner: Runner) -> None:
    outcome = runner.python(CLIENT + 'os.mkdir("a"); S3.put("one", b"x"); os.mkdir("b")', kill_at=2)
    assert (outcome.result.killed_at, outcome.differences) == (2, [])
    assert held(runner) == {"one": b"x"}
    again = runner.ok(CLIENT + 'assert S3.get("one") == b"x"', fresh=False)
    assert not any(isinstance(e, Stored) and e.data for o in again.operations for e in o.effects)


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_SESSION_TOKEN"])
def test_nothing_leads_past_the_store_that_is_given(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "theirs")
    told = environment(runner.client, keep_tmpdir=False)
    assert name not in told
    assert told["AWS_ACCESS_KEY_ID"] != "theirs"
    assert told["AWS_ENDPOINT_URL"] == f"http://127.0.0.1:{runner.client.store_port}"
