"""What marks a function as a subject: known to the plugin at every start of pytest."""

from __future__ import annotations

from typing import Final

SUBJECT_ATTRIBUTE: Final = "__checkpoint_subject__"
"""Set by ``@checkpoint_subject`` on the function that it marks."""
