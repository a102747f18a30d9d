"""What a store does to its clients, each fault once: as the tiny client and as boto3 see it."""

from __future__ import annotations

import pytest

from pytest_checkpoint.record.operations import Operation, Stored
from pytest_checkpoint.record.store.faults import Kind, StoreFault, store_fault_at
from tests.kit.record.conftest import Outcome, Runner, sound
from tests.kit.record.store.conftest import CLIENT, WITH_PACKAGES
from tests.kit.record.store.test_recorded import held, told

_BODY = b"0123456789"
_PUT = f"assert S3.put(key, {_BODY!r})"
_CUT = f"raises(errno.ECONNRESET, S3.put, key, {_BODY!r})"
_SEEN = {
    Kind.SILENT_SUCCESS: (_PUT, None),
    Kind.TRUNCATED_BODY: (_PUT, b"01234"),
    Kind.FLIPPED_BODY: (_PUT, b"0123446789"),
    Kind.LOST_REPLY: (_CUT, _BODY),
    Kind.SLOW_DOWN: (f"refused(503, S3.put, key, {_BODY!r})", None),
    Kind.INTERNAL_ERROR: (f"refused(500, S3.put, key, {_BODY!r})", None),
    Kind.RESET_BEFORE: (_CUT, None),
    Kind.RESET_IN_BODY: (_CUT, None),
    Kind.FORBIDDEN: (f"refused(403, S3.put, key, {_BODY!r})", None),
    Kind.NO_SUCH_BUCKET: (f"refused(404, S3.put, key, {_BODY!r})", None),
    Kind.WRONG_ETAG: (f"assert set(S3.put(key, {_BODY!r})) == set('\"0')", _BODY),
    Kind.DUPLICATE_DELIVERY: (_PUT, _BODY),
}


_NUMBERED = list(enumerate(_SEEN, 1))


def hit(runner: Runner, fault: StoreFault, source: str) -> Outcome:
    outcome = sound(runner.python(CLIENT + source, store_faults=(fault,)))
    asked = next(one for one in outcome.result.requests if one.fault)
    assert (asked.fault, asked.step) == (fault.kind, outcome.result.fired_at)
    return outcome


def test_what_is_seen_and_what_is_held(runner: Runner) -> None:
    faults = tuple(StoreFault(kind=kind, method="PUT", occurrence=n) for n, kind in _NUMBERED)
    source = "\n".join(f"key = {kind.value!r}; {seen}" for kind, (seen, _) in _SEEN.items())
    outcome = sound(runner.python(CLIENT + source, store_faults=faults))
    assert [one.fault for one in outcome.result.requests] == list(_SEEN)
    assert outcome.result.fired_at == 1
    assert held(runner) == {kind: left for kind, (_, left) in _SEEN.items() if left is not None}
    look = f"assert {{k: S3.get(k) for k in S3.list()}} == {held(runner)!r}"
    runner.ok(CLIENT + look, fresh=False)


def test_a_stale_list(runner: Runner) -> None:
    outcome = hit(
        runner,
        StoreFault(kind=Kind.STALE_LIST),
        "S3.put('k', b'x'); S3.put('l', b'x'); assert list(S3.list()) == ['k']; S3.delete('l')",
    )
    assert told(outcome)[2:] == ["GET s3://things/?list → 200", "DELETE s3://things/l → 204"]
    assert held(runner) == {"k": b"x"}


def test_who_is_left_hanging_gives_up_and_nobody_waits(runner: Runner) -> None:
    source = """
import threading
def hang():
    impatient = Bucket(S3.name, timeout_s=0.3)
    raises(None, impatient.put, "k", b"x")
thread = threading.Thread(target=hang); thread.start()
os.mkdir("a"); S3.put("other", b"x"); thread.join(); os.mkdir("b"); S3.put("k", b"y")
"""
    hit(runner, StoreFault(kind=Kind.HANG, path="PUT s#://things/k"), source)
    assert held(runner) == {"k": b"y", "other": b"x"}


def test_a_slow_line_is_shared_and_others_do_not_wait(runner: Runner) -> None:
    source = """
import threading, time
def put(key):
    Bucket(S3.name).put(key, b"x" * 1000)
threads = [threading.Thread(target=put, args=(key,)) for key in "kl"]
begun = time.monotonic()
for thread in threads: thread.start()
os.mkdir("a"); assert S3.list() == {}; assert time.monotonic() - begun < 0.3
for thread in threads: thread.join()
assert time.monotonic() - begun >= 0.4
"""
    fault = StoreFault(kind=Kind.SLOW, method="PUT", times=None, bytes_per_s=5000.0)
    outcome = hit(runner, fault, source)
    assert sorted(held(runner)) == ["k", "l"]
    assert [one.fault for one in outcome.result.requests] == ["", "slow", "slow"]


_LEAVES = """
import threading, time
threading.Thread(target=S3.put, args=("k", b"x"), daemon=True).start()
time.sleep(0.2); os._exit(0)
"""


@pytest.mark.parametrize(
    "source", ["raises(None, Bucket(S3.name, timeout_s=0.1).put, 'k', b'x')", _LEAVES]
)
def test_who_does_not_wait_for_a_slow_store_is_in_the_log(runner: Runner, source: str) -> None:
    outcome = hit(runner, StoreFault(kind=Kind.SLOW, seconds=60.0), source)
    asked = [(one.key, one.size, one.status, one.fault) for one in outcome.result.requests]
    assert asked == [("k", 1, 0, "slow")]
    assert held(runner) == {}


def test_what_is_refused_late_was_slow_too(runner: Runner) -> None:
    source = "refused(400, S3.put, 'k', b'x', {'x-amz-checksum-crc32': 'AAAAAA=='})"
    hit(runner, StoreFault(kind=Kind.SLOW, seconds=0.1), source)


def test_so_many_in_a_row_from_one_on(runner: Runner) -> None:
    source = "".join(f"refused({n}, S3.get, 'no');" for n in (404, 503, 503, 404))
    fault = StoreFault(kind=Kind.SLOW_DOWN, operation="GetObject", occurrence=2, times=2)
    hit(runner, fault, source)


def test_a_fault_is_found_again_by_what_was_recorded(runner: Runner) -> None:
    source = CLIENT + "S3.put('k', b'1'); S3.put('l', b'2'); S3.put('k', b'3')"
    operations = runner.ok(source).operations
    fault = store_fault_at(operations, 3, Kind.SILENT_SUCCESS)
    # Paths of single letters are told apart, and 's3' has a digit.
    assert (fault.path, fault.occurrence) == ("PUT s#://things/k", 2)
    outcome = runner.python(source, store_faults=(fault,))
    assert outcome.result.fired_at == 3
    assert held(runner) == {"k": b"1", "l": b"2"}
    with pytest.raises(ValueError, match="no request"):
        store_fault_at([Operation(step=1, call="mkdir", path=b"w/a", effects=())], 1, Kind.HANG)


def test_what_does_not_apply_does_not_fire(runner: Runner) -> None:
    fault = StoreFault(kind=Kind.TRUNCATED_BODY, times=None)
    outcome = runner.ok(CLIENT + "S3.list(); refused(404, S3.get, 'k')", store_faults=(fault,))
    assert outcome.result.fired_at is None
    checked = runner.guarded(CLIENT + "S3.put('k', b'12')", store_faults=(fault,), filtered=False)
    assert checked.exit_code == 0, checked.error_output
    assert held(runner) == {"k": b"12"}  # a check is not lied to


def test_what_makes_no_sense() -> None:
    for occurrence, times, changes in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="count from 1"):
            StoreFault(kind=Kind.STALE_LIST, occurrence=occurrence, times=times, changes=changes)
    with pytest.raises(ValueError, match="slow by how much"):
        StoreFault(kind=Kind.SLOW)


_BOTO = f"""{WITH_PACKAGES}
import boto3, botocore.exceptions
from botocore.config import Config
config = Config(retries={{"mode": "standard", "total_max_attempts": 1}}, read_timeout=0.5)
S3 = boto3.client("s3", config=config)
def code(fault):
    try:
        S3.put_object(Bucket="things", Key="k", Body=b"0123456789")
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
    except botocore.exceptions.BotoCoreError as error:
        return type(error).__name__
print(*map(code, range(8)))
"""


def test_what_boto3_makes_of_them(runner: Runner) -> None:
    kinds = {
        Kind.SLOW_DOWN: "SlowDown",
        Kind.INTERNAL_ERROR: "InternalError",
        Kind.FORBIDDEN: "AccessDenied",
        Kind.NO_SUCH_BUCKET: "NoSuchBucket",
        Kind.RESET_BEFORE: "ConnectionClosedError",
        Kind.LOST_REPLY: "ConnectionClosedError",
        Kind.HANG: "ReadTimeoutError",
        Kind.RESET_IN_BODY: "ConnectionClosedError",
    }
    faults = tuple(StoreFault(kind=kind, occurrence=n) for n, kind in enumerate(kinds, 1))
    outcome = runner.python(_BOTO, store_faults=faults)
    assert outcome.result.exit_code == 0, outcome.result.error_output
    assert outcome.result.output.split() == list(kinds.values())
    sizes = [e.status for o in outcome.operations for e in o.effects if isinstance(e, Stored)]
    assert sizes == [503, 500, 403, 404, 0, 0, 0, 0]
