"""In which of the forms that the models know a loss was found: for people, and for the docs.

A form is told by the bytes alone: the small writers write no zeros, and no two writes of them are
alike. What they only make longer is told by its size.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

from benchmarks.real_filesystems.judge import Judge, Moment
from benchmarks.real_filesystems.script import BLOCK
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.timeline import Timeline
from pytest_checkpoint.tree.compare import walk
from pytest_checkpoint.tree.content import Content
from pytest_checkpoint.tree.image import File, Image


class Form(enum.StrEnum):
    NAME_LOST = "a name change is lost, in order"
    NAME_REORDERED = "a name change is lost, a later one is not"
    EMPTY = "a name without its data: length 0"
    PREFIX = "an earlier version of the data"
    ZEROS = "zeros at full length"
    SOME_ZEROS = "zeros in place of some blocks"
    TORN = "torn at a block: old and new bytes"
    PADDED = "zeros up to the next block boundary"


def forms_of(judge: Judge) -> Mapping[Form, int]:
    """Form → in how many different trees of this writer it was found."""
    writer = judge.writer
    timeline = Timeline(writer.start, b"", writer.operations)
    versions = {
        node.content
        for step in range(timeline.steps + 1)
        for node in timeline.after(step).image.nodes.values()
        if isinstance(node, File)
    }
    found: dict[Form, int] = {}
    for tree, image in judge.images.items():
        forms = set(_data_forms(timeline, versions, image, judge.moments[tree]))
        forms |= set(_name_forms(judge, timeline, image, judge.moments[tree]))
        for form in forms:
            found[form] = found.get(form, 0) + 1
    return found


def _data_forms(
    timeline: Timeline, versions: set[Content], image: Image, moments: set[Moment]
) -> Iterator[Form]:
    """Of a tree with the names of a moment at which it was found, so that the data alone differ."""
    files = {path: node for path, _, node in walk(image) if isinstance(node, File)}
    for done, _ in sorted(moments):
        whole = timeline.after(done).image
        wanted = {path: node for path, _, node in walk(whole) if isinstance(node, File)}
        if wanted.keys() != files.keys():
            continue
        for path, node in files.items():
            if node.content != wanted[path].content:
                yield _data_form(node.content, versions)


def _data_form(content: Content, versions: set[Content]) -> Form:
    data = content.read()
    stripped = data.rstrip(b"\0")
    if not data:
        return Form.EMPTY
    if content in versions:
        return Form.PREFIX
    if not stripped:
        return Form.ZEROS
    if Content.of(stripped) in versions and len(data) % BLOCK == 0:
        return Form.PADDED
    return Form.SOME_ZEROS if 0 in data else Form.TORN


def _name_forms(
    judge: Judge, timeline: Timeline, image: Image, moments: set[Moment]
) -> Iterator[Form]:
    names = {path for path, _, _ in walk(image)}
    for done, begun in moments:
        if names == {path for path, _, _ in walk(timeline.after(done).image)}:
            continue
        step = done + 1 if begun else done
        ordered = judge.models[Model.EXT4_ORDERED]
        lost = ordered.allows(image, done) is None or ordered.allows(image, step) is None
        yield Form.NAME_LOST if lost else Form.NAME_REORDERED
