"""Libraries that only an extraction needs, imported when it does and not before."""

from __future__ import annotations

import importlib
import os
from typing import Any

from checkpoint_runtime.extract.errors import ExtractInputError

_INSTALL = "pip install 'checkpoint-contracts[extractor]'"


def required(name: str, purpose: str, install: str = _INSTALL) -> Any:
    """The module.

    :param purpose: what needs it, to begin a sentence with.
    :raises ExtractInputError: it is not installed here, or is broken.
    """
    # A model and its tokenizer are read from a local directory: nothing is asked of any host.
    if name == "transformers":
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            raise ExtractInputError(
                f"{purpose} needs {error.name}, which is not installed here: {install}"
            ) from error
        raise ExtractInputError(
            f"{purpose} needs {name}, which cannot be imported here: {error!s:.300}"
        ) from error
