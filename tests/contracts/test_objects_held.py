"""What the store must hold at a good end, and what counts as something else."""

from __future__ import annotations

import pytest

from checkpoint_contracts.bucket import Bucket, StoredObject, StoreRequest, Verb
from checkpoint_contracts.evidence import Reference
from checkpoint_contracts.objects_held import not_compared, wrong_objects
from checkpoint_contracts.verdict import Symptom
from tests.contracts.store_builders import A, B, held, put, stored

HALF = held("out/a", b"as it is")
SAME_LENGTH = held("out/a", b"as it is undistorted"[:20])
NEW = b"other bytes, of this trial"
LOST, SPOILT, PARTIAL = Symptom.OBJECT_LOST, Symptom.OBJECT_SPOILT, Symptom.OBJECT_PARTIAL


def seen(
    *objects: StoredObject,
    requests: tuple[StoreRequest, ...] = (),
    reference: Reference | None = None,
    crashed: bool = False,
) -> list[tuple[Symptom, str]]:
    reference = reference or stored()
    wrong = wrong_objects(objects, requests, reference, crashed=crashed)
    assert all(one.expected and one.seen for one in wrong)
    return [(one.symptom, one.key) for one in wrong]


def test_all_is_held() -> None:
    assert seen(A, B) == []
    assert seen(A, B, held("out/c")) == []


def test_what_is_not_held_is_lost_whatever_was_answered() -> None:
    assert seen(B) == [(LOST, "out/a")]
    assert seen(B, requests=(put("out/a"),)) == [(LOST, "out/a")]
    (wrong, _) = wrong_objects((), (put("out/a"),), stored(), crashed=False)
    assert wrong.words == "out/a is not in the bucket"
    assert wrong.seen == "no object under that key; the last request that sent it was answered 200"


def test_what_is_ephemeral_is_left_out() -> None:
    reference = stored(bucket=Bucket(ephemeral=frozenset({"out/a"})))
    assert seen(B, reference=reference) == []
    assert seen(A, reference=reference) == [(LOST, "out/b")]


def test_what_was_sent_counts_and_not_what_is_usual() -> None:
    sent = (put("out/a", NEW),)
    assert seen(held("out/a", NEW), B, requests=sent) == []
    # The bytes of the undisturbed run, and not those that were sent: an older object.
    assert seen(A, B, requests=sent) == [(SPOILT, "out/a")]


def test_of_two_sent_the_later_counts_unless_it_was_refused() -> None:
    both = (put("out/a"), put("out/a", NEW))
    assert seen(held("out/a", NEW), B, requests=both) == []
    assert seen(A, B, requests=both) == [(SPOILT, "out/a")]
    # 412 to If-None-Match: the first is there, by the job's own doing.
    refused = (put("out/a", status=0), put("out/a", NEW, status=412))
    assert seen(A, B, requests=refused) == []
    # A 503 is no refusal: what was sent is not there.
    failed = (put("out/a"), put("out/a", NEW, status=503))
    assert seen(A, B, requests=failed) == [(SPOILT, "out/a")]


def test_how_much_of_it_is_told() -> None:
    (wrong,) = wrong_objects((HALF, B), (put("out/a"),), stored(), crashed=False)
    assert wrong.words == "out/a holds 8 of the 20 bytes that were sent"
    (wrong,) = wrong_objects((SAME_LENGTH, B), (put("out/a"),), stored(), crashed=False)
    assert wrong.words == "out/a holds other bytes than were sent"


def test_a_part_that_was_sent_as_if_it_were_the_whole() -> None:
    sent = (put("out/a", b"as it is"),)
    assert seen(HALF, B, requests=sent) == [(PARTIAL, "out/a")]
    # Objects that differ from run to run, or grow within one, have no whole.
    other = stored(A, B, other=(held("out/a", b"another"), B))
    assert seen(HALF, B, requests=sent, reference=other) == []
    grows = stored(A, B, bucket=Bucket(rewritten=frozenset({"out/a"})))
    assert seen(HALF, B, requests=sent, reference=grows) == []


def test_what_was_not_sent_is_what_it_was_at_the_crash() -> None:
    varies = stored(A, B, other=(held("out/a", b"another"), B))
    assert seen(HALF, B, reference=varies, crashed=True) == [(SPOILT, "out/a")]
    # In a fresh run nobody knows what it would have been, only that it must be there.
    assert seen(HALF, B, reference=varies) == []
    assert seen(B, reference=varies) == [(LOST, "out/a")]


def test_an_object_in_parts_whose_bytes_are_not_known() -> None:
    complete = StoreRequest(verb=Verb.COMPLETE, key="out/a", status=200)
    assert seen(A, B, requests=(complete,)) == []
    assert seen(HALF, B, requests=(complete,)) == [(SPOILT, "out/a")]
    parts = StoreRequest(verb=Verb.PART, key="out/a", digest="of a part", status=200)
    assert seen(A, B, requests=(parts, complete)) == []


@pytest.mark.parametrize("crashed", [False, True])
def test_new_keys_in_each_run_are_looked_for_by_bytes(crashed: bool) -> None:
    ours, theirs = held("out/4711", b"x"), held("out/8150", b"x")
    reference = stored(ours, B, other=(theirs, B))
    assert seen(held("out/9", b"x"), B, reference=reference, crashed=crashed) == []
    assert seen(B, reference=reference, crashed=crashed) == [(LOST, "out/4711")]
    assert "by their bytes" in not_compared(reference)[0]


def test_new_keys_and_bytes_in_each_run_are_not_looked_for() -> None:
    reference = stored(held("out/4711", b"x"), B, other=(held("out/8150", b"y"), B))
    assert seen(B, reference=reference) == []
    assert not_compared(reference) == (
        "keys and bytes are new in each run, so these objects are not looked for: out/4711",
    )
    assert not_compared(stored()) == ()


def test_bytes_that_are_not_known_are_not_those_at_the_crash() -> None:
    """Sent anew in parts, with bytes that are others in each run."""
    varies = stored(A, B, other=(held("out/a", b"another"), B))
    complete = StoreRequest(verb=Verb.COMPLETE, key="out/a", status=200)
    assert seen(HALF, B, requests=(complete,), reference=varies, crashed=True) == []
