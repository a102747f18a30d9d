"""What an earlier start had staged and not got into the store: taken up, if it is whole.

The staging is believed by nobody: a kill leaves a part under another name, but a power cut may
leave a name without its bytes, and anything else may have been there since. So a file counts if it
says itself, by both checksums in its header, that it is the whole one of this very batch, with the
tokens that its samples have now. Whatever else has its name is removed, and extracted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkpoint_runtime.extract.parts import Outline, Whole
from checkpoint_runtime.extract.staging.folder import final_name
from checkpoint_runtime.extract.staging.stage import Place, Stage
from checkpoint_runtime.extract.store.account import account_of
from checkpoint_runtime.extract.store.objects import CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class Staged:
    """One whole file on its way into the store."""

    outline: Outline
    place: Place
    whole: Whole


class Leftovers:
    """Of the batches that a worker has to do."""

    def __init__(
        self, stage: Stage, outlines: Sequence[Outline], note: Callable[[str], None]
    ) -> None:
        """
        :param outlines: of the batches that have a file in the staging.
        :param note: told what is not whole.
        """
        self._note = note
        # All of them count as held from the beginning, whatever becomes of them.
        places = ((outline, stage.found(outline.key)) for outline in outlines)
        self._found = [(outline, place) for outline, place in places if place is not None]

    def __iter__(self) -> Iterator[Staged]:
        """Those that are whole, one by one: each is read to its end. The others are removed.

        :raises StagingError: one can neither be used nor removed.
        """
        for outline, place in self._found:
            whole, problem = _looked_at(place.path, outline)
            if whole is None:
                self._note(f"{place.path} is not taken up, and extracted again: {problem}")
                place.remove()
            else:
                yield Staged(outline, place, whole)


def _looked_at(path: Path, outline: Outline) -> tuple[Whole | None, str | None]:
    """What it is, or why it is not whole."""
    try:
        with path.open("rb", buffering=0) as file:
            account = account_of(iter(lambda: file.read(CHUNK_BYTES), b""), outline.key)
    except OSError as error:
        return None, f"it cannot be read: {error.strerror}"
    if account.problem is not None:
        return None, account.problem
    if account.ids != outline.ids:
        return None, "it holds other samples"
    if account.digests != outline.digests:
        return None, "its samples have other tokens now"
    return Whole(final_name(outline.key), account.size, account.crc64nvme), None
