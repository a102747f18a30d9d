"""What can go wrong that is not a verdict."""

from __future__ import annotations


class CheckpointError(Exception):
    """Base of the kit's own errors."""


class UserError(CheckpointError):
    """A mistake that the user can mend: the message is the sentence to show. Exit code 4."""


class SubjectError(CheckpointError):
    """The control run found that nothing can be concluded about this subject: a sentence.

    Every item of the subject becomes inconclusive with it; other subjects go on.
    """


class HarnessError(CheckpointError):
    """The kit itself, or the machine, could not do what it must: a sentence; never a verdict."""
