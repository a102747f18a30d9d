"""Whether the tokens that fill up a shorter sample may be left unmasked.

Where no position looks at later ones, what is appended behind a sample changes nothing of it, and
without a mask attention takes its fastest way. Which models are so is tried, not assumed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.points import same
from checkpoint_runtime.extract.model.taps import Taps

_TOLERANCE = {"float32": 1e-3, "float64": 1e-3}
_COARSE = 0.05
"""Of 16-bit models: what fills up may change the shape, and so the rounding, of some product."""


def needs_mask(directory: Path, taps: Taps, tokens: Any, pads: tuple[int, int]) -> bool:
    """
    :param tokens: of one sample: [1, positions], on the model's device.
    :param pads: two different ones, the first being the model's own.
    :raises ExtractInputError: even behind a mask they change the states of the sample.
    """
    length = tokens.shape[1] // 4
    if not length:
        return True
    # Tokens of the sample itself: some models warn of their own padding without a mask.
    own = (int(tokens[0, 0]), int(tokens[0, -1]))
    one, other = (_states(taps, tokens, length, pad, masked=False) for pad in own)
    if all(same(one[layer], other[layer]) for layer in one):
        return False
    one, other = (_states(taps, tokens, length, pad, masked=True) for pad in pads)
    for layer, states in one.items():
        difference = _difference(states, other[layer])
        if difference > _TOLERANCE.get(str(states.dtype).removeprefix("torch."), _COARSE):
            raise ExtractInputError(
                f"{directory}: in this model what is padded behind a sample changes its hidden "
                f"states of layer {layer} although it is masked: samples cannot be batched. "
                "Such a model is not supported"
            )
    return True


def _states(taps: Taps, tokens: Any, length: int, pad: int, *, masked: bool) -> dict[int, Any]:
    """Of the first positions, when all behind them are filled up."""
    inputs = {"input_ids": tokens.clone()}
    inputs["input_ids"][:, length:] = pad
    if masked:
        inputs["attention_mask"] = tokens.new_ones(tokens.shape)
        inputs["attention_mask"][:, length:] = 0
    found: dict[int, Any] = {}

    def take(layer: int, states: Any) -> None:
        found[layer] = states[:, :length].clone()

    taps.run(take, **inputs)
    return found


def _difference(one: Any, other: Any) -> float:
    """Of the size of the states."""
    torch = required("torch", "an extraction")
    one, other = (torch.nan_to_num(states.double()) for states in (one, other))
    return float((one - other).norm() / one.norm().clamp_min(1e-12))
