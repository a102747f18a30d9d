"""One object on its way: what a try left there decides what the next one does."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.parts import Held, Whole
from checkpoint_runtime.extract.store.account import Account, account_of
from checkpoint_runtime.extract.store.body import mapped
from checkpoint_runtime.extract.store.failures import TakenError, TransientStoreError
from checkpoint_runtime.extract.store.objects import Objects, Seen


class Target(Protocol):
    """Where it is on its way to."""

    url: str
    objects: Objects

    def held(self, whole: Whole, *, thorough: bool) -> tuple[Held, Seen | None]:
        """What is there under its key, and what the store tells of that."""
        ...

    def note(self, text: str) -> None:
        """Told a sentence now and then, for the log."""


class Upload:
    """One object on its way, over several tries."""

    def __init__(self, destination: Target, path: Path, whole: Whole) -> None:
        self._destination = destination
        self._objects = destination.objects
        self._path = path
        self._whole = whole
        self.held = whole
        """What the store holds in the end."""
        self._place = f"{destination.url}/{whole.key}"
        self._instead_of: str | None = None
        self._acknowledged = False

    def attempt(self) -> None:
        """
        :raises TransientStoreError: the next one may go well.
        """
        taken = False
        try:
            self._objects.put(self._path, self._whole, instead_of=self._instead_of)
            self._acknowledged = True
        except TakenError:
            # Somebody's, or of a try of our own whose answer was lost.
            taken = True
        except TransientStoreError:
            self._check_staged()
            raise
        held, seen = self._destination.held(self._whole, thorough=taken)
        if held is Held.WHOLE:
            return
        self._instead_of = None
        if held is Held.ABSENT or seen is None:
            kind = "gone" if taken else "not held"
            raise TransientStoreError(
                kind, f"{self._place}: the store has acknowledged it, and does not hold it."
            )
        self._check_staged()
        if self._is_there_by_now():
            return
        self._instead_of = seen.tag
        raise TransientStoreError(
            "held otherwise",
            f"{self._place}: the store holds {seen.size:,} bytes which are not the "
            f"{self._whole.size:,} that were sent.",
        )

    def _check_staged(self) -> None:
        """Are ours the right ones?"""
        with mapped(self._path, self._whole) as content:
            if crc64nvme(content) != self._whole.crc64nvme:
                raise StoreError(
                    f"{self._path}: the staged file is not what was made: something else has "
                    f"written to it. {self._place} was not marked as done."
                )

    def _is_there_by_now(self) -> bool:
        """Whether what is read is the right object: it has come since, or was told of wrongly.

        :raises StoreError: it is not ours. Only what is left of an upload of this very object is
            put again in its place.
        """
        batch = self._whole.key.partition(".")[0]
        account = account_of(self._objects.chunks(self._whole.key), batch)
        if (account.size, account.crc64nvme) == (self._whole.size, self._whole.crc64nvme):
            return True
        if account.problem is None:
            self._take(account)
            return True
        if self._acknowledged or account.is_ours or self._is_part():
            self._destination.note(
                f"{self._place}: what the store holds is a damaged part of this object "
                f"({account.problem}): it is put again."
            )
            return False
        raise StoreError(
            f"{self._place}: the store holds something else under this key "
            f"({account.problem}). It is left as it is: move it away, or take another prefix."
        )

    def _take(self, account: Account) -> None:
        """What an earlier run has stored stands for the same samples, whole.

        :raises StoreError: their texts were others.
        """
        with mapped(self._path, self._whole) as content:
            ours = account_of([bytes(content)], self._whole.key.partition(".")[0])
        if account.digests and ours.digests and account.digests != ours.digests:
            raise StoreError(
                f"{self._place}: the store holds the hidden states of other texts under the same "
                "ids. They are left as they are: move the object away, or take another prefix."
            )
        self._destination.note(
            f"{self._place}: an earlier run has stored these samples, with other bits, as a "
            "device may give them: what it has stored is whole and is kept."
        )
        self.held = Whole(self._whole.key, account.size, account.crc64nvme)

    def _is_part(self) -> bool:
        """Whether it is a beginning of our file: what is left of an upload that was cut."""
        at = 0
        with mapped(self._path, self._whole) as content:
            for chunk in self._objects.chunks(self._whole.key):
                if content[at : at + len(chunk)] != chunk:
                    return False
                at += len(chunk)
        return at < self._whole.size
