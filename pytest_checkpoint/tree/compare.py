"""When two trees are equal, and how they differ, in words.

Names, types, modes, link targets, hard links and contents count. Times, owners, extended attributes
and the numbers of nodes do not.

A tree's key is the sum of one hash per inode, each over all its paths. So it can be kept up to
date from operation to operation without looking at what did not change, and two names of one inode
differ from two equal files. Nobody chooses names to make such sums collide here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, Literal

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import (
    ROOT,
    Directory,
    File,
    Image,
    Node,
    NodeId,
    Special,
    Symlink,
    printable,
)

KEY_BYTES: Final = 32
_MODULUS: Final = 1 << (8 * KEY_BYTES)
_WINDOW_BYTES: Final = 1 << 20

Ignored = Mapping[NodeId, Sequence[range] | Literal[True]]
"""Expected node → byte ranges of its content that do not count, or True: all of it."""


def walk(image: Image) -> Iterator[tuple[bytes, NodeId, Node]]:
    """Every name that can be reached, in sorted depth-first order; the root first, as ``b""``.

    A node with several names comes once per name.
    """
    pending = [(b"", ROOT)]
    while pending:
        path, number = pending.pop()
        node = image.nodes.get(number)
        if node is None:
            raise HarnessError(
                f"a tree names the node {number} as {printable(path)!r}, but does not hold it"
            )
        yield path, number, node
        if isinstance(node, Directory):
            pending += [
                (path + b"/" + name if path else name, inner)
                for name, inner in sorted(node.entries.items(), reverse=True)
            ]


def key(image: Image) -> bytes:
    """32 bytes, the same for equal trees."""
    names: dict[NodeId, list[bytes]] = {}
    for path, number, _ in walk(image):
        names.setdefault(number, []).append(path)
    return total_key(term(paths, image.nodes[number]) for number, paths in names.items())


def total_key(terms: Iterable[int]) -> bytes:
    """The key of a tree whose nodes have these terms."""
    return (sum(terms) % _MODULUS).to_bytes(KEY_BYTES, "little")


def term(paths: Sequence[bytes], node: Node) -> int:
    """What one node adds to the key of its tree: 0 if no path leads to it."""
    if not paths:
        return 0
    names = paths[0] if len(paths) == 1 else b"\0".join(sorted(paths))
    if isinstance(node, File):
        text = b"file %o\0%b\0\0%b" % (node.mode, names, node.content.digest)
    elif isinstance(node, Directory):
        text = b"directory %o\0%b" % (node.mode, names)
    elif isinstance(node, Symlink):
        text = b"symlink\0%b\0\0%b" % (names, node.target)
    elif isinstance(node, Special):
        text = b"%b %d %o\0%b" % (node.kind.encode(), node.device, node.mode, names)
    else:
        raise HarnessError(f"a tree holds a {type(node).__name__}, which has no meaning")
    return int.from_bytes(blake2b(text, digest_size=KEY_BYTES).digest(), "little")


def differences(expected: Image, found: Image, *, ignore: Ignored | None = None) -> list[str]:
    """One line per path that differs, in sorted order: none if the trees are equal.

    The sizes of files count also where their content is ignored: a store through a mapping cannot
    change them.
    """
    wanted = {path: (number, node) for path, number, node in walk(expected)}
    actual = {path: (number, node) for path, number, node in walk(found)}
    lines = []
    for path in sorted(wanted.keys() | actual.keys()):
        shown = printable(path) or "."
        if path not in actual:
            lines.append(f"{shown}: {_kind(wanted[path][1])} expected, nothing found")
        elif path not in wanted:
            lines.append(f"{shown}: nothing expected, {_kind(actual[path][1])} found")
        else:
            number, node = wanted[path]
            ignored = (ignore or {}).get(number, ())
            lines += [f"{shown}: {text}" for text in _unlike(node, actual[path][1], ignored)]
    return lines + _unlike_links(wanted, actual)


def _kind(node: Node) -> str:
    if isinstance(node, Special):
        return f"a {node.kind}"
    return {File: "a file", Directory: "a directory", Symlink: "a symbolic link"}[type(node)]


def _unlike(expected: Node, found: Node, ignored: Sequence[range] | Literal[True]) -> list[str]:
    if _kind(expected) != _kind(found):
        return [f"{_kind(expected)} expected, {_kind(found)} found"]
    texts = []
    if expected.mode != found.mode and not isinstance(expected, Symlink):
        texts.append(f"mode {expected.mode:04o} expected, {found.mode:04o} found")
    if isinstance(expected, File) and isinstance(found, File):
        texts += _unlike_content(expected.content, found.content, ignored)
    elif isinstance(expected, Symlink) and isinstance(found, Symlink):
        if expected.target != found.target:
            texts.append(
                f"a link to {printable(expected.target)} expected, "
                f"to {printable(found.target)} found"
            )
    elif isinstance(expected, Special) and isinstance(found, Special):
        one, other = expected.device, found.device
        if one != other:
            texts.append(f"device {one:#x} expected, {other:#x} found")
    return texts


def _unlike_content(
    expected: Content, found: Content, ignored: Sequence[range] | Literal[True]
) -> list[str]:
    if expected.size != found.size:
        return [f"{expected.size} bytes expected, {found.size} found"]
    if ignored is True or expected == found:
        return []
    for start in range(0, expected.size, _WINDOW_BYTES):
        one = expected.read(start, _WINDOW_BYTES)
        other = found.read(start, _WINDOW_BYTES)
        if one != other:
            one, other = (_masked(data, start, ignored) for data in (one, other))
        if one != other:
            at = start + next(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
            return [f"differs from byte {at} of {expected.size}"]
    return []


def _masked(data: bytes, start: int, ignored: Sequence[range]) -> bytes:
    """``data``, which begins at ``start`` in its file, with zeros in the ignored ranges."""
    masked = bytearray(data)
    for span in ignored:
        first = max(span.start - start, 0)
        last = min(span.stop - start, len(data))
        if first < last:
            masked[first:last] = bytes(last - first)
    return bytes(masked)


def _unlike_links(
    wanted: Mapping[bytes, tuple[NodeId, Node]], actual: Mapping[bytes, tuple[NodeId, Node]]
) -> list[str]:
    """Names that are one inode in one tree only; told for names that both trees have."""
    common = sorted(wanted.keys() & actual.keys())
    expected = _fellows(common, wanted)
    found = _fellows(common, actual)
    return [
        f"{printable(path)}: {_links(expected[path], path)} expected, "
        f"{_links(found[path], path)} found"
        for path in common
        if expected[path] != found[path]
    ]


def _fellows(
    paths: Sequence[bytes], tree: Mapping[bytes, tuple[NodeId, Node]]
) -> dict[bytes, list[bytes]]:
    """For each path all those that lead to the same node, itself among them."""
    groups: dict[NodeId, list[bytes]] = {}
    for path in paths:
        groups.setdefault(tree[path][0], []).append(path)
    return {path: groups[tree[path][0]] for path in paths}


def _links(group: Sequence[bytes], path: bytes) -> str:
    others = ", ".join(printable(other) for other in group if other != path)
    return f"one inode with {others}" if others else "an inode of its own"
