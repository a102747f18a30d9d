"""A sample as it was read, before anybody has looked at it."""

from __future__ import annotations

from typing import NamedTuple

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.parts import Sample

MAX_ID_BYTES = 1024
"""All ids of a batch stand in the header of its file, and all ids of a dataset in memory."""


class Raw(NamedTuple):
    id: object
    text: object
    where: str
    """File and line, or row."""

    def sample(self) -> Sample:
        """
        :raises ExtractInputError: the id is neither text nor a whole number, or the text is none.
        """
        return Sample(id=self._usable_id(), text=self._usable_text())

    def _usable_id(self) -> str:
        found = self.id
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        if not isinstance(found, str):
            raise ExtractInputError(
                f"{self.where}: the id is {found!r:.60}: a text or a whole number is expected"
            )
        size = _size_of(found, f"{self.where}: the id {found!r:.60}")
        if not found or size > MAX_ID_BYTES:
            raise ExtractInputError(
                f"{self.where}: the id has {size} bytes: one of 1 to {MAX_ID_BYTES} is expected"
            )
        return found

    def _usable_text(self) -> str:
        found = self.text
        if not isinstance(found, str):
            raise ExtractInputError(
                f"{self.where}: the text of {self.id!r:.60} is {found!r:.60}, which is no text"
            )
        _size_of(found, f"{self.where}: the text of {self.id!r:.60}")
        if not found.strip():
            raise ExtractInputError(
                f"{self.where}: the text of {self.id!r:.60} is empty: there is nothing to extract. "
                "Take this sample out"
            )
        return found


def _size_of(text: str, what: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ExtractInputError(
            f"{what} holds half a surrogate pair, which stands for no character"
        ) from error
