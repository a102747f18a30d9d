"""The object store that a subject declares: which one its slot is to have."""

from __future__ import annotations

from pytest_checkpoint.options import Options
from pytest_checkpoint.record.store import embedded
from pytest_checkpoint.record.store.wanted import WantedStore
from pytest_checkpoint.subject import Subject


def require_store(subject: Subject, options: Options) -> None:
    """UserError with a sentence if what the kit's own store needs is not installed."""
    if subject.s3 is not None and not options.s3_endpoint:
        embedded.require()


def wanted_store(subject: Subject, options: Options) -> WantedStore | None:
    """None: the subject has none."""
    if subject.s3 is None:
        return None
    return WantedStore(
        bucket=subject.s3.bucket, prefix=subject.s3.prefix, endpoint=options.s3_endpoint
    )
