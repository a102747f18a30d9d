"""Which of a job's uploads a slow store keeps waiting: those that are its own."""

from __future__ import annotations

import pytest

from checkpoint_contracts.bucket import Bucket, StoreRequest, Verb
from pytest_checkpoint.phases.staging.slow import uploads_of
from tests.contracts.builders import undisturbed

PROBES = Bucket(ephemeral=frozenset({"p/_probe"}), markers_in_bucket=frozenset({"p/done/a"}))


def asked(*requests: tuple[Verb, str]) -> tuple[StoreRequest, ...]:
    return tuple(StoreRequest(verb=verb, key=key) for verb, key in requests)


@pytest.mark.parametrize(
    ("requests", "found"),
    [
        ((), (1, 0)),
        (((Verb.PUT, "p/a"), (Verb.PUT, "p/done/a"), (Verb.PART, "p/b")), (1, 2)),
        (((Verb.HEAD, "p/_probe"), (Verb.PUT, "p/_probe"), (Verb.PUT, "p/a")), (2, 1)),
        (((Verb.CREATE, "p/b"), (Verb.PART, "p/b"), (Verb.COMPLETE, "p/b")), (1, 1)),
    ],
)
def test_the_first_and_how_many(
    requests: tuple[tuple[Verb, str], ...], found: tuple[int, int]
) -> None:
    assert uploads_of(undisturbed(requests=asked(*requests), bucket=PROBES)) == found
