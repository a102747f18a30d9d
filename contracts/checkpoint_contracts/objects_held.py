"""What the store has to hold when a job has ended well, and what it holds instead.

Bytes count, by their SHA-256, not what the store says of them. Of each object of the undisturbed
runs, in this order:

1.  it must be held
2.  if it was sent since the trial began, it must be what was sent last, however that was answered
    (what the job knows to be refused was not sent); else what it was at the crash; else, where the
    two undisturbed runs stored the same bytes under that key, those
3.  where they did, and neither stored it more than once, it must not be shorter than there: what
    was sent was a part

Objects whose names are new in each run are looked for by their bytes, where those are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkpoint_contracts.bucket import Bucket, StoredObject, StoreRequest, by_key, last_sent
from checkpoint_contracts.evidence import Reference
from checkpoint_contracts.verdict import Symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """An object that is not as it must be."""

    symptom: Symptom
    key: str
    words: str
    """The second half of a headline: ``out/a.bin is not in the bucket``."""
    expected: str
    seen: str


def other_objects(reference: Reference) -> Sequence[StoredObject]:
    """What the other undisturbed run had stored."""
    return () if reference.other_run is None else reference.other_run.objects


def steady_keys(reference: Reference) -> frozenset[str]:
    """Keys under which both undisturbed runs have stored the same bytes."""
    theirs = by_key(other_objects(reference))
    return frozenset(
        one.key
        for one in reference.objects
        if one.key in theirs and theirs[one.key].digest == one.digest
    )


def wrong_objects(
    held: Iterable[StoredObject],
    requests: Sequence[StoreRequest],
    reference: Reference,
    *,
    crashed: bool,
) -> tuple[Wrong, ...]:
    """Of all that the undisturbed run had stored, in the order of their keys.

    ``requests``: since the state that the job began with; ``crashed``: that state is one of the
    recorded run's, so that what lay there is what that run had sent.
    """
    have, held = by_key(held), tuple(held)
    theirs = by_key(other_objects(reference))
    steady = steady_keys(reference)
    bucket = reference.bucket or Bucket()
    found: list[Wrong] = []
    for one in sorted(reference.objects, key=lambda one: one.key):
        if one.key not in theirs or one.key in bucket.ephemeral:
            continue
        is_steady = one.key in steady
        last = last_sent(requests, one.key)
        as_it_was = crashed and last is None and one.key not in bucket.rewritten
        known = is_steady or as_it_was
        wrong = _wrong(
            have.get(one.key),
            last,
            one,
            known=known,
            whole=is_steady and one.key not in bucket.rewritten,
        )
        if wrong is not None:
            found.append(wrong)
    return (*found, *_nameless(held, reference))


def _wrong(
    now: StoredObject | None,
    last: StoreRequest | None,
    usual: StoredObject,
    *,
    known: bool,
    whole: bool,
) -> Wrong | None:
    """``known``: it must be the usual one if it was not sent; ``whole``: never shorter than it."""
    digest, size = (usual.digest, usual.size_bytes) if known else ("", usual.size_bytes)
    if last is not None and last.digest:
        digest, size = last.digest, last.size_bytes
    expected = f"{usual.key}, {size} bytes, as it was sent"
    if now is None:
        return Wrong(
            symptom=Symptom.OBJECT_LOST,
            key=usual.key,
            words=f"{usual.key} is not in the bucket",
            expected=expected,
            seen=f"no object under that key{_answered(last)}",
        )
    if digest and now.digest != digest:
        how = "other bytes than were sent"
        if now.size_bytes != size:
            how = f"{now.size_bytes} of the {size} bytes that were sent"
        return Wrong(
            symptom=Symptom.OBJECT_SPOILT,
            key=usual.key,
            words=f"{usual.key} holds {how}",
            expected=f"{expected} (sha256 {digest[:16]}…)",
            seen=f"{now.size_bytes} bytes (sha256 {now.digest[:16]}…){_answered(last)}",
        )
    return partial_object(now, usual) if whole else None


def partial_object(now: StoredObject, usual: StoredObject) -> Wrong | None:
    """Whether it is shorter than the undisturbed run's, and not the same."""
    if now.digest == usual.digest or now.size_bytes >= usual.size_bytes:
        return None
    return Wrong(
        symptom=Symptom.OBJECT_PARTIAL,
        key=usual.key,
        words=(
            f"{usual.key} is in the bucket, {now.size_bytes} bytes of what are "
            f"{usual.size_bytes} undisturbed"
        ),
        expected=f"{usual.key} absent, or with its {usual.size_bytes} bytes",
        seen=f"{now.size_bytes} bytes under that key",
    )


def _answered(last: StoreRequest | None) -> str:
    if last is None:
        return ""
    what = f"was answered {last.status}" if last.status else "was not answered"
    return f"; the last request that sent it {what}"


def _nameless(held: Sequence[StoredObject], reference: Reference) -> Iterator[Wrong]:
    """Of objects whose keys are new in each run: bytes that are held under no key."""
    ours, theirs = by_key(reference.objects), by_key(other_objects(reference))
    wanted = Counter(one.digest for one in reference.objects if one.key not in theirs)
    if wanted != Counter(one.digest for one in other_objects(reference) if one.key not in ours):
        return
    have = Counter(one.digest for one in held if one.key not in ours or one.key not in theirs)
    sizes = {one.digest: one for one in reference.objects}
    for digest in wanted - have:
        usual = sizes[digest]
        yield Wrong(
            symptom=Symptom.OBJECT_LOST,
            key=usual.key,
            words=(
                f"an object of {usual.size_bytes} bytes, {usual.key} undisturbed, is in the "
                "bucket under no key"
            ),
            expected=f"{usual.size_bytes} bytes (sha256 {digest[:16]}…) under some key",
            seen="no object holds these bytes",
        )


def not_compared(reference: Reference) -> tuple[str, ...]:
    """What cannot be held against the undisturbed runs, sentences without a full stop."""
    ours, theirs = by_key(reference.objects), by_key(other_objects(reference))
    loose = [one for one in reference.objects if one.key not in theirs]
    others = Counter(one.digest for one in other_objects(reference) if one.key not in ours)
    if not loose:
        return ()
    if Counter(one.digest for one in loose) == others:
        return ("keys are new in each run, so these objects are looked for by their bytes",)
    return (
        f"keys and bytes are new in each run, so these objects are not looked for: {loose[0].key}"
        + (f" and {len(loose) - 1} more" if len(loose) > 1 else ""),
    )
