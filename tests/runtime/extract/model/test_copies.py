"""One copy from the device for each batch: what made the extraction 17 times faster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="needs torch: extra extractor (tox -e extractor)")
pytest.importorskip("awscrt", reason="needs awscrt: extra extractor (tox -e extractor)")

from checkpoint_runtime.extract.file.reading import read_hidden_states  # noqa: E402
from checkpoint_runtime.extract.model.loading import Model  # noqa: E402
from checkpoint_runtime.extract.model.passes import inputs_of  # noqa: E402
from checkpoint_runtime.extract.parts import Batch  # noqa: E402
from tests.runtime.extract.model.counting import (  # noqa: E402
    CountingDevice,
    Elsewhere,
    counted,
)


@pytest.fixture
def elsewhere(loaded: Callable[..., Model]) -> Callable[..., Model]:
    """A model whose inputs and results are on a device that counts."""

    def elsewhere(kind: str, layers: tuple[int, ...]) -> Model:
        return dataclasses.replace(loaded(kind, layers), device=CountingDevice())

    return elsewhere


def numbers_of_a_bare_pass(model: Model, batch: Batch) -> int:
    inputs = inputs_of(batch.tokens, pad=model.pad, masked=model.masked)
    with counted() as counting, torch.no_grad():
        model.module(**{name: Elsewhere(tensor) for name, tensor in inputs.named.items()})
    assert not counting.copies
    return counting.numbers


@pytest.mark.parametrize("kind", ["llama", "gpt2", "bert"])
@pytest.mark.parametrize("layers", [(2,), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize("count", [1, 40])
def test_one_copy_per_batch(
    elsewhere: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., Any],
    extractor: Callable[..., Any],
    kind: str,
    layers: tuple[int, ...],
    count: int,
) -> None:
    model = elsewhere(kind, layers)
    [batch] = batches(tiny_model(kind), model, count=count, tokens=5000)
    extract = extractor(model, batch_tokens=5000)

    with counted() as counting:
        payload = extract.extract(batch)
        found = read_hidden_states(payload.content)
        assert payload.not_finite == ()

    assert counting.copies == 1 == extract.copies
    # transformers itself looks at its mask, or for padding, in each pass: we add no such wait.
    assert counting.numbers == numbers_of_a_bare_pass(model, batch)
    assert len(found) == count
    assert set(found["s0"]) == set(layers)


def test_a_long_batch_is_copied_once_per_layer_and_piece(
    elsewhere: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., Any],
    extractor: Callable[..., Any],
) -> None:
    """And once more for the flags: the file is laid out by layers, the pieces are not."""
    model = elsewhere("llama", (1, 2))
    [batch] = batches(tiny_model("llama"), model, count=12, tokens=5000)
    half = batch.token_count // 2 + max(map(len, batch.tokens))
    extract = extractor(model, batch_tokens=5000, buffer_tokens=half)

    with counted() as counting:
        extract.extract(batch).release()

    assert counting.copies == 2 * 3 == extract.copies


@pytest.mark.parametrize(("way", "copies"), [("sample", 56), ("layer", 7), ("stacked", 1)])
def test_the_counter_tells_other_ways_apart(
    elsewhere: Callable[..., Model], way: str, copies: int
) -> None:
    """What this extraction replaces: a copy for each sample and layer, or for each layer."""
    model = elsewhere("llama", (1,))
    tokens = Elsewhere(torch.arange(3, 83).view(8, 10))
    with torch.no_grad(), counted() as counting:
        states = model.module(input_ids=tokens, output_hidden_states=True).hidden_states
        seven = [*states, *states][:7]
        if way == "sample":
            found = [layer[sample].cpu() for layer in seven for sample in range(8)]
        elif way == "layer":
            found = [layer.to("cpu") for layer in seven]
        else:
            host = torch.empty(7, 8, 10, model.hidden)
            found = [host.copy_(torch.stack(seven))]

    assert not any(isinstance(thing, Elsewhere) for thing in found)
    assert counting.copies == copies
