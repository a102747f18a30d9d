"""What an effect makes of one inode, whatever names it has."""

from __future__ import annotations

from pytest_checkpoint.record.operations import Allocate, Create, NodeKind, Truncate, Write
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import Directory, File, Node, Special, Symlink


def new_node(effect: Create, owner: tuple[int, int]) -> Node:
    """The inode as it stands when the call that made it returns."""
    mode = effect.mode & 0o7777
    match effect.kind:
        case NodeKind.FILE:
            return new_file(mode, owner)
        case NodeKind.DIRECTORY:
            return Directory(mode=mode, owner=owner, entries={})
        case NodeKind.SYMLINK:
            return Symlink(mode=mode, owner=owner, target=effect.target)
        case NodeKind.FIFO | NodeKind.SOCKET | NodeKind.DEVICE:
            return Special(mode=mode, owner=owner, kind=effect.kind.value, device=effect.device)


def new_file(mode: int, owner: tuple[int, int]) -> File:
    """An empty one."""
    return File(mode=mode & 0o7777, owner=owner, content=Content.empty())


def changed_content(content: Content, effect: Write | Truncate | Allocate) -> Content:
    """The bytes of a file after ``effect``."""
    match effect:
        case Write(offset=offset, data=data):
            return content.write(offset, data)
        case Truncate(size=size):
            return content.truncate(size)
        case Allocate(zero=True):
            return content.zero(effect.offset, effect.length, keep_size=effect.keep_size)
        case Allocate(keep_size=False):
            return content.allocate(effect.offset, effect.length)
        case Allocate():
            return content  # room is set aside behind the end: nothing to be read there
