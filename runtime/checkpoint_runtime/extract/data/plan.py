"""All batches of a dataset, the same in every run, and what of them a shard has still to do."""

from __future__ import annotations

import array
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkpoint_runtime.extract.data.changes import Done, changed_error, changed_samples
from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.data.digests import DIGEST_BYTES, digest_of
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.data.packing import WINDOW, packed
from checkpoint_runtime.extract.data.shards import Shard
from checkpoint_runtime.extract.data.tokens import Encoder
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.parts import Batch, Outline, Sample


@dataclass(frozen=True, slots=True)
class _Planned:
    """A batch without its tokens: they are made again when its turn comes."""

    number: int
    key: str
    ids: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class _Window:
    number: int
    ids: tuple[str, ...]
    """In the order of the file."""
    lengths: array.array[int]
    digests: bytes
    """Of the tokens of each, one after the other."""
    first: int
    """The number of its first batch."""

    def digested(self) -> Iterator[tuple[str, str]]:
        """Each id, with the digest of its tokens."""
        for place, name in enumerate(self.ids):
            begin = place * DIGEST_BYTES
            yield name, self.digests[begin : begin + DIGEST_BYTES].hex()

    def planned(self, batch_tokens: int, identity: Identity) -> list[_Planned]:
        return self.rest((), batch_tokens, identity)

    def rest(self, done: Iterable[str], batch_tokens: int, identity: Identity) -> list[_Planned]:
        """What is left without some samples. Never more batches than with them."""
        lengths = dict(zip(self.ids, self.lengths, strict=True))
        for name in done:
            lengths.pop(name, None)
        return [
            _Planned(number, identity.key(ids), ids, sum(lengths[name] for name in ids))
            for number, ids in enumerate(packed(lengths, batch_tokens), self.first)
        ]


class Plan:
    """The batches of a dataset, numbered. Made of the whole of it, whatever is done already."""

    def __init__(
        self,
        dataset: Dataset,
        encoder: Encoder,
        windows: Sequence[_Window],
        *,
        batches: int,
        batch_tokens: int,
        identity: Identity,
    ) -> None:
        self._dataset = dataset
        self._encoder = encoder
        self._windows = windows
        self._batch_tokens = batch_tokens
        self._identity = identity
        self.batches = batches
        self.samples = sum(len(window.ids) for window in windows)
        self.tokens = sum(sum(window.lengths) for window in windows)

    @classmethod
    def made(
        cls, dataset: Dataset, encoder: Encoder, *, batch_tokens: int, identity: Identity
    ) -> Plan:
        """Goes through the whole dataset once, so that what is wrong with it is said before
        anything is extracted. Of each sample its id, its length and a digest stay in memory.

        :param batch_tokens: that the samples of one batch have together.
        :raises ExtractInputError: what is wrong with the dataset, or the budget is none.
        """
        if batch_tokens < 1:
            raise ExtractInputError(
                f"--batch-tokens {batch_tokens}: a batch has at least one token"
            )
        windows: list[_Window] = []
        batches = 0
        for number, samples in enumerate(_windows(dataset)):
            tokens = encoder.encode(samples)
            window = _Window(
                number,
                tuple(sample.id for sample in samples),
                array.array("L", map(len, tokens)),
                b"".join(map(digest_of, tokens)),
                batches,
            )
            windows.append(window)
            batches += len(window.planned(batch_tokens, identity))
        return cls(
            dataset,
            encoder,
            windows,
            batches=batches,
            batch_tokens=batch_tokens,
            identity=identity,
        )

    def remaining(
        self, shard: Shard, done: Mapping[str, Done], *, accept_changed: bool = False
    ) -> Remaining:
        """What this shard has to do.

        A batch is left out if it is done as a whole. Where only a part of it is, because the
        dataset or an option has changed since, what is left of its window is packed anew, and
        belongs to one shard: another one, that looks at a later time and sees more done, would
        pack it in another way.

        :param done: markers, by key. Those of another model, other layers or another type of
            elements do not count.
        :param accept_changed: what is done stays done, whatever text its samples have now.
        :raises ChangedDatasetError: a sample that is done has another text now, in any shard.
        """
        now = (pair for window in self._windows for pair in window.digested())
        changed = changed_samples(now, done, self._identity)
        if changed and not accept_changed:
            raise changed_error(self._dataset.path, changed)
        stray = self._stray(done)
        batches: list[list[_Planned]] = []
        others: set[str] = set()
        for window in self._windows:
            left, repacked = self._left(window, stray, done)
            mine = [one for one in left if shard.takes(window.number if repacked else one.number)]
            batches.append(mine)
            others.update(batch.key for batch in left)
            others.difference_update(batch.key for batch in mine)
        return Remaining(
            self._dataset, self._encoder, self._windows, batches, changed, frozenset(others)
        )

    def _left(
        self, window: _Window, stray: set[str], done: Mapping[str, Done]
    ) -> tuple[list[_Planned], bool]:
        """What all shards have to do of a window, and whether it had to be packed anew."""
        planned = window.planned(self._batch_tokens, self._identity)
        earlier = stray.intersection(window.ids)
        if not earlier:
            return [batch for batch in planned if batch.key not in done], False
        for batch in planned:
            if batch.key in done:
                earlier.update(batch.ids)
        return window.rest(earlier, self._batch_tokens, self._identity), True

    def _stray(self, done: Mapping[str, Done]) -> set[str]:
        """Samples that are done, but not in a batch of this plan."""
        unplanned = set(done)
        if not unplanned:
            return set()
        for window in self._windows:
            for batch in window.planned(self._batch_tokens, self._identity):
                unplanned.discard(batch.key)
        return {
            name
            for key in unplanned
            # The key tells how the states were made: another model's samples are not ours.
            if self._identity.key(done[key].ids) == key
            for name in done[key].ids
        }


class Remaining:
    """What one shard has to do. Iterated, it gives each batch with its tokens."""

    def __init__(
        self,
        dataset: Dataset,
        encoder: Encoder,
        windows: Sequence[_Window],
        batches: Sequence[Sequence[_Planned]],
        changed: tuple[str, ...],
        others: frozenset[str],
    ) -> None:
        """
        :param batches: of each window.
        :param changed: ids of samples that are done, and have another text now.
        :param others: keys of the batches that other shards have to do.
        """
        self._dataset = dataset
        self._encoder = encoder
        self._windows = windows
        self._batches = batches
        self.changed = changed
        self.others = others
        every = [batch for some in batches for batch in some]
        self.batches = len(every)
        self.samples = sum(len(batch.ids) for batch in every)
        self.tokens = sum(batch.tokens for batch in every)
        self.keys = tuple(batch.key for batch in every)

    def outlines(self, keys: Collection[str]) -> list[Outline]:
        """Of those of its batches that have one of these keys, in order. No sample is read."""
        found: list[Outline] = []
        for window, batches in zip(self._windows, self._batches, strict=True):
            wanted = [batch for batch in batches if batch.key in keys]
            digests = dict(window.digested()) if wanted else {}
            found += [
                Outline(
                    batch.number,
                    batch.key,
                    batch.ids,
                    tuple(digests[name] for name in batch.ids),
                    batch.tokens,
                )
                for batch in wanted
            ]
        return found

    def __iter__(self) -> Iterator[Batch]:
        """
        :raises ExtractInputError: the dataset is no longer what the plan was made of.
        """
        if not self.batches:
            return
        last = max(number for number, some in enumerate(self._batches) if some)
        samples = self._dataset.again()
        for window, batches in zip(self._windows[: last + 1], self._batches, strict=False):
            found = list(itertools.islice(samples, len(window.ids)))
            if tuple(sample.id for sample in found) != window.ids:
                raise self._changed()
            if batches:
                yield from self._with_tokens(window, batches, found)

    def _with_tokens(
        self, window: _Window, batches: Sequence[_Planned], samples: Sequence[Sample]
    ) -> Iterator[Batch]:
        wanted = {name for batch in batches for name in batch.ids}
        wanted_samples = [sample for sample in samples if sample.id in wanted]
        ids = [sample.id for sample in wanted_samples]
        tokens = dict(zip(ids, self._encoder.encode(wanted_samples), strict=True))
        planned = dict(window.digested())
        if any(digest_of(tokens[name]).hex() != planned[name] for name in ids):
            raise self._changed()
        for batch in batches:
            yield Batch(
                number=batch.number,
                key=batch.key,
                ids=batch.ids,
                tokens=tuple(tokens.pop(name) for name in batch.ids),
            )

    def _changed(self) -> ExtractInputError:
        return ExtractInputError(
            f"{self._dataset.path}: the dataset was changed while it was being extracted: what is "
            "done stays done; start again, and leave the file alone meanwhile"
        )


def _windows(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    iterator = iter(samples)
    while window := list(itertools.islice(iterator, WINDOW)):
        yield window
