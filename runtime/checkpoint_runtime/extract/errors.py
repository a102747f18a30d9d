"""What ends an extraction, each with a sentence that says what is wrong and what to do."""

from __future__ import annotations

from checkpoint_runtime.errors import CheckpointRuntimeError


class ExtractError(CheckpointRuntimeError):
    """Base of them."""


class ExtractInputError(ExtractError):
    """The model, the dataset or an option cannot be used: nothing was extracted."""


class ChangedDatasetError(ExtractError):
    """What is stored of a sample was made of another text than it has now: nothing was run."""


class StagingError(ExtractError):
    """There is no room in the staging, and none came within the deadline."""


class StoreError(ExtractError):
    """An object could not be stored, or what the store holds is not what was sent."""


class MarkerError(ExtractError):
    """A marker is damaged, or cannot be written."""


class MarkerNotWrittenError(MarkerError):
    """There is no room for it, say. What is marked already stays so."""


class NotFiniteError(ExtractError):
    """Hidden states hold a NaN or an infinity."""


class StoppedError(ExtractError):
    """The run was told to stop while it waited; what is marked as done stays done."""
