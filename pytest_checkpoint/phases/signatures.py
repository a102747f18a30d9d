"""What two runs of one job have in common: their operations, without what differs by chance."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_checkpoint.record.describe import normalized, signature
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import TEMPORARY, Operation, Origin, Write


def signatures(recording: Recording, *, without: Iterable[bytes] = ()) -> tuple[str, ...]:
    """Kinds and normalised paths of the operations.

    Without stores through a mapping, which are seen at chance moments, and without those of
    ``tempfile``, which tries out by a file in TMPDIR whether it may write there.

    ``without``: paths that do not count either.
    """
    slot = normalized(recording.slot)  # in the targets of links, and another one in the first run
    tried = {operation.path for operation in recording.operations if _tries_tmpdir(operation)}
    tried.update(without)
    return tuple(
        signature(operation).replace(slot, "")
        for operation in recording.operations
        if operation.path not in tried and not _is_mapped(operation)
    )


def order(recording: Recording) -> tuple[str, ...]:
    """As :func:`signatures`, with those of ``tempfile`` where they come: step by step."""
    slot = normalized(recording.slot)
    tried = {operation.path for operation in recording.operations if _tries_tmpdir(operation)}
    return tuple(
        f"{operation.call}, trying out TMPDIR"
        if operation.path in tried
        else signature(operation).replace(slot, "")
        for operation in recording.operations
        if not _is_mapped(operation)
    )


def _is_mapped(operation: Operation) -> bool:
    return any(
        isinstance(effect, Write) and effect.origin is Origin.MAPPED for effect in operation.effects
    )


def _tries_tmpdir(operation: Operation) -> bool:
    written = operation.write
    in_tmpdir = operation.path.startswith(TEMPORARY + b"/")
    return in_tmpdir and written is not None and bytes(written.data) == b"blat"


def first_difference(first: tuple[str, ...], second: tuple[str, ...]) -> str:
    """Of the signatures of two runs, in words; empty: there is none."""
    for step, (one, other) in enumerate(zip(first, second, strict=False), 1):
        if one != other:
            return f"operation {step} was '{one}' in the first run and '{other}' in the second"
    if len(first) != len(second):
        return f"{len(first)} operations in the first run, {len(second)} in the second"
    return ""
