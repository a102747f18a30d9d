"""Libraries that not everybody has, imported when a value needs one and not before."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from checkpoint_runtime.codec.problems import UnreadableValueError


def imported(name: str) -> Any:
    """The module, if something has imported it: else no value can be of its types. Or None."""
    return sys.modules.get(name)


def required(name: str) -> Any:
    """
    :raises UnreadableValueError: it is not installed here.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnreadableValueError(
            f"the value needs {name}, which is not installed here"
        ) from error
