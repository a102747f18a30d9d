"""How hidden states get into a store without the runtime: the loops that people write."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.loading import Model
from checkpoint_runtime.extract.model.passes import chunks, inputs_of
from checkpoint_runtime.extract.model.taps import Taps
from checkpoint_runtime.extract.parts import Batch

Stored = Callable[[Path, str], None]
"""Uploads a file under a key."""


def forward_alone(model: Model, batches: Sequence[Batch], batch_tokens: int) -> None:
    """Every pass that an extraction makes, up to the last wanted layer; nothing is kept of it."""
    with Taps(model.module, model.points) as taps:
        for batch in batches:
            for chunk in chunks(
                batch.tokens, buffer_tokens=batch_tokens, pass_tokens=-(-batch_tokens * 5 // 4)
            ):
                for samples in chunk.passes:
                    inputs = inputs_of(samples.tokens, pad=model.pad, masked=model.masked)
                    there = {
                        name: model.device.there(tensor) for name, tensor in inputs.named.items()
                    }
                    taps.run(lambda layer, states: None, **there)
    synchronize(model)


def synchronize(model: Model) -> None:
    """What the device was asked for is done."""
    if model.device.place.type == "cuda":
        required("torch", "a benchmark").cuda.synchronize(model.device.place)


def per_sample(model: Model, batches: Sequence[Batch], folder: Path, store: Stored | None) -> None:
    """``.cpu()`` of each sample and layer, a file and an upload for each sample.

    :param store: None: the copies alone.
    """
    save_file = required("safetensors.torch", "a benchmark").save_file
    dtype = _dtype(model)
    for batch, states in _hidden_states(model, batches):
        for place, name in enumerate(batch.ids):
            length = len(batch.tokens[place])
            tensors = {
                f"layer_{layer}": states[layer][place, :length].to(dtype).cpu().contiguous()
                for layer in model.layers
            }
            if store is None:
                continue
            path = folder / f"{name}.safetensors"
            save_file(tensors, path)
            store(path, path.name)
            path.unlink()


def per_layer(model: Model, batches: Sequence[Batch], folder: Path, store: Stored | None) -> None:
    """``.cpu()`` of each layer of a batch, padding and all; a file and an upload for each batch."""
    save_file = required("safetensors.torch", "a benchmark").save_file
    dtype = _dtype(model)
    for batch, states in _hidden_states(model, batches):
        tensors = {
            f"layer_{layer}": states[layer].to(dtype).cpu().contiguous() for layer in model.layers
        }
        if store is None:
            continue
        path = folder / f"{batch.key}.safetensors"
        save_file(tensors, path)
        store(path, path.name)
        path.unlink()


def _hidden_states(model: Model, batches: Sequence[Batch]) -> Iterator[tuple[Batch, Any]]:
    """As transformers gives them: all layers, [samples, positions, hidden]."""
    torch = required("torch", "a benchmark")
    for batch in batches:
        inputs = inputs_of(batch.tokens, pad=model.pad, masked=model.masked)
        there = {name: model.device.there(tensor) for name, tensor in inputs.named.items()}
        with torch.inference_mode():
            found = model.module(**there, output_hidden_states=True)
        yield batch, found.hidden_states


def _dtype(model: Model) -> Any:
    return model.stored.of(required("torch", "a benchmark"))


def uploads(client: Any, bucket: str) -> Stored:
    """boto3's ``upload_file``, under a key of its own each time."""
    numbers = itertools.count()
    # On some hosts it would take another client by itself, that does not speak to a loopback sink.
    config = required("boto3.s3.transfer", "a benchmark").TransferConfig(
        preferred_transfer_client="classic"
    )

    def store(path: Path, key: str) -> None:
        client.upload_file(str(path), bucket, f"loop/{next(numbers)}/{key}", Config=config)

    return store
