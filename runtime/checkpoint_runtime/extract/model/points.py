"""Which parts of a model give the hidden states that transformers calls by a number.

Layer k is ``hidden_states[k]`` of a pass with ``output_hidden_states=True``: 0 is what goes into
the first layer, k what comes out of the k-th; the last one of many models is taken behind a final
norm. Where that is differs from model to model, so it is not assumed but tried: on a few tokens,
what passes by must equal what transformers returns, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.taps import Point, tensor_of


def find_points(
    directory: Path, module: Any, wanted: Sequence[int], tokens: Any
) -> tuple[dict[int, Point], int]:
    """Where the wanted layers are, and the size of their hidden states.

    :param directory: of the model, for messages.
    :param tokens: a few, on the model's device: [samples, positions].
    :raises ExtractInputError: they are not found, or differ in size.
    """
    count = module.config.get_text_config().num_hidden_layers
    if wanted[-1] > count:
        raise ExtractInputError(
            f"--layers {wanted[-1]}: {directory} has {count} layers: 0 (the embeddings) to {count}"
        )
    missed = list(wanted)
    for options in _options(module, wanted, count):
        reference, passed = _observe(directory, module, options, tokens, count)
        found: dict[int, Point] = {}
        for layer in wanted:
            for point in options[layer]:
                states = passed.get(id(point))
                if states is not None and same(states, reference[layer]):
                    found[layer] = point
                    break
        missed = [layer for layer in wanted if layer not in found]
        if not missed:
            sizes = {reference[layer].shape[-1] for layer in wanted}
            if len(sizes) > 1:
                raise ExtractInputError(
                    f"{directory}: the wanted layers differ in size ({sorted(sizes)}): they cannot "
                    "be stored in one file. Extract them one after the other"
                )
            return found, sizes.pop()
    raise ExtractInputError(
        f"{directory}: in this model ({type(module).__name__}) nothing was found that gives what "
        f"transformers calls hidden_states[{missed[0]}]: it is not one that can be extracted from"
    )


def same(one: Any, other: Any) -> bool:
    """To the bit, where a NaN equals a NaN."""
    torch = required("torch", "an extraction")
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)))


def _options(module: Any, wanted: Sequence[int], count: int) -> Iterator[dict[int, list[Point]]]:
    """For each list in the model that may be the one of its layers: where they may be."""
    torch = required("torch", "an extraction")
    for name, layers in module.named_modules():
        if not isinstance(layers, torch.nn.ModuleList) or len(layers) != count or not count:
            continue
        options: dict[int, list[Point]] = {}
        for layer in wanted:
            options[layer] = [Point(layers[layer - 1] if layer else layers[0], before=not layer)]
        if wanted[-1] == count:
            # What stands beside the list comes behind it, where it is a norm; the whole model last.
            parent = module.get_submodule(name.rpartition(".")[0])
            beside = [part for part in parent.children() if part is not layers]
            options[count] += [Point(part) for part in beside] + [Point(None)]
        yield options


def _observe(
    directory: Path,
    module: Any,
    options: Mapping[int, Sequence[Point]],
    tokens: Any,
    count: int,
) -> tuple[Sequence[Any], dict[int, Any]]:
    """All hidden states by the model's own account, and what passed by, by the id of the point."""
    torch = required("torch", "an extraction")
    passed: dict[int, Any] = {}
    points = [point for some in options.values() for point in some]
    handles = [_watch(point, passed) for point in points if point.module is not None]
    try:
        with torch.no_grad():
            output = module(input_ids=tokens, output_hidden_states=True)
    finally:
        for handle in handles:
            handle.remove()
    reference = getattr(output, "hidden_states", None)
    if not isinstance(reference, tuple) or len(reference) != count + 1:
        raise ExtractInputError(
            f"{directory}: {type(module).__name__} does not return the hidden states of its "
            f"{count} layers when it is asked for them"
        )
    for point in points:
        if point.module is None:
            passed[id(point)] = output.last_hidden_state
    return reference, passed


def _watch(point: Point, passed: dict[int, Any]) -> Any:
    torch = required("torch", "an extraction")

    def keep(states: Any) -> None:
        if id(point) in passed:
            passed[id(point)] = None  # Used more than once in a pass: it is no layer's own.
        elif isinstance(states, torch.Tensor):
            passed[id(point)] = states.clone()

    def before(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        keep(given[0] if given else named.get("hidden_states"))

    def behind(module: Any, given: tuple[Any, ...], output: Any) -> None:
        keep(tensor_of(output))

    if point.before:
        return point.module.register_forward_pre_hook(before, with_kwargs=True)
    return point.module.register_forward_hook(behind)
