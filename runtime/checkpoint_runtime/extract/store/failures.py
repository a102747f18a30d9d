"""What a single act on a store can end with, besides what ends the run."""

from __future__ import annotations

from checkpoint_runtime.extract.errors import StoreError


class TransientStoreError(StoreError):
    """It may go well if it is tried again."""

    def __init__(self, kind: str, message: str) -> None:
        """
        :param kind: a word or two, to count by: ``503 SlowDown``.
        """
        super().__init__(message)
        self.kind = kind


class UnreachableError(TransientStoreError):
    """Nobody answers there. Before any work that is told at once."""


class TakenError(StoreError):
    """412: there is an object under the key, or not the one that was to be replaced."""
