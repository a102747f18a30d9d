"""The two ways in which a value and its text do not come together."""

from __future__ import annotations


class ValueProblem(Exception):
    """A value, or a part of it, that could not be given back exactly: nothing is kept."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where} {problem}")
        self.where = where
        """The place within the value: ``value['frames'][2]``."""
        self.problem = problem
        """What follows the place in a sentence: ``is of type Lock``."""


class UnreadableValueError(Exception):
    """A text, or a side file, from which no value can be made here."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
