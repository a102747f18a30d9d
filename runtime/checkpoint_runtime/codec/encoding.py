"""A value becomes text and side files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from checkpoint_runtime.codec.attachments import Attachment
from checkpoint_runtime.codec.digests import digest
from checkpoint_runtime.codec.kinds import write
from checkpoint_runtime.codec.places import MAX_DEPTH
from checkpoint_runtime.codec.plain import draft_of, plain_text, text_of
from checkpoint_runtime.codec.problems import ValueProblem
from checkpoint_runtime.codec.writer import Writer

LARGEST_TEXT_BYTES = 256 * 1024
"""A longer text goes to a side file as a whole."""


class Encoded:
    """A value, as it can be kept."""

    def __init__(
        self, text: str | Callable[[], str], attachments: Sequence[Attachment] = ()
    ) -> None:
        """``text``: or what gives it, called once and not before it is needed."""
        self.attachments = tuple(attachments)
        self._text = text

    @property
    def text(self) -> str:
        """One line of JSON, valid UTF-8; names the attachments.

        Where there are any, their content is gone through when this is first asked for.
        """
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text


def encode(value: object) -> Encoded:
    """The value as text that :func:`decode` makes an equal one of, of the same types throughout.

    What does not come back: that two places held the *same* object (they hold equal ones), the
    strides of an array, and the device of a tensor.

    :raises ValueProblem: it, or a part of it, could not be given back exactly.
    """
    text = plain_text(value)
    if text is not None:
        return Encoded(text) if _fits(text) else _as_a_file(text, ())
    writer = Writer(write)
    try:
        tree = writer.json_of(value)
        attachments = writer.finish()
        draft = draft_of(tree)
    except RecursionError as error:
        # MAX_DEPTH is far below Python's limit: the caller has used up most of that.
        raise ValueProblem(
            "value", f"is nested too deep for this thread ({MAX_DEPTH} levels are the limit)"
        ) from error
    if not _fits(draft):
        return _as_a_file(text_of(tree), attachments)
    return Encoded(partial(text_of, tree), attachments) if attachments else Encoded(draft)


def _fits(text: str) -> bool:
    # No character is more than four bytes.
    return len(text) <= LARGEST_TEXT_BYTES // 4 or len(text.encode()) <= LARGEST_TEXT_BYTES


def _as_a_file(text: str, attachments: tuple[Attachment, ...]) -> Encoded:
    whole = Attachment("json", [text.encode()])
    # By content the file would tell apart dicts that differ in order only: the digest does not.
    node = {"$file": whole, "digest": digest(text)}
    return Encoded(partial(text_of, node), (*attachments, whole))
