"""A value becomes text and side files."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoint_runtime.codec.attachments import Attachment
from checkpoint_runtime.codec.digests import digest
from checkpoint_runtime.codec.kinds import write
from checkpoint_runtime.codec.places import MAX_DEPTH
from checkpoint_runtime.codec.plain import plain_text, text_of
from checkpoint_runtime.codec.problems import ValueProblem
from checkpoint_runtime.codec.writer import Writer

LARGEST_TEXT_BYTES = 256 * 1024
"""A longer text goes to a side file as a whole."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value, as it can be kept."""

    text: str
    """One line of JSON, valid UTF-8; names the attachments."""
    attachments: tuple[Attachment, ...] = ()


def encode(value: object) -> Encoded:
    """The value as text that :func:`decode` makes an equal one of, of the same types throughout.

    What does not come back: that two places held the *same* object (they hold equal ones), the
    strides of an array, and the device of a tensor.

    :raises ValueProblem: it, or a part of it, could not be given back exactly.
    """
    text = plain_text(value)
    if text is not None:
        return _within_limit(text, ())
    writer = Writer(write)
    try:
        tree = writer.json_of(value)
        attachments = writer.finish()
        text = text_of(tree)
    except RecursionError as error:
        # MAX_DEPTH is far below Python's limit: the caller has used up most of that.
        raise ValueProblem(
            "value", f"is nested too deep for this thread ({MAX_DEPTH} levels are the limit)"
        ) from error
    return _within_limit(text, attachments)


def _within_limit(text: str, attachments: tuple[Attachment, ...]) -> Encoded:
    # No character is more than four bytes.
    if len(text) <= LARGEST_TEXT_BYTES // 4:
        return Encoded(text, attachments)
    content = text.encode()
    if len(content) <= LARGEST_TEXT_BYTES:
        return Encoded(text, attachments)
    whole = Attachment.of("json", [content])
    # By content the file would tell apart dicts that differ in order only: the digest does not.
    node = {"$file": whole.name, "digest": digest(text)}
    return Encoded(text_of(node), (*attachments, whole))
