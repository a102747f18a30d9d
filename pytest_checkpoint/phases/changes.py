"""What a resume changed: outputs, and other files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_checkpoint.phases.store.markers import ephemeral_keys
from pytest_checkpoint.record.describe import shown_path
from pytest_checkpoint.record.operations import WORKSPACE
from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.states.globs import Globs
from pytest_checkpoint.subject import Subject
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.image import Directory, File, Image, Node, Special, Symlink, printable

_WINDOW_BYTES = 1 << 20


class Changes(NamedTuple):
    """In words, a line per path: ``report.json: 12 bytes before, 14 after``."""

    outputs: tuple[str, ...]
    others: tuple[str, ...]
    """In the workspace, but no outputs."""


def changes(
    before: Image, after: Image, outputs: Iterable[str], ephemeral: Iterable[str] = ()
) -> Changes:
    """How the workspace differs: names, types, modes, link targets and bytes; times do not count.

    What the globs ``ephemeral`` match is left out, and so is TMPDIR. A directory is never an
    output: what lies in it may be.
    """
    wanted, left_out = Globs(outputs), Globs(ephemeral)
    old, new = _workspace(before), _workspace(after)
    changed: list[str] = []
    others: list[str] = []
    for path in sorted(old.keys() | new.keys()):
        if left_out.match(path):
            continue
        text = change(old.get(path), new.get(path))
        if text is None:
            continue
        is_output = wanted.match(path) and not all(
            _may_be_no_output(node) for node in (old.get(path), new.get(path))
        )
        (changed if is_output else others).append(f"{shown_path(path)}: {text}")
    return Changes(tuple(changed), tuple(others))


def object_changes(before: bytes, after: bytes, subject: Subject) -> tuple[str, ...]:
    """How the object store differs: keys and bytes. Times and metadata do not count.

    Of two logs of objects; ephemeral keys are left out.
    """
    if subject.s3 is None:
        return ()
    old, new = fold(before).objects, fold(after).objects
    keys = old.keys() | new.keys()
    bucket = subject.s3.bucket
    changed = []
    for key in sorted(keys - ephemeral_keys(subject, keys)):
        one, other = old.get(key), new.get(key)
        if one is not None and other is not None:
            if one.sha256 == other.sha256:
                continue
            same = one.size == other.size
            text = f"other {one.size} bytes" if same else f"{one.size} bytes, then {other.size}"
        else:
            text = "gone after" if other is None else "an object that was not there before"
        changed.append(f"s3://{bucket}/{key}: {text}")
    return tuple(changed)


def outputs_of(
    image: Image, outputs: Iterable[str], ephemeral: Iterable[str] = ()
) -> dict[str, Node]:
    """What the globs ``outputs`` match and ``ephemeral`` do not, by the path that is shown."""
    wanted, left_out = Globs(outputs), Globs(ephemeral)
    return {
        shown_path(path): node
        for path, node in _workspace(image).items()
        if wanted.match(path) and not left_out.match(path) and not _may_be_no_output(node)
    }


def stamp(node: Node) -> str:
    """A text that is the same for what :func:`changes` takes to be the same."""
    if isinstance(node, Symlink):
        return f"link {node.target.hex()}"
    if isinstance(node, File):
        return f"{node.mode:04o} {node.content.size} {node.content.digest.hex()}"
    return f"{node.mode:04o} {_kind_only(node)}"


def _may_be_no_output(node: Node | None) -> bool:
    """A directory is never one, and what is not there need not be."""
    return isinstance(node, Directory | None)


def _workspace(image: Image) -> dict[bytes, Node]:
    return {path: node for path, _, node in walk(image) if path.startswith(WORKSPACE + b"/")}


def change(before: Node | None, after: Node | None) -> str | None:
    """How one name differs, in words; None if it does not."""
    if before is None or after is None:
        if after is not None:
            return f"{_kind(after)} that was not there before"
        return f"{_kind(before)} before, gone after" if before is not None else None
    if _kind_only(before) != _kind_only(after):
        return f"{_kind(before)} before, {_kind(after)} after"
    texts = []
    if isinstance(before, File) and isinstance(after, File):
        texts += _content_change(before, after)
    if isinstance(before, Symlink) and isinstance(after, Symlink) and before.target != after.target:
        texts.append(
            f"a link to {printable(before.target)} before, to {printable(after.target)} after"
        )
    if before.mode != after.mode and not isinstance(before, Symlink):
        texts.append(f"mode {before.mode:04o} before, {after.mode:04o} after")
    return ", ".join(texts) or None


def _content_change(before: File, after: File) -> list[str]:
    one, other = before.content, after.content
    if one == other:
        return []
    sizes = (
        f"{one.size} bytes"
        if one.size == other.size
        else f"{one.size} bytes before, {other.size} after"
    )
    for start in range(0, max(one.size, other.size), _WINDOW_BYTES):
        old, new = one.read(start, _WINDOW_BYTES), other.read(start, _WINDOW_BYTES)
        if old != new:
            pairs = enumerate(zip(old, new, strict=False))
            common = min(len(old), len(new))
            at = start + next((index for index, (a, b) in pairs if a != b), common)
            return [f"{sizes}, differs from byte {at} on"]
    return [sizes]


def _kind(node: Node) -> str:
    if isinstance(node, File):
        return f"a file of {node.content.size} bytes"
    return _kind_only(node)


def _kind_only(node: Node) -> str:
    if isinstance(node, Special):
        return f"a {node.kind}"
    return {File: "a file", Directory: "a directory", Symlink: "a symbolic link"}[type(node)]
