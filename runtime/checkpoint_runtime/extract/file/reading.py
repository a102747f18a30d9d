"""Hidden states by sample, from the file of a batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.file.header import FORMAT, tensor_name
from checkpoint_runtime.extract.libraries import required


def read_hidden_states(file: str | Path | bytes | memoryview) -> dict[str, dict[int, Any]]:
    """The hidden states of each sample: by its id and the number of the layer.

    :param file: a path, or the content, as it comes from a store.
    :return: tensors of shape [tokens of the sample, hidden], views of the file's own tensors.
    :raises ExtractInputError: the file is damaged, or none of an extraction.
    :raises OSError: it cannot be read.

    ::

        for sample, layers in read_hidden_states("5f….safetensors").items():
            print(sample, layers[14].float().mean(0))
    """
    where = file if isinstance(file, (str, Path)) else "these bytes"
    content = Path(file).read_bytes() if isinstance(file, (str, Path)) else bytes(file)
    load = required("safetensors.torch", "a file of hidden states").load
    failure = required("safetensors", "a file of hidden states").SafetensorError
    try:
        tensors = load(content)
        metadata = _metadata(content)
        if metadata.get("format") != FORMAT:
            raise ExtractInputError(
                f"{where}: this is no file of hidden states: its metadata do not say {FORMAT}"
            )
        ids, lengths, layers = (json.loads(metadata[name]) for name in ("ids", "lengths", "layers"))
        parts = {layer: tensors[tensor_name(layer)].split(lengths) for layer in layers}
        return {
            name: {layer: split[place] for layer, split in parts.items()}
            for place, name in enumerate(ids)
        }
    except (failure, ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise ExtractInputError(
            f"{where}: this file of hidden states is damaged: {type(error).__name__}: "
            f"{error!s:.200}"
        ) from error


def _metadata(content: bytes) -> dict[str, str]:
    size = int.from_bytes(content[:8], "little")
    found = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    return found if isinstance(found, dict) else {}
