"""The bucket in crash states: what it comes to counts; a run's way told by keys, not threads."""

from __future__ import annotations

from pytest_checkpoint.record.drift import drift
from pytest_checkpoint.record.faults import Identity, identity_of, injectable
from pytest_checkpoint.record.operations import STORE_CALL, Operation, Stored
from pytest_checkpoint.record.store.contents import StoredObject, gone_line, object_line
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.image import ROOT, Directory, Image

_EMPTY = Image({ROOT: Directory(mode=0o700, entries={})})
_ONE = object_line(StoredObject(key="one", size=1, sha256="1" * 64))
_TWO = object_line(StoredObject(key="two", size=1, sha256="2" * 64))


def _asked(step: int, data: bytes, path: bytes = b"PUT s3://b/k") -> Operation:
    return Operation(step=step, call=STORE_CALL, path=path, effects=(Stored(data, 200, 1),))


def test_states_are_equal_if_their_buckets_are() -> None:
    lines = [_ONE, b"", _TWO, gone_line("one"), _ONE, gone_line("two")]
    operations = [_asked(step, data) for step, data in enumerate(lines, 1)]
    timeline = Timeline(_EMPTY, b"", operations, start_objects=b"")
    keys = [timeline.key(step) for step in range(len(lines) + 1)]
    assert keys[1] == keys[2] == keys[6]
    assert keys[3] == keys[5]
    assert len(set(keys)) == 4
    assert [timeline.after(step).key for step in range(len(lines) + 1)] == keys
    assert timeline.after(4).objects == _ONE + _TWO + gone_line("one")
    assert State(_EMPTY, b"", b"", _TWO).key == keys[4]
    assert Timeline(_EMPTY, b"", [], start_objects=_ONE).key(0) == keys[1]


def test_a_request_is_known_by_method_and_key() -> None:
    operation = _asked(1, b"", b"PUT s3://b/shard-00012.bin")
    assert identity_of(operation) == Identity(STORE_CALL, "PUT s#://b/shard-#.bin")
    assert not injectable(operation)


def test_threads_may_upload_in_another_order() -> None:
    paths = [b"PUT s3://b/a", b"PUT s3://b/c", b"GET s3://b/a", b"GET s3://b/c"]
    recorded = [_asked(step, b"", path) for step, path in enumerate(paths, 1)]
    order = (1, 0, 3, 2)
    other = [_asked(step, b"", paths[place]) for step, place in enumerate(order, 1)]
    assert drift(recorded, other, 4) is None
    wrong = [_asked(1, b"", paths[0]), _asked(2, b"", b"DELETE s3://b/a")]
    told = drift(recorded, wrong, 3)
    assert told is not None
    assert "DELETE s3://b/a" in told
